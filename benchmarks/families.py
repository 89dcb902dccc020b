"""Twelve families on a GPU: how long, how much of it is kernels, and what the kernels do.

    python benchmarks/families.py [FAMILY ...] [dtype=bfloat16] [kernels] [once]

CrowS-Pairs and StereoSet (UNMASK_DATA) on networks of the families' usual shapes with random
weights: CPS, SSS, AUL and AULA, or LL and CPS of causal models. From data sets to results, after
loading, with plans kept from an earlier run; the middle one of three runs. The bound is the
arithmetic of all real tokens at the card's own matrix rate, measured here. With `kernels` the
longest ones are named.
"""

import os
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from torch.profiler import ProfilerActivity, profile

from recorded import record
from sizes import SMALL
from unmask.data import catalogue
from unmask.flow import evaluate as flow
from unmask.models.transformers import logprobs
from unmask.models.transformers.model import wrap
from unmask.options import Options, Spec

DATA = ("crows-pairs", "stereoset")
MEASURES = {
    "masked": ("cps", "sss", "aul", "aula"),
    "permutation": ("cps", "sss", "aul", "aula"),
    "causal": ("ll", "cps"),
}
# Family: kind, class of the config, vocabulary, layers, width, heads, inner width, further fields.
FAMILIES = {
    "bert-large": ("masked", "Bert", 30522, 24, 1024, 16, 4096, {}),
    "roberta-large": ("masked", "Roberta", 50265, 24, 1024, 16, 4096, {}),
    "albert-xxlarge": ("masked", "Albert", 30000, 12, 4096, 64, 16384, {"embedding_size": 128}),
    "distilbert": ("masked", "DistilBert", 30522, 6, 768, 12, 3072, {}),
    "electra-large": ("masked", "Electra", 30522, 24, 1024, 16, 4096, {"embedding_size": 1024}),
    "deberta-v3-large": (
        "masked",
        "DebertaV2",
        128100,
        24,
        1024,
        16,
        4096,
        {
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_buckets": 256,
            "share_att_key": True,
            "norm_rel_ebd": "layer_norm",
            "position_biased_input": False,
            "type_vocab_size": 0,
        },
    ),
    "modernbert-large": ("masked", "ModernBert", 50368, 28, 1024, 16, 2624, {}),
    "xlnet-large": ("permutation", "XLNet", 32000, 24, 1024, 16, 4096, {}),
    "gpt2-xl": ("causal", "GPT2", 50257, 48, 1600, 25, 6400, {}),
    "opt-6.7b": ("causal", "OPT", 50272, 32, 4096, 32, 16384, {}),
    "bloom-7b": ("causal", "Bloom", 250880, 30, 4096, 32, 16384, {}),
    "llama-7b": ("causal", "Llama", 32000, 32, 4096, 32, 11008, {}),
}
TINY = (240, 1, 16, 2, 32)
ROUNDS = 1 if SMALL or "once" in sys.argv else 3
SORTS = {
    "matrix products": r"gemm|cutlass|xmma|nvjet|cublas|splitK|gemv",
    "attention": r"flash|fmha|mem_eff|attention|attended|softmax",
}


def tokenizer_for(kind):
    """BERT's pieces, or GPT-2's for causal models; XLNet's special tokens at the end."""
    place = Path(os.environ["UNMASK_DATA"]) / "tokenizers"
    if kind == "causal":
        (words,), (merges,) = place.rglob("encoder.json"), place.rglob("vocab.bpe")
        raw = Tokenizer(models.BPE.from_file(str(words), str(merges)))
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        ends = dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"), "<|endoftext|>")
        return transformers.PreTrainedTokenizerFast(tokenizer_object=raw, **ends)
    lines = (place / "bert-base-uncased/vocab.txt").read_text(encoding="utf-8").split("\n")
    known = {w: i for i, w in enumerate(w for w in lines if w)}
    raw = Tokenizer(models.WordPiece(known, unk_token="[UNK]"))
    raw.normalizer, raw.pre_tokenizer = (
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    )
    shape = "$A [SEP] [CLS]" if kind == "permutation" else "[CLS] $A [SEP]"
    ids = [(t, known[t]) for t in ("[CLS]", "[SEP]")]
    raw.post_processor = processors.TemplateProcessing(single=shape, special_tokens=ids)
    names = {f"{k}_token": f"[{k.upper()}]" for k in ("pad", "unk", "cls", "sep", "mask")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=raw, **names)


def network(family, dtype, device):
    kind, name, *numbers, more = FAMILIES[family]
    tokenizer = tokenizer_for(kind)
    vocabulary, layers, width, heads, inner = (len(tokenizer), *TINY[1:]) if SMALL else numbers
    head = {"causal": "CausalLM", "permutation": "LMHeadModel", "masked": "MaskedLM"}[kind]
    head = "LMHeadModel" if name == "GPT2" else head
    own = {
        "XLNet": {"n_layer": layers, "d_model": width, "n_head": heads, "d_inner": inner},
        "GPT2": {"n_layer": layers, "n_embd": width, "n_head": heads, "n_inner": inner},
        "DistilBert": {"n_layers": layers, "dim": width, "n_heads": heads, "hidden_dim": inner},
        "Bloom": {"n_layer": layers, "hidden_size": width, "n_head": heads},
        "OPT": {
            "num_hidden_layers": layers,
            "hidden_size": width,
            "num_attention_heads": heads,
            "ffn_dim": inner,
            "word_embed_proj_dim": width,
        },
    }.get(
        name,
        {
            "num_hidden_layers": layers,
            "hidden_size": width,
            "num_attention_heads": heads,
            "intermediate_size": inner,
        },
    )
    tokens = {f"{k}_token_id": getattr(tokenizer, f"{k}_token_id") for k in ("pad", "bos", "eos")}
    if SMALL and "embedding_size" in more:
        more = {"embedding_size": width}
    room = -(-len(tokenizer) // 64) * 64 if name == "Llama" else len(tokenizer)
    settings = own | more | {"vocab_size": max(vocabulary, room)} | tokens
    config = getattr(transformers, f"{name}Config")(**settings)
    torch.manual_seed(0)
    with torch.device(device):
        net = getattr(
            transformers,
            f"{name}For{head}" if "LM" in head and head != "LMHeadModel" else f"{name}{head}",
        )(config)
    net = net.to(device, getattr(torch, dtype)).eval()  # some weights are made elsewhere
    # Plans are kept, answers are not.
    return replace(wrap(net, tokenizer, kind, family), precision=dtype, cacheable=False)


def run(model):
    """Seconds from data sets to results, and what was shown to the network."""
    seen, before = Counter(), (logprobs.prepare, logprobs.prepare_trees)

    def counted(fill):
        def prepare(asked, group, pad, device):
            batch = fill(asked, group, pad, device)
            trees = batch.sees is not None
            here = np.unique(asked.trees.number[group]) if trees else group
            sizes = asked.trees.sizes if trees else asked.lengths
            seen["written"] += int(asked.lengths[group].sum())
            seen["tokens"] += int(sizes[here].sum())
            seen["padded"] += batch.ids.numel()
            seen["slots"] += len(batch.row)
            seen["passes"] += 1
            return batch

        return prepare

    logprobs.prepare, logprobs.prepare_trees = map(counted, before)
    start = time.perf_counter()
    try:
        sets = [catalogue.resolve(d)[0] for d in DATA]
        sets = [catalogue.limited(d, 4) for d in sets] if SMALL else sets
        specs = [Spec(model, m, d) for d in sets for m in MEASURES[model.kind]]
        flow.evaluate(specs, Options(recheck=False, cache=True))
    finally:
        logprobs.prepare, logprobs.prepare_trees = before
    return time.perf_counter() - start, seen


def kernels(model):
    """Seconds of kernels by sort, and of the longest by name."""
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as seen:
        run(model)
        torch.cuda.synchronize()
    by_sort, by_name = Counter(), Counter()
    for event in seen.key_averages():
        if event.key.startswith(("Memcpy", "Memset")):
            continue
        seconds = event.self_device_time_total / 1e6
        sort = next((k for k, p in SORTS.items() if re.search(p, event.key, re.I)), "the rest")
        by_sort[sort] += seconds
        by_name[event.key[:100]] += seconds
    return by_sort, by_name


def matrix_rate(dtype, device):
    """Operations in a second of a large matrix product."""
    a, b = (torch.randn(8192, 8192, device=device, dtype=getattr(torch, dtype)) for _ in "ab")
    for _ in range(3):
        a @ b
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        a @ b
    torch.cuda.synchronize()
    return 20 * 2 * 8192**3 / (time.perf_counter() - start)


def arithmetic(model, seen):
    """Operations of the network on the real tokens, and of its head at the slots."""
    head = model.net.get_output_embeddings().weight
    inputs = model.net.get_input_embeddings().weight.numel()
    tied = head is model.net.get_input_embeddings().weight
    trunk = sum(p.numel() for p in model.net.parameters()) - inputs - (0 if tied else head.numel())
    if model.family == "albert":
        trunk *= int(model.net.config.num_hidden_layers)  # whose layers share their weights
    return 2 * trunk * seen["tokens"] + 2 * head.numel() * seen["slots"]


def main():
    if "UNMASK_DATA" not in os.environ:
        print("skipped: UNMASK_DATA names no folder with CrowS-Pairs, StereoSet and tokenizers")
        return
    given = [a for a in sys.argv[1:] if a in FAMILIES] or list(FAMILIES)
    dtype = next((a[6:] for a in sys.argv[1:] if a.startswith("dtype=")), "bfloat16")
    cuda = torch.cuda.is_available()
    if not cuda and not SMALL:
        print("skipped: there is no GPU")
        return
    device, dtype = ("cuda", dtype) if cuda else ("cpu", "float32")
    os.environ["UNMASK_CACHE"] = tempfile.mkdtemp()
    rate = matrix_rate(dtype, device) if cuda else float("nan")
    for family in given:
        model = network(family, dtype, device)
        run(model)
        runs = sorted((run(model) for _ in range(ROUNDS)), key=lambda r: r[0])
        seconds, seen = runs[len(runs) // 2]
        facts = {
            "family": family,
            "dtype": dtype,
            "seconds": round(seconds, 2),
            "padding, %": round(100 * (seen["padded"] / max(seen["tokens"], 1) - 1), 1),
            "tokens, millions": round(seen["written"] / 1e6, 2),
            "shared, %": round(100 * (1 - seen["tokens"] / max(seen["written"], 1)), 1),
            "passes": seen["passes"],
            "bound, s": round(arithmetic(model, seen) / rate, 2),
        }
        if cuda:
            sorts, names = kernels(model)
            whole = sum(sorts.values())
            facts |= {"kernels, s": round(whole, 2), "kernels, %": round(100 * whole / seconds)}
            facts |= {f"{k}, s": round(v, 2) for k, v in sorts.items()}
            if "kernels" in sys.argv:
                for name, value in names.most_common(12):
                    print(f"    {value:6.3f} s  {name}")
        record("families", facts)
        del model
        if cuda:
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()

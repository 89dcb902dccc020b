"""Beside what a user would pick instead: the same sentences and weights, and the same numbers.

    python benchmarks/peers.py [sentences] [masked] [causal] [weat] [once]

minicons 0.3.39 (PLL of a masked and of a causal model), lm-evaluation-harness (its `hf` backend on
the requests that its `crows_pairs_english` makes), a plain loop with sorted batches of 64, and WEFE
(WEAT on GloVe, 1,000 permutations, once), as far as they are installed. Masked: the bundled model;
causal: a GPT-2 of six layers with random weights. Each runs in a process of its own, in turns; what
is done but once (loading, the first few sentences) is not counted. A tool with batches has the best
of three sizes. The sentences are CrowS-Pairs' where UNMASK_DATA has them, else the package's own.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from recorded import record
from sizes import SMALL

ROUNDS = 1 if SMALL or "once" in sys.argv else 2
ITERATIONS = 20 if SMALL else 1_000
DEVICE = "cuda" if os.environ.get("PEERS_DEVICE") == "cuda" else "cpu"
SIZES = (8,) if SMALL else (1, 8, 32) if DEVICE == "cpu" else (8, 32, 128)


# ---------------------------------------------------------------- what is measured


def items(count):
    from unmask.data import catalogue
    from unmask.data.packaged import bundled_pairs

    real = os.environ.get("UNMASK_DATA")
    every = catalogue.sentences("crows-pairs").items if real else bundled_pairs().items
    return every[:: max(len(every) * 2 // count, 1)][: count // 2]


def save_causal(folder):
    """A causal model whose weights are random, with GPT-2's tokenizer or one of its sort."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    given = Path(os.environ.get("UNMASK_DATA", "none")) / "tokenizers/gpt2-bpe"
    end = "<|endoftext|>"
    if given.is_dir():
        files = str(given / "encoder.json"), str(given / "vocab.bpe")
        raw = Tokenizer(models.BPE.from_file(*files))
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        raw = Tokenizer(models.BPE())
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        letters = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(special_tokens=[end], initial_alphabet=letters)
        raw.train_from_iterator(["a nurse and a doctor"], trainer)
    ends = dict.fromkeys(("bos_token", "eos_token", "pad_token", "unk_token"), end)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, **ends)
    number = tokenizer.eos_token_id
    size = {"n_layer": 1, "n_embd": 16, "n_head": 2} if SMALL else {"n_layer": 6}
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), bos_token_id=number, eos_token_id=number, **size
    )
    torch.manual_seed(0)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


# ---------------------------------------------------------------- the tools


def unmask_scores(folder, kind, count):
    import numpy as np

    from unmask.flow import plan, run_likelihood
    from unmask.measures import LIKELIHOOD
    from unmask.models.transformers.model import load
    from unmask.types import Dataset

    model, chosen = load(folder, device=DEVICE), items(count)
    measure = LIKELIHOOD["pll" if kind == "masked" else "ll"]

    def scores(some):
        planned = plan.plan(model, measure, Dataset("some", "pairs", some))
        engine = model.engine(budget=model.budget("auto"))
        readings = run_likelihood.ask({"own": engine}, [planned])[0]
        ends = np.cumsum(planned.values)
        return [readings.logp[b - n : b].sum() for b, n in zip(ends, planned.values, strict=True)]

    return timed(scores, chosen, chosen[:4])


def network(folder, kind):
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    auto = {
        "masked": transformers.AutoModelForMaskedLM,
        "causal": transformers.AutoModelForCausalLM,
    }
    net = auto[kind].from_pretrained(folder, dtype=torch.float32).to(DEVICE).eval()
    return net, tokenizer


def minicons_scores(folder, kind, strings, size):
    from minicons import scorer

    net, tokenizer = network(folder, kind)
    if not hasattr(tokenizer, "batch_encode_plus"):  # transformers 5 calls it by the object
        tokenizer.batch_encode_plus = tokenizer
    made = scorer.MaskedLMScorer if kind == "masked" else scorer.IncrementalLMScorer
    model = made(net, DEVICE, tokenizer=tokenizer)
    more = {} if kind == "masked" else {"bos_token": True}

    def scores(some):
        out = []
        for start in range(0, len(some), size):
            part = some[start : start + size]
            out += model.sequence_score(part, reduction=lambda x: x.sum(0).item(), **more)
        return out

    return timed(scores, strings, strings[:12])


def harness_scores(folder, kind, strings, size):
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = HFLM(pretrained=folder, device=DEVICE, dtype="float32", batch_size=size)

    def scores(some):
        arguments = [("", s) for s in some]
        asked = [
            Instance(request_type="loglikelihood", doc={}, arguments=a, idx=n)
            for n, a in enumerate(arguments)
        ]
        return [value for value, _ in model.loglikelihood(asked, disable_tqdm=True)]

    return timed(scores, strings, strings[:12])


def loop_scores(folder, kind, strings, size):
    """What one would write: all rows, sorted by length, in batches of 64."""
    import torch

    net, tokenizer = network(folder, kind)
    mask, pad = tokenizer.mask_token_id, tokenizer.pad_token_id

    def rows_of(number, text):
        ids = tokenizer(text)["input_ids"]
        if kind == "causal":
            return [(number, [tokenizer.bos_token_id, *ids], None)]
        hidden = [(p, [*ids[:p], mask, *ids[p + 1 :]]) for p in range(1, len(ids) - 1)]
        return [(number, row, (p, ids[p])) for p, row in hidden]

    @torch.inference_mode()
    def scores(some):
        rows = [row for n, text in enumerate(some) for row in rows_of(n, text)]
        rows.sort(key=lambda row: len(row[1]))
        out = [0.0] * len(some)
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            width = max(len(row) for _, row, _ in part)
            ids = torch.tensor([row + [pad] * (width - len(row)) for _, row, _ in part])
            real = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for _, row, _ in part])
            logits = net(input_ids=ids.to(DEVICE), attention_mask=real.to(DEVICE)).logits
            logp = torch.log_softmax(logits, -1)
            for k, (number, row, asked) in enumerate(part):
                if asked:
                    out[number] += logp[k, asked[0], asked[1]].item()
                else:
                    places = torch.arange(len(row) - 1)
                    out[number] += logp[k, places, torch.tensor(row[1:])].sum().item()
        return out

    return timed(scores, strings, strings[:12])


def unmask_weat(vectors, tests):
    import unmask
    from unmask.models.static_vectors import load_static

    model = load_static(vectors)

    def scores(names):
        found = unmask.run([model], ["weat"], names, splits=ITERATIONS)
        return [r.overall.value for r in found]

    return timed(scores, tests, tests[:1])


def wefe_weat(vectors, tests):
    from gensim.models import KeyedVectors
    from wefe.metrics import WEAT
    from wefe.query import Query
    from wefe.word_embedding_model import WordEmbeddingModel

    from unmask.data import wordsets

    known = KeyedVectors.load_word2vec_format(vectors, binary=False, no_header=True)
    model = WordEmbeddingModel(known, "glove")

    def scores(names):
        out = []
        for name in names:
            stimuli = wordsets.stimuli()[name]
            sides = [[list(w) for w in s.values()] for s in (stimuli.targets, stimuli.attributes)]
            result = WEAT().run_query(
                Query(*sides), model, calculate_p_value=True, p_value_iterations=ITERATIONS
            )
            count = len(sides[0][0]) + len(sides[0][1])
            # Its standard deviation is that of a population.
            out.append(result["effect_size"] * ((count - 1) / count) ** 0.5)
        return out

    return timed(scores, tests, tests[:1])


TOOLS = {
    "unmask": unmask_scores,
    "minicons": minicons_scores,
    "lm-eval": harness_scores,
    "a plain loop": loop_scores,
    "unmask's WEAT": unmask_weat,
    "WEFE": wefe_weat,
}
PACKAGES = {"minicons": "minicons", "lm-eval": "lm_eval", "WEFE": "wefe"}


def timed(scores, all_of_them, few):
    scores(few)
    start = time.perf_counter()
    found = scores(all_of_them)
    return time.perf_counter() - start, [float(s) for s in found]


def run(job, plain):
    """One tool, asked and answered in JSON, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--job", *(["--small"] if SMALL else [])],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        env=plain,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-600:])
    return json.loads(done.stdout.splitlines()[-1])


def compared(what, jobs, plain, rounds=ROUNDS):
    """The first tool beside the others: seconds, the ratio, and how far numbers are apart."""
    taken, found = {name: [] for name in jobs}, {}
    for _ in range(rounds):
        for name, job in jobs.items():
            took, found[name] = run(job, plain)
            taken[name].append(took)
    own, *others = taken
    mine = statistics.median(taken[own])
    best = {}
    for name in others:
        tool = name.partition(",")[0]
        took = statistics.median(taken[name])
        if took < best.get(tool, (float("inf"), ""))[0]:
            best[tool] = (took, name)
    for took, name in best.values():
        apart = max(abs(a - b) for a, b in zip(found[own], found[name], strict=True))
        facts = {"what": what, "beside": name, "unmask, s": round(mine, 2), "it, s": round(took, 2)}
        record("peers", facts | {"times": round(took / mine, 2), "apart": f"{apart:.1e}"})


def main():
    plain = dict(os.environ)  # loading a model sets how torch keeps memory, for its own process
    import unmask

    given = sys.argv[1:]
    chosen = {"masked", "causal", "weat"} & {*given} or {"masked", "causal", "weat"}
    count = next((int(a) for a in given if a.isdigit()), 4 if SMALL else 200)
    there = {n for n in TOOLS if n not in PACKAGES or find_spec(PACKAGES[n])}
    for name in sorted(TOOLS.keys() - there):
        print(f"left out: {name} is not installed")
    strings = [t.string for i in items(count) for t in i.texts.values()]
    bundled = Path(unmask.__file__).parent / "models" / "bundled_model"
    with tempfile.TemporaryDirectory() as causal:
        save_causal(causal)
        for kind, folder in (("masked", str(bundled)), ("causal", causal)):
            if kind not in chosen:
                continue
            jobs = {"unmask": {"tool": "unmask", "folder": folder, "kind": kind, "count": count}}
            for tool in ("minicons", "lm-eval", "a plain loop"):
                if tool not in there or (tool == "lm-eval" and kind == "masked"):
                    continue
                for size in (64,) if tool == "a plain loop" else SIZES:
                    given = {"folder": folder, "kind": kind, "strings": strings, "size": size}
                    jobs[f"{tool}, {size} at a time"] = {"tool": tool, **given}
            compared(f"{kind}, {len(strings)} sentences, {DEVICE}", jobs, plain)
    vectors = Path(os.environ.get("UNMASK_DATA", "none")) / "vectors/glove840b_weat_subset.txt"
    if "weat" in chosen and vectors.is_file() and "WEFE" in there:
        given = {"vectors": str(vectors), "tests": ["weat-6", "weat-7", "weat-8"]}
        jobs = {"unmask": {"tool": "unmask's WEAT", **given}, "WEFE": {"tool": "WEFE", **given}}
        compared(f"WEAT, 3 tests, {ITERATIONS} permutations", jobs, plain, 1)


if __name__ == "__main__":
    if "--job" in sys.argv:
        asked = json.load(sys.stdin)
        print(json.dumps(TOOLS[asked.pop("tool")](**asked)))
    else:
        main()

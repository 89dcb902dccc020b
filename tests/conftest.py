"""Fixtures: tiny random networks on real and on made tokenizers. Nothing is downloaded."""

import contextlib
import io
import json
import os
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from unmask import api
from unmask.cli.main import main
from unmask.data.packaged import bundled_pairs
from unmask.flow import estimates, sentence_scores
from unmask.models.transformers.model import TransformerModel, wrap

os.environ["HF_HUB_OFFLINE"] = "1"
# Answers are cached for this run of the tests alone; its processes share them.
_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID")
CACHE = Path(tempfile.gettempdir()) / f"unmask-tests-{_RUN}" if _RUN else tempfile.mkdtemp()
os.environ["UNMASK_CACHE"] = str(CACHE)
torch.set_num_threads(1)  # tiny networks; the tests run in two processes
TESTS = Path(__file__).parent
ROOT = TESTS.parent
SHARED = Path(os.environ.get("UNMASK_DATA") or ROOT.parent / "shared" / "data")


# In a float64 network transformers computes some steps in float32 whatever the dtype, so another
# batch may round them otherwise: BLOOM's softmax, norms by the mean square and rotary positions,
# XLNet's einsums. All other families are float64 throughout.
ROUNDED = {"xlnet": 1e-5} | dict.fromkeys(
    ("bloom", "llama", "mistral", "modernbert", "qwen2", "qwen3", "gpt_neox", "phi"), 1e-6
)


def close_for(family: str) -> float:
    """How near two ways to compute a log-probability of a float64 network must be."""
    return ROUNDED.get(family, 1e-10)


LONG = ("test_likelihood_rows", "test_papers", "test_docs", "test_lab", "test_page")  # first


def pytest_collection_modifyitems(items):
    """Long tests begin, so that both processes end at the same time."""
    items.sort(key=lambda item: item.module.__name__.rpartition(".")[2] not in LONG)


def shared_file(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"needs {name} of the development data (set UNMASK_DATA)")
    return path


def hears_interruptions() -> None:
    """In a child: SIGINT as it is at a terminal, where tests run in the background without it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def damaged_values(path):
    """Flip one bit of every cached value, as a worn disk does."""
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        for *key, value in file.execute("SELECT namespace, key, value FROM cached").fetchall():
            content = bytearray(value)
            content[len(content) // 2] ^= 1
            update = "UPDATE cached SET value = ? WHERE namespace = ? AND key = ?"
            file.execute(update, (bytes(content), *key))


def invoke(*arguments):
    """Call the entry point in this process; returns exit status, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["unmask", *map(str, arguments)]
    status = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        status = end.code or 0
    finally:
        sys.argv = before
    return status, out.getvalue(), err.getvalue()


def _with_cache(run):
    """Ask the bundled model the same question once, in however many tests it is asked.

    Only by its name and with no choice of how it runs; networks in memory are always asked.
    """

    def cached(models, measures, data, options):
        named = [models] if isinstance(models, str) else models
        usual = not {"cache", "dtype", "device", "engine", "fast", "load"} & {*options}
        if usual and isinstance(named, list | tuple) and all(m == "bundled" for m in named):
            options = {**options, "cache": True}
        return run(models, measures, data, options)

    return cached


api._run = _with_cache(api._run)


@pytest.fixture(scope="session", autouse=True)
def _elsewhere(tmp_path_factory):
    """What a command writes by default goes to a temporary folder, not into the checkout."""
    os.chdir(tmp_path_factory.mktemp("work"))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def shared(monkeypatch):
    """A function from names to files of the development data; also sets UNMASK_DATA."""
    if SHARED.is_dir():
        monkeypatch.setenv("UNMASK_DATA", str(SHARED))
    return shared_file


SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 128,
}


DISTANCES = {  # of DeBERTa, version 3
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 8,
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
    "position_biased_input": False,
    "type_vocab_size": 0,
}


def make_net(family: str, vocabulary: int, pad: int = 0) -> torch.nn.Module:
    """A tiny random network in float64, with weights large enough that scores differ."""
    torch.manual_seed(5)
    common = {"vocab_size": vocabulary, "pad_token_id": pad}
    built = {
        "bert": lambda: transformers.BertForMaskedLM(transformers.BertConfig(**common, **SMALL)),
        "roberta": lambda: transformers.RobertaForMaskedLM(
            transformers.RobertaConfig(**common, **SMALL)
        ),
        "albert": lambda: transformers.AlbertForMaskedLM(
            transformers.AlbertConfig(**common, **SMALL, embedding_size=16)
        ),
        "distilbert": lambda: transformers.DistilBertForMaskedLM(
            transformers.DistilBertConfig(**common, dim=32, n_layers=2, n_heads=4, hidden_dim=48)
        ),
        "electra": lambda: transformers.ElectraForMaskedLM(
            transformers.ElectraConfig(**common, **SMALL, embedding_size=16)
        ),
        "deberta": lambda: transformers.DebertaV2ForMaskedLM(
            transformers.DebertaV2Config(**common, **SMALL, **DISTANCES)
        ),
        "modernbert": lambda: transformers.ModernBertForMaskedLM(
            transformers.ModernBertConfig(**common, **SMALL, local_attention=8)
        ),
        "xlnet": lambda: transformers.XLNetLMHeadModel(
            transformers.XLNetConfig(**common, d_model=32, n_layer=2, n_head=4, d_inner=48)
        ),
        "gpt2": lambda: transformers.GPT2LMHeadModel(
            transformers.GPT2Config(
                vocab_size=vocabulary, n_embd=32, n_layer=2, n_head=4, n_positions=128
            )
        ),
        "opt": lambda: transformers.OPTForCausalLM(
            transformers.OPTConfig(
                **common,
                hidden_size=32,
                ffn_dim=48,
                num_hidden_layers=2,
                num_attention_heads=4,
                max_position_embeddings=128,
                word_embed_proj_dim=16,
            )
        ),
        "bloom": lambda: transformers.BloomForCausalLM(
            transformers.BloomConfig(**common, hidden_size=32, n_layer=2, n_head=4)
        ),
        "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**common, **SMALL)),
    }[family]()
    with torch.no_grad():
        for p in built.parameters():
            if p.ndim > 1:
                p.mul_(4)
    # XLNet makes its position encodings in float32 whatever the weights are.
    return built.eval() if family == "xlnet" else built.double().eval()


def texts() -> list[str]:
    items = bundled_pairs().items
    return [text.string for item in items for text in item.texts.values()]


def made_tokenizer(sort: str):
    """A small real tokenizer of one of three sorts, trained on the package's own sentences."""
    if sort == "wordpiece":
        raw = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        raw.normalizer = normalizers.BertNormalizer()
        raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        raw.decoder = decoders.WordPiece()
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        names = dict(zip(("pad", "unk", "cls", "sep", "mask"), special, strict=True))
        vocabulary = {w: i for i, w in enumerate([*special, *word_pieces(raw, 175)])}
        raw.model = models.WordPiece(vocabulary, unk_token="[UNK]")
        return raw, {f"{k}_token": v for k, v in names.items()}
    elif sort == "bpe":
        raw = Tokenizer(models.BPE())
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        raw.decoder = decoders.ByteLevel()
        special = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
        trainer = trainers.BpeTrainer(
            vocab_size=420,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
        names = dict(zip(("pad", "unk", "cls", "sep", "mask"), special, strict=True))
    else:
        raw = Tokenizer(models.Unigram())
        raw.pre_tokenizer = pre_tokenizers.Metaspace()
        raw.decoder = decoders.Metaspace()
        special = ["<pad>", "<unk>", "<cls>", "<sep>", "<mask>"]
        trainer = trainers.UnigramTrainer(
            vocab_size=240, special_tokens=special, unk_token="<unk>", show_progress=False
        )
        names = dict(zip(("pad", "unk", "cls", "sep", "mask"), special, strict=True))
    trainer.show_progress = False
    raw.train_from_iterator(texts(), trainer)
    if sort == "unigram":  # order and last digits differ between processes
        made = json.loads(raw.to_str())["model"]["vocab"]
        size = len(special)
        rest = sorted((w, round(v, 2)) for w, v in made[size:])
        raw.model = models.Unigram([*map(tuple, made[:size]), *rest], special.index("<unk>"))
    return raw, {f"{k}_token": v for k, v in names.items()}


def word_pieces(raw: Tokenizer, count: int) -> list[str]:
    """Characters, and the beginnings and ends of words that cover most text, the same every time.

    The library's trainer breaks ties by an order that differs between processes, and with it every
    tiny network on its tokens.
    """
    words = Counter(
        word
        for text in texts()
        for word, _ in raw.pre_tokenizer.pre_tokenize_str(raw.normalizer.normalize_str(text))
    )
    covered: Counter[str] = Counter()
    for word, times in words.items():
        for cut in range(1, len(word)):
            covered["##" + word[cut:]] += times * (len(word) - cut)
            covered[word[: cut + 1]] += times * (cut + 1)
    letters = sorted({c for word in words for c in word})
    pieces = [*letters, *("##" + c for c in letters)]
    best = sorted(covered.keys() - set(pieces), key=lambda w: (-covered[w], w))
    return pieces + best[: count - len(pieces)]


def finish(raw, names, shape: str, **more):
    """Wrap a raw tokenizer, with specials around (BERT), at the end (XLNet) or none (GPT)."""
    cls, sep = names["cls_token"], names["sep_token"]
    single = {"around": f"{cls} $A {sep}", "end": f"$A:0 {sep}:0 {cls}:2", "none": "$A"}[shape]
    pair = {"end": f"$A:0 {sep}:0 $B:1 {sep}:1 {cls}:2"}.get(shape)
    ids = [(t, raw.token_to_id(t)) for t in (cls, sep)]
    raw.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, model_max_length=128, **names, **more
    )


SORT = {
    "bert": ("wordpiece", "around"),
    "distilbert": ("wordpiece", "around"),
    "electra": ("wordpiece", "around"),
    "deberta": ("unigram", "around"),
    "modernbert": ("bpe", "around"),
    "roberta": ("bpe", "around"),
    "albert": ("unigram", "around"),
    "xlnet": ("unigram", "end"),
    "gpt2": ("bpe", "none"),
    "opt": ("bpe", "none"),
    "bloom": ("bpe", "none"),
    "llama": ("unigram", "none"),
}
KINDS = dict.fromkeys(("gpt2", "opt", "bloom", "llama"), "causal") | {"xlnet": "permutation"}
_MODELS: dict[str, TransformerModel] = {}


def tiny(family: str) -> TransformerModel:
    """A tiny random model of a family on a made tokenizer; built once."""
    if family not in _MODELS:
        sort, shape = SORT[family]
        raw, names = made_tokenizer(sort)
        more = {"bos_token": names["cls_token"]} if shape == "none" else {}
        tokenizer = finish(raw, names, shape, **more)
        net = make_net(family, len(tokenizer), tokenizer.pad_token_id)
        _MODELS[family] = wrap(net, tokenizer, KINDS.get(family, "masked"), f"tiny-{family}")
    return _MODELS[family]


def real_tokenizer(family: str):
    """The published tokenizer of a family, from the development data."""
    if family == "bert":
        path = shared_file("tokenizers/bert-base-uncased/vocab.txt")
        return transformers.BertTokenizer(vocab=str(path), do_lower_case=True)
    if family == "albert":
        import sentencepiece

        path = shared_file("tokenizers/albert-v2/spiece.model")
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        pieces = range(model.get_piece_size())
        vocabulary = [(model.id_to_piece(i), model.get_score(i)) for i in pieces]
        return transformers.AlbertTokenizer(vocab=vocabulary)
    folder = shared_file("tokenizers/gpt2-bpe/encoder.json").parent
    merges = str(folder / "vocab.bpe")
    if family == "gpt2":
        return transformers.GPT2Tokenizer(vocab=str(folder / "encoder.json"), merges=merges)
    # RoBERTa has the same pieces behind four specials of its own, and the mask at the end.
    pieces = json.loads((folder / "encoder.json").read_text())
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    vocabulary |= {p: i + 4 for p, i in pieces.items() if p != "<|endoftext|>"}
    vocabulary["<mask>"] = len(vocabulary)
    lines = (folder / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
    pairs = [tuple(line.split()) for line in lines if line]
    return transformers.RobertaTokenizer(vocab=vocabulary, merges=pairs)


def tiny_real(family: str) -> TransformerModel:
    """A tiny random network on the published tokenizer."""
    key = f"real {family}"
    if key not in _MODELS:
        tokenizer = real_tokenizer(family)
        net = make_net(family, len(tokenizer), tokenizer.pad_token_id or 0)
        _MODELS[key] = wrap(net, tokenizer, KINDS.get(family, "masked"), f"tiny-real-{family}")
    return _MODELS[key]


def sentence_frame(model, planned, readings):
    """The items table of one measure, from its plan and its answers."""
    scored = sentence_scores.reduced(model, planned.measure, planned, readings)
    return estimates.sentence_frame(model, planned.measure, planned.data, scored)


def asked_of(planned, item, label):
    """The questions of the value and of the prior about one sentence."""
    names = [(i.id, k) for i in planned.data.items for k in i.texts]
    at = names.index((item, label))
    start = planned.starts[at]
    middle = start + planned.values[at]
    every = planned.queries
    return every[start:middle], every[middle : middle + planned.priors[at]]

"""Hostile inputs that are no files of rows: logs of harnesses, networks, rows, packages, servers.

Each function makes one case from a generator of random numbers and runs it; it returns "ran", or
raises `UnmaskError` where the case was refused. Anything else that it raises is a failure.
"""

import copy
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import transformers

import unmask
from conftest import SMALL, tiny
from unmask.data import catalogue
from unmask.data.packaged import bundled_pairs
from unmask.flow import external_scores
from unmask.measures import ASSOCIATION, LIKELIHOOD, table
from unmask.models import names
from unmask.models.served import openai_client
from unmask.serve.pair import Scorer
from unmask.serve.site import Site
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Dataset, Stimuli

DATA = Dataset("few", "triplets", bundled_pairs().items[::60])
DEEP = "[" * 5000 + "]" * 5000
ODD_VALUES: list[Any] = [
    None, 0, -1, 3.5, float("nan"), "", " ", "x", "\u00df", "\ud800", [], {}, (), [1], {"a": 1},
    True, int("9" * 400), object(), b"x", "[MASK]", "a" * 5000, {1: 2}, ("a", 3),
]  # fmt: skip
Damage = Callable[[bytes, random.Random], bytes]


def odd_json(content: Any, rng: random.Random) -> Any:
    """Some value somewhere in a JSON document replaced by an odd one."""
    content = copy.deepcopy(content)
    at = content
    for _ in range(rng.randint(1, 6)):
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            break
        key = rng.choice(keys)
        if not isinstance(at[key], dict | list) or rng.random() < 0.4:
            plain = [v for v in ODD_VALUES if isinstance(v, str | int | float | list | None)]
            at[key] = rng.choice([*plain, {"a": 1}])
            break
        at = at[key]
    return content


def in_json(content: Any, rng: random.Random, damaged: Damage) -> bytes:
    """A document as bytes: odd in a value, damaged as text, too deep, or with endless numbers."""
    how = rng.random()
    if how < 0.05:
        return DEEP.encode()
    if how < 0.1:
        return json.dumps(content).replace("0", "9" * 5000, 1).encode()
    text = json.dumps(odd_json(content, rng)).encode("utf-8", "surrogatepass")
    return damaged(text, rng) if rng.random() < 0.4 else text


# ---------------------------------------------------------------- logs


def lm_eval_log(folder: Path, rng: random.Random, damaged: Damage) -> str:
    item = bundled_pairs().items[0]
    one, two = (item.texts[k].string for k in (STEREOTYPE, ANTISTEREOTYPE))
    doc = {"sent_more": one, "sent_less": two}
    rows = [{"doc": doc, "filtered_resps": [[-3.5, False], [-2.0, False]]} for _ in range(3)]
    path = folder / "samples.jsonl"
    path.write_bytes(b"\n".join(in_json(row, rng, damaged) for row in rows))
    external_scores.score_file(path, "bundled-pairs")
    return "ran"


def inspect_log(folder: Path, rng: random.Random, damaged: Damage) -> str:
    labels = ["stereotype", "anti-stereotype", "unrelated"]
    samples = [
        {"id": i.id, "metadata": {"gold_labels": labels}, "scores": {"choice": {"answer": "A"}}}
        for i in bundled_pairs().items[:4]
    ]
    if rng.random() < 0.5:
        path = folder / "log.json"
        path.write_bytes(in_json({"eval": {}, "samples": samples}, rng, damaged))
    else:
        path = folder / "log.eval"
        packing = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
        with zipfile.ZipFile(path, "w", packing) as packed:
            for k, sample in enumerate(samples):
                packed.writestr(f"samples/{k}.json", in_json(sample, rng, damaged))
        if rng.random() < 0.4:
            path.write_bytes(damaged(path.read_bytes(), rng))
    external_scores.score_file(path, "bundled-pairs")
    return "ran"


# ---------------------------------------------------------------- networks and rows

CONFIG = SMALL | {"max_position_embeddings": 40}
FAMILIES = (
    "Bert", "Roberta", "MPNet", "XLMRobertaXL", "RobertaPreLayerNorm", "Data2VecText", "Camembert",
    "Electra", "Esm", "IBert",
)  # fmt: skip


def network(folder: Path, rng: random.Random, damaged: Damage) -> str:
    family = rng.choice(FAMILIES)
    tokenizer = copy.deepcopy(tiny(rng.choice(["bert", "roberta", "gpt2"])).codec.tokenizer)
    odd = {
        "pad_token_id": [0, 1, None], "return_dict": [False], "chunk_size_feed_forward": [3],
        "vocab_size": [10, 500, 5000], "output_attentions": [True], "is_decoder": [True],
        "hidden_act": ["relu"], "output_hidden_states": [True], "tie_word_embeddings": [False],
    }  # fmt: skip
    asked = {"vocab_size": max(500, len(tokenizer)), "pad_token_id": 1, **CONFIG}
    for key in rng.sample(list(odd), rng.randint(0, 2)):
        asked[key] = rng.choice(odd[key])
    try:
        config = getattr(transformers, f"{family}Config")(**asked)
        net = getattr(transformers, f"{family}ForMaskedLM")(config).eval()
    except Exception:  # it is transformers that refuses
        return "not made"
    change = rng.random()
    if change < 0.1:
        next(net.children()).half()
    elif change < 0.2:
        net = torch.nn.DataParallel(net)
    elif change < 0.3:
        net = net.to(torch.bfloat16)
    elif change < 0.4:
        tokenizer.add_tokens([f"new{k}" for k in range(9)])
    elif change < 0.5:
        net.register_forward_hook(lambda *_: rng.choice([None, 3]))
    unmask.run((net, tokenizer), rng.choice(["aul", "sss", "aula", "w-seat"]), [DATA, "weat-6"])
    return "ran"


def own_row(folder: Path, rng: random.Random, damaged: Damage) -> str:
    row: Any = rng.choice([*LIKELIHOOD.values(), *ASSOCIATION.values()])
    names_ = [f.name for f in fields(row) if f.name != "name"]
    changes = {name: rng.choice(ODD_VALUES) for name in rng.sample(names_, rng.randint(1, 2))}
    unmask.run(tiny("bert"), replace(row, name="mine", variant_of="", deviation="", **{
        k: v for k, v in changes.items() if k not in ("variant_of", "deviation")
    }), [DATA, "kurita-career", "weat-6"], splits=0)  # fmt: skip
    return "ran"


def frame(folder: Path, rng: random.Random, damaged: Damage) -> str:
    rows = [
        {"stereotype": f"The {w} sat.", "antistereotype": "A man sat."} for w in ("a", "b", "c")
    ]
    for _ in range(rng.randint(1, 3)):
        row = rng.choice(rows)
        key = rng.choice(["stereotype", "antistereotype", "id", "category", "cluster", "unrelated"])
        row[key] = rng.choice(ODD_VALUES)
    try:
        given = pd.DataFrame(rows)
    except (ValueError, TypeError, OverflowError):  # it is pandas that refuses
        return "not made"
    unmask.run(tiny("bert"), "aul", given)
    return "ran"


# ---------------------------------------------------------------- packages


class Point:
    """An entry point that gives an odd object, raises, or ends the program."""

    dist = None

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def load(self) -> Any:
        def fails() -> Any:
            raise self.rng.choice([ValueError("no"), SystemExit(3), KeyError("x"), ImportError()])

        kind = self.rng.random()
        if kind < 0.3:
            return fails()
        if kind < 0.6:
            return fails
        sets = {"x": ("a", "b"), "y": ("c", "d")}
        known = [LIKELIHOOD["aul"], DATA, Stimuli("s", sets, {"p": ("e", "f"), "q": ("g", "h")})]
        odd = [*ODD_VALUES, type, lambda: 3, int]
        return self.rng.choice(odd if kind < 0.8 else [*known, lambda: DATA])


def package(folder: Path, rng: random.Random, damaged: Damage) -> str:
    which = rng.choice(["measure", "data", "model"])
    points = {"measure": table, "data": catalogue, "model": names}[which].ENTRY_POINTS
    before = points.__dict__.get("_points")
    points.__dict__["_points"] = {"odd": Point(rng)}
    try:
        given = {"measure": "aul", "data": DATA, "model": tiny("bert")} | {which: "odd"}
        unmask.run(given["model"], given["measure"], given["data"])
    finally:
        points.__dict__.pop("_points")
        if before is not None:
            points.__dict__["_points"] = before
    return "ran"


# ---------------------------------------------------------------- servers


class Answer:
    """What a server sends, whole."""

    def __init__(self, body: bytes) -> None:
        self.body, self.length = body, 0

    def __enter__(self) -> "Answer":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read1(self, size: int) -> bytes:
        part, self.body = self.body[:size], self.body[size:]
        return part


def server(folder: Path, rng: random.Random, damaged: Damage) -> str:
    spoilt = rng.random()

    def opened(request: Any, timeout: float) -> Answer:
        if request.full_url.endswith("/models"):
            content: Any = {"data": [{"id": "small", "max_model_len": 128}]}
            return Answer(
                in_json(content, rng, damaged) if spoilt < 0.3 else json.dumps(content).encode()
            )
        prompt = json.loads(request.data)["prompt"]
        tokens = [prompt[k : k + 3] for k in range(0, len(prompt), 3)]
        logp = [None, *(-1.0 - (hash(prompt[: 3 * k + 3]) % 97) / 9 for k in range(1, len(tokens)))]
        marks = {
            "tokens": [*tokens, "!"], "token_logprobs": [*logp, -0.1], "top_logprobs": None,
            "text_offset": [*range(0, len(prompt), 3), len(prompt)],
        }  # fmt: skip
        content = {"choices": [{"text": prompt + "!", "logprobs": marks}]}
        bad = spoilt >= 0.3 and rng.random() < 0.03
        return Answer(in_json(content, rng, damaged) if bad else json.dumps(content).encode())

    before = openai_client._OPENER.open
    openai_client._OPENER.open = opened  # type: ignore[method-assign, assignment]
    try:
        unmask.run("http://localhost:1/v1#small", "ll", DATA)
    finally:
        openai_client._OPENER.open = before  # type: ignore[method-assign]
    return "ran"


def served_page(folder: Path, rng: random.Random, damaged: Damage) -> str:
    """A request to the page of `unmask serve`: answered, or refused with a sentence."""
    site = Site(Scorer(tiny("bert"), ["aul"]))
    site.listen(8000)
    sent = {"stereotype": "The nurse was late.", "antistereotype": "The judge was late."}
    body = in_json(sent, rng, damaged)
    headers = {
        "Host": rng.choice(["127.0.0.1:8000", "127.0.0.1:8000", "evil:8000"]),
        "Content-Type": "application/json",
        "X-Unmask": rng.choice([site.secret, site.secret, "no", "\u00e9"]),
    }
    if not site.may_post(headers):
        return "refused"
    reply = site.post(rng.choice(["/pair", "/pair", "/x"]), headers, body)
    assert reply.status in (200, 400, 404, 415, 422), reply
    assert reply.status == 200 or "error" in json.loads(reply.content)
    return "ran" if reply.status == 200 else "refused"


KINDS: dict[str, tuple[Callable[[Path, random.Random, Damage], str], int]] = {
    "lm-eval log": (lm_eval_log, 3),
    "inspect log": (inspect_log, 4),
    "network": (network, 3),
    "own row": (own_row, 3),
    "template": (frame, 2),
    "package": (package, 3),
    "server": (server, 4),
    "served page": (served_page, 2),
}

"""Damaged and hostile inputs against every reader and command, in this process and seeded.

    python tests/fuzz/fuzz.py [--count 4000] [--seed 0] [--only KIND]

Each case is a valid file that was damaged, a command with odd arguments, or one of `hostile`:
logs of harnesses, networks in memory, rows of one's own, packages, servers. What may happen: it
works, or one sentence (`UnmaskError`, exit status 2). What may not: any other exception, a crash,
a result that the file does not hold, or more than 20 seconds. Prints the counts; exit status 1
if anything fails.
"""

import argparse
import collections
import gzip
import json
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hostile import KINDS

import unmask
from conftest import SHARED, finish, invoke, made_tokenizer, make_net
from unmask.corpus import readers as corpus
from unmask.data import catalogue, wordsets
from unmask.data.readers import field, groups, occupations, pairs, questions, seat, stereoset
from unmask.errors import UnmaskError
from unmask.flow import external_scores
from unmask.models.output_cache import VectorOutputs
from unmask.models.static_vectors import load_static
from unmask.support.store import opened
from unmask.text import contexts

SENTENCES = [
    ("The nurse said that she was tired.", "The nurse said that he was tired."),
    ("The judge, who was old, came in.", "The judge, who was young, came in."),
    ("A maid was \u201cgentle\u201d.", "A captain was \u201cgentle\u201d."),
]


# ---------------------------------------------------------------- valid files


def csv_file() -> bytes:
    lines = ["id,stereotype,antistereotype,category,cluster"]
    lines += [f'{n},"{a}","{b}",c{n % 2},k{n}' for n, (a, b) in enumerate(SENTENCES * 2)]
    return "\n".join(lines).encode()


def tsv_file() -> bytes:
    return b"stereotype\tantistereotype\n" + "\n".join(f"{a}\t{b}" for a, b in SENTENCES).encode()


def jsonl_file() -> bytes:
    rows = [{"id": n, "stereotype": a, "antistereotype": b} for n, (a, b) in enumerate(SENTENCES)]
    return "\n".join(map(json.dumps, rows)).encode()


def score_file() -> bytes:
    rows = [
        f"gender-work/nurse/{n}/{k},{-n - 0.5}"
        for n in range(3)
        for k in ("stereotype", "antistereotype", "unrelated")
    ]
    return ("id,score\n" + "\n".join(rows)).encode()


def word_test() -> bytes:
    sets = {
        "targets": {"a": ["nurse", "maid"], "b": ["judge", "king"]},
        "attributes": {"x": ["she", "her"], "y": ["he", "him"]},
    }
    return json.dumps(sets).encode()


def store_file() -> bytes:
    rows = [
        {"stimulus": w, "sentence": f"We saw that {w} came.", "span": [12, 12 + len(w)]}
        for w in ("rose", "lily", "ant", "flea")
    ]
    return "\n".join(map(json.dumps, rows)).encode()


def vectors_file() -> bytes:
    rng = np.random.default_rng(1)
    words = [w for v in wordsets.stimuli()["weat-6"].sets.values() for w in v]
    return "\n".join(
        f"{w} " + " ".join(f"{x:.4f}" for x in rng.normal(size=5)) for w in words
    ).encode()


def seat_file() -> bytes:
    sides = wordsets.stimuli()["weat-6"].sets
    keys = dict(zip(("targ1", "targ2", "attr1", "attr2"), sides.items(), strict=True))
    made = {
        k: {"category": label, "examples": [f"This is {w}." for w in words]}
        for k, (label, words) in keys.items()
    }
    return json.dumps(made).encode()


def stereoset_file() -> bytes:
    said = [
        {"id": f"s{g}", "gold_label": g, "sentence": f"The nurse was {w}."}
        for g, w in (("stereotype", "kind"), ("anti-stereotype", "rude"), ("unrelated", "blue"))
    ]
    row = {
        "id": "1",
        "bias_type": "gender",
        "target": "nurse",
        "context": "The nurse was BLANK.",
        "sentences": said,
    }
    return json.dumps({"data": {"intrasentence": [row], "intersentence": []}}).encode()


def corpus_file() -> bytes:
    rows = [{"body": f"A rose is number {n}.", "author": "x"} for n in range(20)]
    return "\n".join(map(json.dumps, rows)).encode()


# ---------------------------------------------------------------- damage


def damaged(data: bytes, rng: random.Random) -> bytes:
    """One to three kinds of damage."""
    for _ in range(rng.randint(1, 3)):
        data = rng.choice(DAMAGE)(data, rng)
    return data


def _at(data: bytes, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def _insert(what: bytes):
    def change(data: bytes, rng: random.Random) -> bytes:
        at = _at(data, rng)
        return data[:at] + what + data[at:]

    return change


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: _at(data, rng)]


def _drop(data: bytes, rng: random.Random) -> bytes:
    at = _at(data, rng)
    return data[:at] + data[at + rng.randint(1, 20) :]


def _twice(data: bytes, rng: random.Random) -> bytes:
    at = _at(data, rng)
    return data[:at] + data[at : at + 30] + data[at:]


def _flip(data: bytes, rng: random.Random) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


DAMAGE = [
    _cut,
    _drop,
    _twice,
    _flip,
    _flip,
    _lines,
    *map(
        _insert,
        [
            b"\x00",
            b"\xff\xfe",
            b"\xef\xbb\xbf",
            b'"',
            b",",
            b"\n",
            b"\r",
            b"null\n",
            b"[]",
            b"{",
            b"\xe2\x80\xa8",
            b"\\ud83d",
            b"NaN",
            b"1e999",
            b"-inf",
            b"[MASK]",
            b"<mask>",
            b"\t\t",
            "\u202e".encode(),
            b"\x1b[31m",
            b"=1+1",
            b"x" * 200_000,
            b"99999999999999999999",
            b"true",
            b"\xe9",
            b"[/x]",
            b'{"a":' * 60,
        ],
    ),
    lambda data, rng: b"",
    lambda data, rng: rng.randbytes(200),
    lambda data, rng: data.decode("utf-8", "replace").encode("utf-16"),
    lambda data, rng: data.replace(b"\n", b"\r\n"),
    lambda data, rng: data.replace(b'"', b""),
    lambda data, rng: data.replace(b"nurse", b"[UNK]"),
]


# ---------------------------------------------------------------- readers, and what must be true


def read_pairs(path: Path) -> None:
    data = pairs.read_pairs(path)
    if path.suffix == ".parquet":
        return
    raw = path.read_bytes()
    text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in text.split("\n") if line.strip()]
        held = {v for r in rows for v in r.values() if isinstance(v, str)}
    for item in data.items:
        for sentence in item.texts.values():
            if path.suffix == ".jsonl":
                assert sentence.string in held
            else:
                assert sentence.string.replace('"', "") in text.replace('"', "")
                assert sentence.string != "nan"


def read_scores(path: Path) -> None:
    found = external_scores.score_file(path, "bundled-pairs")
    assert 0 <= found.overall.value <= 100
    used = found.items[found.items.reason.isna()]
    assert np.isfinite(used.score).all()
    assert found.coverage.scored * 3 == len(used)


def read_words(path: Path) -> None:
    test = wordsets.read_stimuli(path)
    assert all(w.strip() for words in test.sets.values() for w in words)


def read_store(path: Path) -> None:
    met = contexts.stored(path).of(wordsets.stimuli()["weat-1"])
    for word, mentions in met.items():
        spots = [m.text[slice(*m.span)].casefold() for m in mentions]
        assert all(re.findall(r"\w+", s) == re.findall(r"\w+", word.casefold()) for s in spots)


def read_vectors(path: Path) -> None:
    model = load_static(str(path))
    test = wordsets.stimuli()["weat-6"]
    words = [w for v in test.sets.values() for w in v]
    found = model.lookup(words)
    assert all(v.shape == (model.dimensions,) and np.isfinite(v).all() for v in found.values())


def read_seat(path: Path) -> None:
    test = seat.read_file(path, "fuzz", wordsets.stimuli()["weat-6"])
    for word, mentions in test.source.of(test.stimuli).items():
        assert word
        assert all(m.text[slice(*m.span)] for m in mentions)


def read_stereoset(path: Path) -> None:
    for item in stereoset.read_intrasentence(path).items:
        assert all(t.string.strip() for t in item.texts.values())


def read_corpus(path: Path) -> None:
    try:
        for block in corpus.blocks(path, most=1 << 28):
            corpus.documents(block, corpus.is_json(path))
    except corpus.DamagedFile:
        pass


VECTORS = np.arange(6.0).reshape(1, 6)


def read_answers(path: Path) -> None:
    with opened(path) as store:
        found = VectorOutputs(store, "salt").recall([b"k" * 16])
    assert found is None or np.array_equal(found, VECTORS)


def answers_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers"
        with opened(path) as store:
            VectorOutputs(store, "salt").note([b"k" * 16], VECTORS)
        return path.read_bytes()


UNQOVER = "field/unqover/word_lists"


def published(name: str) -> bytes:
    """The beginning of a published file, where the development data are there."""
    path, lines = SHARED / name, 3 if UNQOVER in name else 60  # of those each makes thousands
    return b"\n".join(path.read_bytes().split(b"\n")[:lines]) if path.is_file() else b""


def read_items(read: Any, *others: str) -> Any:
    def check(path: Path) -> None:
        missing = [o for o in others if not (SHARED / o).is_file()]
        if missing or not 0 < path.stat().st_size < 50_000:  # each line makes many sentences
            return
        data = catalogue.as_published(read, path, *(SHARED / o for o in others))
        for item in getattr(data, "items", ()):
            assert all(t.string.strip() for t in item.texts.values())

    return check


# Published files: where they are, their reader, and what is read with them.
FIELD = {
    "bec.tsv": ("field/bec-pro/BEC-Pro_EN.tsv", occupations.read_bec_pro_templates),
    "gest.csv": ("field/gest/gest.csv", field.read_gest),
    "cbs.txt": (
        "field/cbs/templates_en.txt",
        lambda path, words: groups.read_cbs(path, words, "cbs", "en"),
        "field/cbs/occ_en.txt",
    ),
    "unqover": (
        f"{UNQOVER}/slots/religion_noact_lm",
        lambda path, *others: questions.read_unqover(path, *others, name="u"),
        f"{UNQOVER}/activities/biased_religion",
        f"{UNQOVER}/nouns/subjects/religion_bert",
    ),
    "nouns.txt": (
        "field/disco/generalized_swaps.txt",
        groups.read_gendered_nouns,
        "field/disco/extra_gendered_words.txt",
    ),
    "professions.json": ("field/bolukbasi/professions.json", field.read_co_occurrence),
    "crows.csv": ("crows-pairs/crows_pairs_anonymized.csv", pairs.read_crows_pairs),
    "russian.json": ("multilingual/russian.json", pairs.read_translated),
}
READERS = {
    **{
        name: (partial(published, row[0]), read_items(row[1], *row[2:]), 1)
        for name, row in FIELD.items()
    },
    "pairs.csv": (csv_file, read_pairs, 4),
    "pairs.tsv": (tsv_file, read_pairs, 2),
    "pairs.jsonl": (jsonl_file, read_pairs, 3),
    "pairs.parquet": (None, read_pairs, 2),
    "scores.csv": (score_file, read_scores, 2),
    "words.json": (word_test, read_words, 2),
    "store.jsonl": (store_file, read_store, 2),
    "vectors.txt": (vectors_file, read_vectors, 3),
    "seat.jsonl": (seat_file, read_seat, 1),
    "dev.json": (stereoset_file, read_stereoset, 1),
    "corpus.jsonl": (corpus_file, read_corpus, 2),
    "corpus.jsonl.gz": (lambda: gzip.compress(corpus_file()), read_corpus, 1),
    "answers": (answers_file, read_answers, 2),
}


# ---------------------------------------------------------------- commands


@dataclass
class World:
    """A folder with a tiny model, results of a run and a file of pairs."""

    folder: Path
    model: Path
    done: Path
    pairs: Path


def world(folder: Path) -> World:
    raw, names = made_tokenizer("wordpiece")
    tokenizer = finish(raw, names, "around")
    model = folder / "model"
    make_net("bert", len(tokenizer)).float().save_pretrained(model)
    tokenizer.save_pretrained(model)
    path = folder / "pairs.csv"
    path.write_bytes(csv_file())
    found = unmask.run(str(model), ["aul", "sss"], str(path))
    unmask.save(found, folder / "done")
    return World(folder, model, folder / "done", path)


def run_damaged_pairs(w: World, rng: random.Random) -> Any:
    path = w.folder / f"d{rng.choice(['.csv', '.jsonl'])}"
    path.write_bytes(damaged(csv_file() if path.suffix == ".csv" else jsonl_file(), rng))
    return ["run", "-m", w.model, "-x", "aul", "-d", path, "-o", w.folder / "out"]


def run_damaged_model(w: World, rng: random.Random) -> Any:
    broken = w.folder / f"model{rng.randrange(10**9)}"
    broken.mkdir()
    files = [f for f in w.model.iterdir() if f.is_file()]
    hurt = rng.choice(files)
    for f in files:
        data = f.read_bytes()
        if f == hurt and rng.random() < 0.3:
            continue
        (broken / f.name).write_bytes(damaged(data, rng) if f == hurt else data)
    return ["run", "-m", broken, "-x", "aul", "-d", w.pairs, "-o", w.folder / "out"]


def run_damaged_results(w: World, rng: random.Random) -> Any:
    broken = w.folder / "broken"
    broken.mkdir(exist_ok=True)
    hurt = rng.choice(["results.json", "items.parquet"])
    for name in ("results.json", "items.parquet"):
        data = (w.done / name).read_bytes()
        (broken / name).write_bytes(damaged(data, rng) if name == hurt else data)
    if rng.random() < 0.2:  # results of another version, older or newer
        content = json.loads((w.done / "results.json").read_text())
        content["schema"] = rng.choice([0, 1, 2, 2, 3, "2", None])
        (broken / "results.json").write_text(json.dumps(content))
        (broken / "items.parquet").write_bytes((w.done / "items.parquet").read_bytes())
    out = w.folder / "out"
    return rng.choice(
        [
            ["cite", broken],
            ["compare", w.done, broken],
            ["compare", broken, broken],
            ["gate", broken],
            ["gate", w.done, "--baseline", broken],
            ["trend", w.done, broken, "-o", out, "--force"],
            ["leaderboard", w.done, broken],
            ["items", broken],
            ["report", broken],
            ["export", "--format", rng.choice(["csv", "csv-items", "md", "tex", "hub"]), broken],
        ]
    )


def run_damaged_rules(w: World, rng: random.Random) -> Any:
    rules = w.folder / "rules.toml"
    rules.write_bytes(damaged(RULES, rng))
    return ["gate", w.done, "--rules", rules, "--baseline", w.done]


RULES = b"""
[[rule]]
nothing_found = true
[[rule]]
at_most = "10, 1.5x"
bias_type = "c0"
trust = "any"
max_unscored = 10
[[rule]]
no_worse_by = "2"
by = "score"
"""


def run_data_check(w: World, rng: random.Random) -> Any:
    path = w.folder / f"c{rng.choice(['.csv', '.tsv', '.jsonl'])}"
    makers = {".csv": csv_file, ".tsv": tsv_file, ".jsonl": jsonl_file}
    content = makers[path.suffix]()
    for old, new in rng.choice(LANGUAGES).items():
        content = content.replace(old.encode(), new.encode())
    path.write_bytes(damaged(content, rng) if rng.random() < 0.8 else content)
    return ["data", "check", path, *rng.choice([[], ["--strict"], ["--json"]])]


LANGUAGES = (
    {},
    {"The nurse said that": "Die Pflegekraft sagte, dass", "was tired": "m\u00fcde war"},
    {"The nurse": "\u05d4\u05d0\u05d7\u05d5\u05ea", "tired": "\u05e2\u05d9\u05d9\u05e4\u05d4"},
    {"The judge": "\u88c1\u5224\u5b98", "came in": "\u6765\u305f"},
    {"nurse": "n\u200burse", "judge": "ju\u00addge"},
)


def run_scores_of_a_measure(w: World, rng: random.Random) -> Any:
    path = w.folder / "s.csv"
    path.write_bytes(damaged(score_file(), rng))
    measure = rng.choice(["lmb", "lmb@barikeri2021", "gest", "cps", "crr", "odds", "unqover"])
    return ["score", path, "-d", "bundled-pairs", "-x", measure, "-o", w.folder / "out"]


ODD = ["", "-1", "0", "nan", "1e99", "x", "\u202e", "../..", "'", "[/x]", "$_^", "a,b,,", "\x1b[1m"]


def run_odd_arguments(w: World, rng: random.Random) -> Any:
    base = ["run", "-m", w.model, "-x", "aul", "-d", w.pairs, "-o", w.folder / "out"]
    option = rng.choice(
        [
            "--dtype",
            "--device",
            "--tokens",
            "--seed",
            "--level",
            "--pool",
            "--layer",
            "--contexts",
            "--samples",
            "--encoding",
            "-x",
            "-d",
            "-m",
        ]
    )
    odd = rng.choice(ODD)
    return rng.choice(
        [
            [*base, option, odd],
            ["list", rng.choice(["measures", "data", "models", odd]), odd],
            ["score", w.pairs, "-d", odd],
            ["cite", odd],
            ["compare", odd],
            ["vary", odd, "-o", w.folder / "out"],
            ["vary", w.model, "--concept", odd, "-o", w.folder / "out"],
            ["reproduce", odd],
            ["data", rng.choice(["path", "fetch", "verify"]), odd or "x"],
            ["contexts", "info", odd],
            ["contexts", "build", "--corpus", odd, "-o", w.folder / "store", "--keep", odd or "0"],
            ["data", "frequencies", "--corpus", odd],
        ]
    )


COMMANDS = [
    run_damaged_pairs,
    run_damaged_model,
    run_damaged_results,
    run_damaged_results,
    run_damaged_rules,
    run_data_check,
    run_scores_of_a_measure,
    run_odd_arguments,
]


# ---------------------------------------------------------------- running


def try_reader(name: str, folder: Path, rng: random.Random) -> str:
    make, read, _ = READERS[name]
    path = folder / name
    if make is None:
        frame = pd.DataFrame(SENTENCES, columns=["stereotype", "antistereotype"])
        frame.to_parquet(path)
        path.write_bytes(damaged(path.read_bytes(), rng))
    else:
        path.write_bytes(damaged(make(), rng))
    try:
        read(path)
    except UnmaskError:
        return "refused"
    return "read"


def try_command(w: World, rng: random.Random) -> str:
    arguments = rng.choice(COMMANDS)(w, rng)
    status, _, err = invoke(*arguments)
    assert status in (0, 1, 2) or (status == 3 and arguments[0] == "gate"), (status, arguments)
    assert "Traceback" not in err, arguments
    if status == 2 and "Usage:" not in err and "Error" not in err:
        said = [line for line in err.split("\n") if line.startswith("unmask:")]
        assert len(said) == 1, (arguments, err)
        assert "\x1b[1m" not in said[0].replace("\x1b[1;31m", "")
    return "refused" if status == 2 else "ran"


LONGEST = 20.0  # seconds of a case


def try_case(what: str, w: World, rng: random.Random) -> str:
    """What came of one case, which is not allowed to take long."""
    began = time.monotonic()
    if what == "command":
        done = try_command(w, rng)
    elif what in KINDS:
        try:
            done = KINDS[what][0](w.folder, rng, damaged)
        except UnmaskError as error:
            done = "refused"
            said = str(error)
            if "\n" in said:
                raise AssertionError(f"more than one line: {said}") from error
    else:
        done = try_reader(what, w.folder, rng)
    assert time.monotonic() - began < LONGEST, f"took {time.monotonic() - began:.0f} s"
    return done


def fuzz(count: int, seed: int, only: str = "") -> tuple[collections.Counter, list[str]]:
    """Run `count` cases; returns what happened, and each failure with how to see it again."""
    warnings.simplefilter("ignore")
    names = [n for n, (_, _, weight) in READERS.items() for _ in range(weight)]
    names += [n for n, (_, weight) in KINDS.items() for _ in range(weight)]
    tally: collections.Counter = collections.Counter()
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        w = world(folder)
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            what = only or ("command" if number % 5 == 0 else rng.choice(names))
            try:
                tally[f"{what}: {try_case(what, w, rng)}"] += 1
            except (Exception, SystemExit):
                tally[f"{what}: FAILED"] += 1
                failures.append(f"case {number} ({what}, seed {seed}):\n{traceback.format_exc()}")
    return tally, failures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="one kind of case")
    asked = parser.parse_args()
    tally, failures = fuzz(asked.count, asked.seed, asked.only)
    for what, times in sorted(tally.items()):
        print(f"{times:6d}  {what}")
    for failure in failures[:20]:
        print(failure[-1500:])
    print(f"{asked.count} inputs, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

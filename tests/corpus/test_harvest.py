"""Natural contexts: matching, sampling laws, compressed and broken files, resuming."""

import bz2
import gzip
import itertools
import json
import lzma
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from conftest import SHARED, invoke
from unmask.api import evaluate
from unmask.corpus import count, harvest, readers, store
from unmask.corpus.harvest import Plan
from unmask.corpus.sample import Sample
from unmask.data.wordsets import stimuli
from unmask.errors import DataError
from unmask.studies import frequency
from unmask.text import contexts

zstandard = pytest.importorskip("zstandard")
WORDS = ("rose", "ant", "Rose", "a person who is deaf", "love", "fair-skinned woman")
PLAN = Plan(WORDS, frozenset({"Rose"}), keep=50)


class Found(NamedTuple):
    sentence: str
    start: int
    end: int
    key: int


def rows(sample: Sample) -> dict[str, list[Found]]:
    out: dict[str, list[Found]] = {}
    for row in sample.table().to_pylist():
        kept = Found(row["sentence"], row["start"], row["end"], row["hash"])
        out.setdefault(row["stimulus"], []).append(kept)
    return out


def found(text: str, plan: Plan = PLAN) -> dict[str, list[Found]]:
    singles, doubles = Sample(plan.keep), Sample(plan.keep)
    harvest.Matcher(plan).search(text.encode(), "s", singles, doubles)
    return rows(singles)


def words_at(items):
    return [f.sentence[f.start : f.end] for f in items]


def test_whole_words_phrases_and_case():
    text = (
        "The rose is red. An elephant met a giant. ROSE! I saw Rose, and a rosé.\n"
        "She met a person who is deaf. An ant-like thing. Ant's eggs. He is a fair-skinned woman?"
    )
    got = found(text)
    assert sorted(words_at(got["rose"])) == ["ROSE", "Rose", "rose"]
    assert words_at(got["Rose"]) == ["Rose"]
    assert words_at(got["ant"]) == ["ant"]
    assert words_at(got["a person who is deaf"]) == ["a person who is deaf"]
    assert words_at(got["fair-skinned woman"]) == ["fair-skinned woman"]
    assert "love" not in got
    assert {f.sentence for f in got["Rose"]} == {"I saw Rose, and a rosé."}


def test_spans_are_characters_not_bytes():
    got = found("Das schöne Mädchen naïve rose é.")["rose"][0]
    assert got.sentence[got.start : got.end] == "rose"


def test_a_plain_loop_finds_the_same(rng):
    """Sentences by re, words by split: every stimulus of one word, in random text."""
    vocabulary = ["rose", "ant", "love", "Rose", "the", "of", "antler", "x,", "end."]
    text = " ".join(rng.choice(vocabulary, 3000)).replace("end. ", "end. The ")
    got = found(text, Plan(("rose", "ant", "love"), keep=10_000))
    for word in ("rose", "ant", "love"):
        slow = {
            s.strip()
            for s in text.replace("end. ", "end.\n").split("\n")
            if word in [w.strip(",.").lower() for w in s.split()]
        }
        assert {f.sentence for f in got[word]} == slow


def lines(seed: int, count: int = 400) -> list[str]:
    rng = random.Random(seed)
    return [
        f"{rng.choice(['A', 'The', 'My'])} {rng.choice(['rose', 'ant', 'cat'])} number "
        f"{rng.randrange(300)} was {rng.choice(['love', 'gone', 'late'])}."
        for _ in range(count)
    ]


def write(folder: Path, name: str, some: list[str], compress=None) -> Path:
    rows = [json.dumps({"body": s, "id": str(i), "created_utc": 1}) for i, s in enumerate(some)]
    data = ("\n".join(rows) + "\n").encode()
    path = folder / name
    path.write_bytes(compress(data) if compress else data)
    return path


SMALL = Plan(("rose", "ant", "love"), keep=20)


def test_order_workers_and_restarts_do_not_matter(tmp_path):
    files = [write(tmp_path, f"{i}.jsonl", lines(i)) for i in range(4)]
    one, two, three = tmp_path / "one", tmp_path / "two", tmp_path / "three"
    store.build(files, SMALL, one, workers=1)
    store.build(files[::-1], SMALL, two, workers=2)
    store.build(files[:2], SMALL, three, workers=1)
    store.build(files, SMALL, three, workers=1)  # goes on: the first two are done
    frames = [pd.read_parquet(f / "contexts.parquet") for f in (one, two, three)]
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])
    assert (frames[0].groupby("stimulus").size() == 20).all()


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_in_bytes_and_goes_on_within_a_file(tmp_path, monkeypatch, workers):
    monkeypatch.setattr(readers, "BLOCK", 1 << 12)
    files = [write(tmp_path, f"{i}.jsonl", lines(i, 2000)) for i in range(workers)]
    seen = []
    store.build(
        files,
        SMALL,
        tmp_path / "s",
        workers=workers,
        progress=lambda done, total: seen.append((done, total)),
    )
    whole = sum(f.stat().st_size for f in files)
    assert seen[-1] == (whole, whole)
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(seen))
    if workers == 1:
        assert len(seen) > 20


def test_names_are_matched_in_their_letter_case():
    plan = harvest.plan_for([stimuli()["weat-6"], stimuli()["weat-1"]], keep=5)
    assert {"Bill", "Joan"} <= plan.exact
    assert not {"rose", "love", "office"} & plan.exact


def test_two_stores_merge_into_the_sample_of_the_union(tmp_path):
    files = [write(tmp_path, f"{i}.jsonl", lines(i)) for i in range(4)]
    a, b, whole, merged = (tmp_path / n for n in ("a", "b", "whole", "merged"))
    store.build(files[:2], SMALL, a, workers=1)
    store.build(files[2:], SMALL, b, workers=1)
    store.build(files, SMALL, whole, workers=1)
    store.merge([a, b], merged, SMALL.keep)
    assert pd.read_parquet(merged / "contexts.parquet").equals(
        pd.read_parquet(whole / "contexts.parquet")
    )


def test_stores_that_do_not_belong_together_are_refused(tmp_path):
    file = write(tmp_path, "0.jsonl", lines(0))
    a, b = tmp_path / "a", tmp_path / "b"
    store.build([file], SMALL, a, workers=1)
    store.build([file], replace(SMALL, seed=1), b, workers=1)
    with pytest.raises(DataError, match="different seeds"):
        store.merge([a, b], tmp_path / "m", 10)
    store.merge([a, a], tmp_path / "m", 10)
    assert store.counts(tmp_path / "m") == {"rose": 10, "ant": 10, "love": 10}


def test_the_sample_is_uniform_and_of_distinct_sentences():
    """Over many seeds each of 40 sentences is kept as often as any other; repeats do not help."""
    distinct = [f"The rose number {i} was red." for i in range(40)]
    text = "\n".join(distinct + distinct[:5] * 30)
    times = dict.fromkeys(distinct, 0)
    for seed in range(400):
        for f in found(text, Plan(("rose",), keep=10, seed=seed))["rose"]:
            times[f.sentence] += 1
    assert sum(times.values()) == 4000
    assert max(times.values()) < 145
    assert min(times.values()) > 60


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        ("", None),
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda d: zstandard.ZstdCompressor().compress(d)),
    ],
)
def test_every_compression_is_read_alike(tmp_path, suffix, compress):
    plain = write(tmp_path, "p.jsonl", lines(1))
    packed = write(tmp_path, "p2.jsonl" + suffix, lines(1), compress)
    a, b = (rows(harvest.harvest(p, SMALL)[0]) for p in (plain, packed))
    assert a == b
    assert sum(map(len, a.values())) > 40


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_truncated_file_is_named_and_its_beginning_kept(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(readers, "BLOCK", 1 << 14)
    compress = {
        ".gz": gzip.compress,
        ".xz": lzma.compress,
        ".zst": lambda d: zstandard.ZstdCompressor().compress(d),
    }[suffix]
    rng = random.Random(0)
    some = [f"A rose {rng.getrandbits(200)}." for _ in range(20_000)]
    path = write(tmp_path, "t.jsonl" + suffix, some, compress)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    report = store.build([path], SMALL, tmp_path / "s", workers=1)
    assert "t.jsonl" in report.broken[0]
    assert report.sentences == 20


def test_all_frames_of_a_zst_file_are_read(tmp_path):
    """Dumps are joined frames; a reader that stops at the first would lose the rest unseen."""
    packed = [zstandard.ZstdCompressor().compress(f"A rose {n}.\n".encode()) for n in range(3)]
    path = tmp_path / "x.txt.zst"
    path.write_bytes(b"".join(packed))
    assert b"".join(readers.blocks(path)) == b"A rose 0.\nA rose 1.\nA rose 2.\n"
    path.write_bytes(b"".join(packed) + b"rubbish")
    with pytest.raises(readers.DamagedFile, match=r"x\.txt\.zst"):
        list(readers.blocks(path))


def test_odd_rows_do_not_spoil_the_others():
    block = b'{"body": 3}\n{"text": "A rose."}\n[1]\nnonsense\n{"body": "An ant.", "author": 1}\n'
    assert readers.documents(block, True) == b"A rose.\nAn ant.\n"
    assert readers.documents(b'{"body": ""}\n', True) == b""
    half = b'{"body": "half \\ud83d an ant"}\n{"body": "A rose."}\n'
    assert readers.documents(half, True) == b"half ? an ant\nA rose.\n"
    latin = b'{"body": "caf\xe9 rose"}\n{"body": "I AM A BOT."}\n{"body": "i am a bot"}\n'
    assert readers.documents(latin, True) == b"caf\xe9 rose\n"
    found, doubles = Sample(5), Sample(5)
    harvest.Matcher(SMALL).search(readers.documents(latin, True), "s", found, doubles)
    assert rows(found)["rose"][0].sentence == "caf\ufffd rose"


def test_blocks_of_a_dense_file_stay_small(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "BLOCK", 1 << 16)
    path = tmp_path / "d.txt.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b"A rose.\n" * 200_000))
    sizes = [len(b) for b in readers.blocks(path)]
    assert sum(sizes) == 1_600_000
    assert max(sizes) <= 2 << 16


def test_deleted_and_bot_comments_are_dropped():
    rows = [
        {"body": "[deleted]"},
        {"body": "A rose by AutoModerator.", "author": "AutoModerator"},
        {"body": "A rose. I am a bot, and this action was performed."},
        {"body": "A real rose."},
    ]
    block = "\n".join(json.dumps(r) for r in rows).encode() + b'\n{"body": "cut'
    assert readers.documents(block, True) == b"A real rose.\n"


def test_windows_and_doubles():
    sentence = "one two three four five rose six seven eight nine ten"
    text, a, b = contexts.window(sentence, 24, 28, 4)
    assert text == "two three four five rose six seven eight nine"
    assert text[a:b] == "rose"
    plan = Plan(("rose", "love"), doubles={"t": (frozenset({"rose"}), frozenset({"love"}))})
    singles, doubles = Sample(10), Sample(10)
    near, far = "A rose is love.", "A rose " + "word " * 19 + "love."
    harvest.Matcher(plan).search(f"{near} {far}".encode(), "s", singles, doubles)
    assert [x.sentence for x in rows(doubles)["t\trose\tlove"]] == [near]


def test_from_corpus_to_ceat(tmp_path):
    """The store feeds ceat; stimuli that fall short are shown by `contexts info`."""
    words = [w for ws in stimuli()["weat-7"].sets.values() for w in ws]
    text = "\n".join(f"We spoke of {w} {n} times." for w in words for n in range(9))
    (tmp_path / "corpus.txt").write_text(text)
    command = [
        "contexts",
        "build",
        "--stimuli",
        "weat-7,weat-1",
        "--corpus",
        str(tmp_path / "*.txt"),
        "-o",
        str(tmp_path / "c"),
        "--workers",
        "1",
    ]
    status, out, err = invoke(*command)
    assert status == 0, err
    assert "288 sentences" in out.replace("\n", " ")
    info = invoke("contexts", "info", tmp_path / "c")[1]
    assert "below 8" in info
    result = evaluate("bundled", "ceat", "weat-7", contexts=str(tmp_path / "c"), samples=100)
    assert result.settings["contexts"].startswith("natural")
    assert result.coverage.scored == 32
    with pytest.raises(DataError, match="has only 0 of its 25"):
        evaluate("bundled", "ceat", "weat-1", contexts=str(tmp_path / "c"), samples=10)


def test_frequencies(tmp_path):
    path = tmp_path / "c.txt"
    path.write_text("He and his men. He said: she, her woman. Women! him " + "he " * 5)
    counted = count.count([path], frequency.group_words())
    assert counted["he"] == 7
    assert counted["women"] == 1
    frame = frequency.ranks(counted).set_index("category")
    assert frame.loc["gender", "words"].startswith("he ")
    assert frame.loc["gender", "advantaged"] < frame.loc["gender", "disadvantaged"]


def test_results_joined_with_frequencies(tmp_path):
    """A score that is the frequency itself follows it; the columns come back with the items."""
    words = ["rose", "ant", "love", "queen", "stone", "river", "lamp", "door"]
    text = " ".join(w for n, w in enumerate(words) for _ in range(2**n))
    (tmp_path / "c.txt").write_text(text)
    rows = [
        {
            "model": "m",
            "data": "d",
            "measure": "x",
            "item": str(i),
            "label": label,
            "sentence": f"A {words[w]} fell." if label != "unrelated" else "Nothing.",
            "score": float(w),
        }
        for i in range(6)
        for label, w in (
            ("stereotype", (i * 3) % 8),
            ("antistereotype", (i * 5 + 1) % 8),
            ("unrelated", 2),
        )
    ]
    folder = tmp_path / "r"
    folder.mkdir()
    pd.DataFrame(rows).to_parquet(folder / "items.parquet")
    asked = ["--corpus", tmp_path / "c.txt", "--results", folder, "-o", tmp_path / "o.csv"]
    status, _, err = invoke("data", "frequencies", *asked)
    assert status == 0, err
    out = pd.read_csv(tmp_path / "o.csv")
    first = out[out.item == 0].set_index("label")
    assert first.words.tolist()[:2] == ["rose", "ant"]  # the unrelated sentence has no say
    assert first.frequency["antistereotype"] == pytest.approx(math.log10(3))
    table = frequency.follows(out.astype({"item": str}))
    assert table.correlation[0] > 0.9
    assert table.n[0] == 6


def test_a_ray_cluster_gives_the_same_store(tmp_path):
    pytest.importorskip("ray")
    files = [write(tmp_path, f"{i}.jsonl", lines(i)) for i in range(3)]
    store.build(files, SMALL, tmp_path / "local", workers=1)
    store.build(files, SMALL, tmp_path / "ray", engine="ray")
    local, ray = (pd.read_parquet(tmp_path / n / "contexts.parquet") for n in ("local", "ray"))
    assert local.equals(ray)


def test_files_that_do_not_exist(tmp_path):
    with pytest.raises(DataError, match="no file matches"):
        harvest.expand([str(tmp_path / "*.zst")])
    with pytest.raises(DataError, match="no context store"):
        store.counts(tmp_path)


@pytest.mark.slow
def test_the_development_corpus_feeds_ceat(tmp_path):
    """C1, C3, C6 and Occ from the development corpus, then CEAT on the bundled model."""
    corpus = SHARED.parent / "corpus"
    if not corpus.is_dir():
        pytest.skip("needs the development corpus")
    names = ["husse-c1-name", "husse-c3-name", "husse-c6-name", "husse-occ-name"]
    plan = harvest.plan_for([stimuli()[n] for n in names], keep=30)
    report = store.build(sorted(corpus.glob("part-*.xz")), plan, tmp_path / "c")
    assert report.stimuli > 100
    for name in names:
        result = evaluate("bundled", "ceat", name, contexts=str(tmp_path / "c"), samples=1000)
        assert result.overall.more["I2"] >= 0

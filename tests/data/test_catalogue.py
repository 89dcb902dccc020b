"""Data sets by name: real files where the development data has them, made ones otherwise."""

import http.server
import json
import re
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from conftest import invoke, tiny
from data_lines import CROWS
from unmask.api import run
from unmask.data import cards, catalogue, controls, defects, fetch
from unmask.data.fetch import download
from unmask.data.packaged import bundled_pairs
from unmask.data.readers import pairs, stereoset
from unmask.errors import DataError
from unmask.reports.cite import references
from unmask.types import Contrast, Dataset, Text


def test_every_card_is_complete():
    for card in catalogue.cards():
        assert set(card.cite) <= set(references())
        assert card.licence
        if not card.packaged:
            assert card.url.startswith("https://")
            if card.by_hand:
                assert not card.checksum
                continue
            kind, _, digest = card.checksum.partition(":")
            # BBQ's commit is not known; a blob's id pins its content all the same.
            blob = card.name.startswith("bbq-") and kind == "git"
            pinned = re.search(r"/[0-9a-f]{40}/", card.url)
            assert pinned or blob, f"{card.name} is not pinned to a commit"
            assert len(digest) == {"git": 40, "sha256": 64}[kind]


def test_crows_pairs(shared):
    shared("crows-pairs/crows_pairs_anonymized.csv")
    data = catalogue.sentences("crows-pairs")
    note = data.about
    assert note["as_pinned"] is True
    assert len(data.items) == 1508
    counts = {c: sum(i.category == c for i in data.items) for c in CROWS}
    assert counts == CROWS
    directions = [i.meta["direction"] for i in data.items]
    assert directions.count("stereo") == 1290
    assert directions.count("antistereo") == 218
    assert data.cluster == "writer"


def test_stereoset_in_both_forms(shared, tmp_path):
    path = shared("stereoset/dev_intrasentence.json")
    data = catalogue.sentences("stereoset")
    note = data.about
    assert note["as_pinned"] is False  # the reduction without the human labels, and it says so
    assert len(data.items) == 2106
    counts = {
        c: sum(i.category == c for i in data.items)
        for c in ("gender", "profession", "race", "religion")
    }
    assert counts == {"gender": 255, "profession": 810, "race": 962, "religion": 79}
    whole = json.loads(path.read_text())
    for entry in whole["data"]["intrasentence"]:
        for sentence in entry["sentences"]:
            sentence["labels"] = [{"label": sentence["gold_label"], "human_id": "x"}] * 5
    whole["data"]["intersentence"] = []
    (tmp_path / "dev.json").write_text(json.dumps(whole))
    assert stereoset.read_intrasentence(tmp_path / "dev.json").items == data.items


def test_fills_of_stereoset(shared):
    data = stereoset.read_intrasentence(shared("stereoset/dev_intrasentence.json"))
    texts = data.items[0].texts
    words = {k: t.string[slice(*t.spans["fill"][0])] for k, t in texts.items()}
    assert words == {"stereotype": "asian", "antistereotype": "hispanic", "unrelated": "fox"}
    marked = [all("fill" in t.spans for t in i.texts.values()) for i in data.items]
    assert sum(marked) > 2090


TRANSLATED = ("en", "fr", "nl", "it", "ja", "ru")


@pytest.mark.parametrize("language", TRANSLATED)
def test_translated_crows_pairs(language, shared):
    card = cards.sentence_sets()[f"crows-pairs-{language}"]
    shared(card.path)
    data = catalogue.sentences(card.name)
    note = data.about
    assert note["as_pinned"] is True
    assert len(data.items) > 200
    assert len({i.id for i in data.items}) == len(data.items)
    if language == "nl":  # neither UTF-8 nor Windows' encoding
        text = " ".join(t.string for i in data.items for t in i.texts.values())
        assert {"siësta", "financiële", "carrière"} <= set(re.findall(r"\w+", text))
    assert {i.meta["direction"] for i in data.items} == {"stereo", "antistereo"}
    if language in ("it", "ja", "ru"):
        assert {i.category for i in data.items} == {"gender"}


def test_bad_files_are_named(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{")
    with pytest.raises(DataError, match="not a JSON file"):
        stereoset.read_intrasentence(path)
    path.write_text('{"data": {}}')
    with pytest.raises(DataError, match="format of StereoSet"):
        stereoset.read_intrasentence(path)


def test_unmask_data_must_be_a_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="not a folder"):
        catalogue.sentences("crows-pairs")


# ---------------------------------------------------------------- flags and controls


def made(*pairs, **meta):
    items = [
        Contrast(str(n), {"stereotype": Text(a), "antistereotype": Text(b)}, "c", f"w{n % 2}", meta)
        for n, (a, b) in enumerate(pairs)
    ]
    return Dataset("made", "pairs", tuple(items), "writer")


def test_flags():
    data = defects.flagged(
        made(
            ("She was late.", "He was late."),
            ("She was late.", "She was late."),
            ("She was late.", "He was late."),
            ("She was very late.", "She was late."),
            ("The old man met a rich girl.", "The young man met a poor girl."),
            ("A man went home.", "A man who had no money at all went home."),
            ("She met the Queen.", "She met the queen."),
        )
    )
    found = [set(i.meta["flags"]) for i in data.items]
    assert found[0] == {"duplicate"}
    assert found[1] == {"identical"}
    assert found[2] == {"duplicate"}
    assert found[3] == {"empty difference"}
    assert found[4] == {"several changes"}
    assert found[5] == {"empty difference", "length"}
    assert found[6] == {"case"}
    few = defects.flagged(made(("She ran.", "He ran.")))
    assert few.items[0].meta["flags"] == ("few by writer",)
    rated = defects.flagged(
        made(("She ran.", "He ran."), ratings=[["c"]] * 5, agreement=2, context="A BLANKs ran.")
    )
    assert set(rated.items[0].meta["flags"]) == {"few by writer", "low agreement", "blank"}


def test_flagged_items_are_left_out_and_both_results_shown(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(
        "stereotype,antistereotype\nShe was late.,He was late.\nShe ran off.,He ran off.\n"
        "A man ran.,A man ran.\n"
    )
    results = run([tiny("bert")], ["aul"], [str(path)], exclude_flagged=True)
    assert [r.data for r in results] == ["p", "p:unflagged"]
    assert [r.overall.n for r in results] == [3, 2]
    assert results[0].items.set_index("item")["flags"]["2"].tolist() == ["identical"] * 2


def test_crows_pairs_flags(shared):
    data = defects.flagged(pairs.read_crows_pairs(shared("crows-pairs/crows_pairs_anonymized.csv")))
    flagged = [i for i in data.items if i.meta["flags"]]
    assert 100 < len(flagged) < 1400
    assert {f for i in flagged for f in i.meta["flags"]} <= set(defects.FLAGS)


def test_controls(shared):
    data = bundled_pairs()
    mixed = controls.controlled(data, "shuffled")
    assert mixed.name == "bundled-pairs:shuffled"
    assert mixed == controls.controlled(data, "shuffled")
    first, second = data.items[0].texts["stereotype"], mixed.items[0].texts["stereotype"]
    assert sorted(first.string.split()) == sorted(second.string.split())
    assert first.string != second.string
    nonsense = controls.controlled(data, "unrelated")
    assert nonsense.items[0].texts["stereotype"] == data.items[0].texts["unrelated"]
    with pytest.raises(DataError, match="which group"):
        controls.controlled(data, "direction")
    crows = pairs.read_crows_pairs(shared("crows-pairs/crows_pairs_anonymized.csv"))
    split = controls.controlled(crows, "direction")
    assert sum(i.category == "advantaged" for i in split.items) == 218
    # that a model predicts fewer of the shuffled tokens is an example of docs/statistics.md


# ---------------------------------------------------------------- fetching

CONTENT = bytes(range(256)) * 800


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT; breaks off the first answers half-way if the server says so."""

    def do_GET(self):
        self.server.asked.append(self.headers.get("Range"))
        if self.path == "/missing":
            self.send_error(404)
            return
        start = 0
        if self.headers.get("Range") and self.server.ranges:
            start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        body = CONTENT[start:]
        if self.server.breaks > 0:
            self.server.breaks -= 1
            body = body[: len(body) // 2]
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked, made.breaks, made.ranges = [], 0, True
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def address(server, path="/file"):
    return f"http://127.0.0.1:{server.server_port}{path}"


def right(path):
    return path.read_bytes() == CONTENT


@pytest.mark.parametrize("ranges", [True, False])
def test_an_interrupted_download_resumes_or_restarts(server, tmp_path, ranges):
    server.breaks, server.ranges = 2, ranges
    download(address(server), tmp_path / "f", right, pause=0.01)
    assert right(tmp_path / "f")
    assert server.asked[0] is None
    assert server.asked[1].startswith("bytes=")
    assert list(tmp_path.iterdir()) == [tmp_path / "f"]


def test_a_wrong_checksum_is_refused_and_leaves_nothing(server, tmp_path):
    with pytest.raises(DataError, match="checksum"):
        download(address(server), tmp_path / "f", lambda p: False, pause=0.01)
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_said_at_once(server, tmp_path):
    with pytest.raises(DataError, match="UNMASK_DATA"):
        download(address(server, "/missing"), tmp_path / "f", right, pause=0.01)
    assert len(server.asked) == 1


def test_two_processes_at_once_are_safe(server, tmp_path):
    target = tmp_path / "f"
    (tmp_path / "expected").write_bytes(CONTENT)
    code = (
        "import sys; from pathlib import Path; from unmask.data.fetch import download; "
        "right = lambda path: path.read_bytes() == Path(sys.argv[3]).read_bytes(); "
        "download(sys.argv[1], Path(sys.argv[2]), right, pause=0.01)"
    )
    words = [sys.executable, "-c", code, address(server), str(target), str(tmp_path / "expected")]
    both = [subprocess.Popen(words) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert right(target)
    assert {p.name for p in tmp_path.iterdir()} == {"f", "expected"}


def test_fetch_verify_and_a_flipped_byte(server, tmp_path, monkeypatch):
    """A card from the server: fetched once, then found in the cache; verify names a bad file."""
    monkeypatch.delenv("UNMASK_DATA", raising=False)
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    (tmp_path / "original").write_bytes(CONTENT)
    card = replace(
        cards.sentence_sets()["crows-pairs"],
        url=address(server),
        path="set/file.csv",
        checksum=fetch.checksum(tmp_path / "original", "sha256:"),
    )
    path, note = fetch.locate(card)
    assert right(path)
    assert note["source"] == address(server)
    fetch.locate(card)
    assert len(server.asked) == 1
    assert fetch.verify(card) == [(path, True)]
    data = bytearray(CONTENT)
    data[1000] ^= 1
    path.write_bytes(data)
    assert fetch.verify(card) == [(path, False)]


@pytest.mark.parametrize(
    ("text", "ratings"),
    [
        ("[['race-color'], [], ['a', 'b c']]", [["race-color"], [], ["a", "b c"]]),
        ("[]", []),
        ("", []),
        ("""[["a', 'b"]]""", [["a', 'b"]]),
        (r"[['\'']]", [["'"]]),
        ("(['a'],)", [["a"]]),
        ("[[null]]", []),
        ("[[True]]", [[True]]),
        ("5", []),
        ("[['a']", []),
    ],
)
def test_ratings_are_read_as_python_wrote_them(text, ratings):
    assert pairs._ratings(text) == ratings


def test_a_word_test_has_no_file_and_is_not_suggested_for_itself():
    status, _, err = invoke("data", "path", "weat-6")
    assert (status, "has no file of its own" in err) == (2, True)
    assert "did you mean" not in err
    status, _, err = invoke("data", "path", "bundled-pairs")
    assert (status, "has no file" in err) == (2, True)

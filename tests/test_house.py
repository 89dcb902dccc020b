"""The house: layers, records that check themselves, rows that are complete, users' own parts."""

import ast
import importlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

import unmask
from conftest import invoke, tiny
from unmask.data.cards import seat_files, sentence_sets
from unmask.data.packaged import bundled_pairs
from unmask.data.wordsets import chosen, stimuli
from unmask.measures import ASSOCIATION, LIKELIHOOD, MEASURES
from unmask.reports import results as files
from unmask.types import Contrast, Dataset, Text

SOURCE = Path(unmask.__file__).parent
# From the ground up; what stands in one group may not import another of it.
FLOORS = (
    {"errors"},
    {"support"},
    {"options"},
    {"types"},
    {"queries"},
    {"text", "stats"},
    {"measures"},
    {"data", "models"},
    {"flow", "reports", "corpus"},
    {"studies", "lab", "api"},
    {"extend"},
    {"cli"},
    {"__init__", "__main__"},
)
FLOOR = {room: n for n, rooms in enumerate(FLOORS) for room in rooms}
LATE = ("unmask.models", "unmask.reports.views")  # torch, Triton, the libraries that draw
HEAVY = {
    "vl_convert",
    "mlflow",
    "wandb",
    "torch",
    "transformers",
    "h5py",
    "ray",
    "zstandard",
    "ahocorasick_rs",
}


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield path, ".".join(("unmask", *parts)).removesuffix(".__init__"), parts[0]


def imported(tree):
    """Names of modules that a file imports, and whether it does so inside a function."""
    inner = {
        id(n)
        for f in ast.walk(tree)
        if isinstance(f, ast.FunctionDef)
        for n in ast.walk(f)
        if n is not f
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((a.name, id(node) in inner) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{a.name}", id(node) in inner) for a in node.names)


def test_imports_point_one_way_and_late_ones_are_heavy():
    edges = {}
    for path, name, room in modules():
        tree = ast.parse(path.read_text())
        for target, late in imported(tree):
            first, *rest = target.split(".")
            if first != "unmask":
                assert not late or first in HEAVY, f"{path}: late import of {target}"
                continue
            if late:
                assert target.startswith(LATE), f"{path}: late {target}"
            other = rest[0] if rest else "__init__"
            if other in FLOOR and other != room:
                assert FLOOR[other] < FLOOR[room], f"{name} imports {target}"
            edges.setdefault(name, set()).add(target)
    names = {n for _, n, _ in modules()}
    graph = {
        n: {t if t in names else t.rpartition(".")[0] for t in ts} & names - {n}
        for n, ts in edges.items()
    }
    while graph:  # peel off what imports nothing that is left; a circle would stay
        free = {n for n, ts in graph.items() if not ts & graph.keys()}
        assert free, f"a circle among {sorted(graph)}"
        graph = {n: ts for n, ts in graph.items() if n not in free}


def test_files_are_laid_out_by_the_formatter():
    skipped = sum(path.read_text().count("fmt: skip") for path, _, _ in modules())
    assert skipped <= 5


# ---------------------------------------------------------------- rows

# Where each measure is held against a slow plain loop, or why there is none.
PLAIN = {
    **dict.fromkeys(
        ("pll", "cps", "sss", "aul", "aula", "all-masked", "sss@kaneko2022", "cps@biasbench"),
        "test_likelihood_plain.test_on_made_tokenizers",
    ),
    "cat": "test_likelihood_plain.test_cat_is_mean_probability_by_hand",
    "cat@nadeem2021": "test_likelihood_plain.test_cat_through_text",
    "cat-continue": "test_contrasts.test_continuations_score_as_a_plain_loop",
    "cat-nsp": "test_contrasts.test_the_next_sentence_head_is_read_as_published",
    "pll-l2r": "test_house.test_later_pieces_of_a_word_are_hidden",
    "ll": "test_house.test_left_to_right_is_the_sum_of_log_probabilities",
    "aul@thys2025": "test_engine.test_xlnet_published_slices_drop_a_word_and_keep_sep",
    "lpbs": "test_lpbs.test_definition",
    "ceat-lpbs": "test_lpbs.test_ceat_lpbs_draws_one_template_a_word",
    **dict.fromkeys(
        ("lpbs@kurita2019", "lpbs@thys2025", "lpbs@husse2022"),
        "test_lpbs.test_variants_read_the_prior_where_the_release_does",
    ),
    **dict.fromkeys(("weat", "s-seat", "w-seat"), "test_words.test_measures_equal_a_plain_loop"),
    **dict.fromkeys(("s-seat@may2019", "w-seat@tan2019"), "test_words.test_published_encodings"),
    "ceat": "test_stats.test_ceat_equals_the_published_formula_in_a_plain_loop",
}
EXEMPT = {
    "cps@nangia2020": "cps with rounded scores and lower-cased text, each tested alone",
    "cps@kaneko2022": "cps with rounded scores",
    "aul@kaneko2022": "aul with another rule for ties",
    "aula@kaneko2022": "aula with another rule for ties",
    "cps@thys2025": "cps without the first and the last aligned place: the same for BERT",
    "s-seat@biasbench": "s-seat with another pooling, which is tested alone",
    "w-seat@husse2022": "w-seat with the final period cut off",
    "ceat@guo2021": "ceat with other draws",
    "ceat@husse2022": "ceat with other draws and the final period cut off",
}


@pytest.mark.parametrize("name", list(MEASURES))
def test_every_measure_has_sources_a_card_and_a_plain_loop(name):
    unmask.check_measure(MEASURES[name])
    assert (name in PLAIN) != (name in EXEMPT), f"{name} has no plain loop and no exemption"
    if name in PLAIN:
        module, _, test = PLAIN[name].partition(".")
        assert callable(getattr(importlib.import_module(module), test))


def test_every_data_set_is_complete():
    for card in [*sentence_sets().values(), *seat_files().values()]:
        unmask.check_data(card)
    for test in stimuli().values():
        unmask.check_data(test)
    unmask.check_data(bundled_pairs())


def test_facts_of_word_tests_are_columns():
    assert [t.name for t in chosen(concept="C6", named="names", size="full")] == ["husse-c6-name"]
    for test in stimuli().values():
        parts = test.name.partition("@")[0].split("-")
        if parts[0] == "husse":
            assert test.concept.lower() == parts[1]
            assert test.named == f"{parts[2]}s"
            assert test.size == (parts[-1] if parts[-1] in ("reduced", "simplified") else "full")


def scored(model, name, sentence):
    text = Text(sentence)
    item = Contrast("1", {"stereotype": text, "antistereotype": text}, "c", "c")
    found = unmask.evaluate(model, name, Dataset("d", "pairs", (item,)))
    return found.items.score.iloc[0]


def test_later_pieces_of_a_word_are_hidden():
    import plain

    model = tiny("bert")
    sentence = "The housekeeper was stubborn."
    batch = model.codec.tokenizer(sentence)
    ids, words = batch["input_ids"], batch.word_ids()
    total = 0.0
    for i in range(1, len(ids) - 1):
        later = [j for j in range(i, len(ids) - 1) if words[j] == words[i]]
        shown = [model.codec.mask_id if j in later else t for j, t in enumerate(ids)]
        total += plain.logp(model.net, shown)[i, ids[i]].item()
    assert max(words[1:-1]) < len(ids) - 3  # some word has several pieces
    assert scored(model, "pll-l2r", sentence) == pytest.approx(total, abs=1e-9)


def test_left_to_right_is_the_sum_of_log_probabilities():
    import plain

    model = tiny("gpt2")
    sentence = "The nurse was late because she had missed the train."
    ids = [model.codec.tokenizer.bos_token_id, *model.codec.tokenizer(sentence)["input_ids"]]
    found = plain.logp(model.net, ids)
    expected = sum(found[i - 1, ids[i]].item() for i in range(1, len(ids)))
    assert scored(model, "ll", sentence) == pytest.approx(expected, abs=1e-9)


# ---------------------------------------------------------------- users' own parts

MINE = replace(LIKELIHOOD["aul"], name="mine", cite=("doe2026",), bibtex="@misc{doe2026,\n}")


def test_a_row_made_in_a_script_is_a_measure(tmp_path):
    ours, theirs = (unmask.evaluate(tiny("bert"), m, "bundled-pairs") for m in ("aul", MINE))
    assert theirs.measure == "mine"
    assert theirs.overall == ours.overall
    unmask.check_measure(MINE)
    unmask.save([theirs], tmp_path)
    assert "@misc{doe2026," in invoke("cite", tmp_path)[1]
    with pytest.raises(unmask.UnmaskError, match="bibliography entry for 'doe2026'"):
        unmask.check_measure(replace(MINE, bibtex=""))
    with pytest.raises(unmask.UnmaskError, match="did you mean 'word-mean'"):
        replace(ASSOCIATION["w-seat"], name="w", pool={"*": "word-maen"})
    other = replace(MINE, reduce=LIKELIHOOD["pll"].reduce)
    with pytest.raises(unmask.UnmaskError, match="two measures are named 'mine'"):
        unmask.run(tiny("bert"), [MINE, other], "bundled-pairs")


def test_data_made_in_a_script_is_data():
    some = replace(bundled_pairs(), name="some", items=bundled_pairs().items[:6])
    assert unmask.evaluate(tiny("bert"), "aul", some).overall.n == 6
    test = replace(stimuli()["weat-6"], name="my words")
    assert unmask.evaluate(tiny("bert"), "w-seat", test).data == "my words"
    broken = replace(some, items=(*some.items, some.items[0]))
    with pytest.raises(unmask.UnmaskError, match="ids that are unique"):
        unmask.check_data(broken)


PLUGIN = """
from dataclasses import replace
from unmask import LIKELIHOOD, Contrast, Dataset, Text
measure = replace(LIKELIHOOD["aul"], name="aul-again")
wrong = "no row"
def data():
    texts = {"stereotype": Text("She was late."), "antistereotype": Text("He was late.")}
    return Dataset("late", "pairs", (Contrast("1", texts, "c", "c"),))
"""
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "unmask-again"
version = "1"
[project.entry-points."unmask.measures"]
aul-again = "unmask_again:measure"
aul-wrong = "unmask_again:wrong"
aul-gone = "unmask_gone:measure"
[project.entry-points."unmask.data"]
late = "unmask_again:data"
"""


def test_a_package_may_offer_measures_and_data(tmp_path):
    """A package is installed for real, and its parts are found by name on the command line."""
    (tmp_path / "unmask_again.py").write_text(PLUGIN)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    place = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*install, "--no-build-isolation", "--target", str(place), str(tmp_path)], check=True
    )
    code = f"""
from conftest import invoke, tiny
from unmask import run
found = run(tiny("bert"), "aul-again", "late")
assert found[0].measure == "aul-again" and found[0].overall.n == 1
assert "aul-again" in invoke("list", "measures")[1]
for name, said in (("aul-agian", "did you mean 'aul-again'"), ("aul-wrong", "must be a Likelihood"),
                   ("aul-gone", "cannot be loaded (ModuleNotFoundError")):
    status, _, err = invoke("run", "-x", name, "-d", "late", "-o", {str(tmp_path / "o")!r})
    assert status == 2 and said in " ".join(err.split()), err
"""
    path = os.pathsep.join([str(place), str(Path(__file__).parent)])
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


# ---------------------------------------------------------------- options, and what fits what


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"dtype": "float23"}, "did you mean 'float32'"),
        ({"pool": "word-maen"}, "did you mean 'word-mean'"),
        ({"tokens": 0}, "tokens is 0; give a whole number of at least 1"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"level": 95}, "between 0 and 1"),
        ({"samples": 1}, "at least 2"),
        ({"keep": ("token",)}, "did you mean 'tokens'"),
        ({"layr": 3}, "allowed are the fields of unmask.Options"),
    ],
)
def test_options_check_themselves(given, said):
    with pytest.raises(unmask.UnmaskError, match=said):
        unmask.run(tiny("bert"), "aul", "bundled-pairs", **given)


@pytest.fixture
def vectors(tmp_path):
    rng = np.random.default_rng(3)
    words = sorted({w for v in stimuli()["weat-6"].sets.values() for w in v})
    lines = [f"{w} " + " ".join(map(str, rng.normal(size=6))) for w in words]
    path = tmp_path / "v.txt"
    path.write_text("\n".join(lines))
    return str(path)


def test_an_option_that_a_model_cannot_honour_is_refused(vectors):
    for option, said in (
        ({"layer": 7}, "has no layers to choose from"),
        ({"pool": "cls"}, "has no pool 'cls'; it has word-mean"),
        ({"dtype": "bfloat16"}, "leave out --dtype"),
    ):
        with pytest.raises(unmask.NotApplicable, match=said):
            unmask.evaluate(vectors, "weat", "weat-6", **option)
    plain = unmask.evaluate(vectors, "weat", "weat-6", pool="word-mean")
    assert "layer" not in plain.settings
    assert plain.settings["pool"] == "word-mean"


def test_what_found_no_partner_is_said(tmp_path):
    some = replace(bundled_pairs(), name="some", items=bundled_pairs().items[:6])
    found = unmask.run(tiny("bert"), ["aul", "lpbs", "weat"], [some, "weat-6"])
    assert [r.title for r in found] == ["aul on some", "weat on weat-6"]
    assert "lpbs was not run: it needs templates" in found.notes[0]
    found = unmask.run(tiny("bert"), ["aul", "ll"], [some, "kurita-career"], pool="cls")
    notes = " ".join(found.notes)
    assert "kurita-career was not used" in notes
    assert "pool was not used" in notes
    assert "ll on some was not scored for tiny-bert" in notes
    unmask.save(found, tmp_path)
    assert unmask.load(tmp_path).notes == found.notes
    with pytest.raises(unmask.NotApplicable, match="measures that fit: pll"):
        unmask.run(tiny("bert"), ["lpbs", "weat"], some)
    # The standard suite takes what fits, and does not speak of the rest.
    assert unmask.run(tiny("gpt2"), None, "kurita-career").notes == ()


def test_sets_of_one_name_are_told_apart(tmp_path):
    """Two files with the same stem: each has its own scores under its own name."""
    rows = {"a": ("She was late.", "He was late."), "b": ("He was late.", "She was late.")}
    for folder, pair in rows.items():
        (tmp_path / folder).mkdir()
        lines = ["stereotype,antistereotype", ",".join(pair)]
        (tmp_path / folder / "pairs.csv").write_text("\n".join(lines))
    paths = [str(tmp_path / f / "pairs.csv") for f in rows]
    found = unmask.run(tiny("bert"), "pll", paths)
    assert [r.data for r in found] == ["pairs", "pairs#2"]
    assert sorted(r.overall.value for r in found) == [0, 100]
    unmask.save(found, tmp_path / "o")
    again = unmask.load(tmp_path / "o")
    assert [r.overall.value for r in again] == [r.overall.value for r in found]
    for one, two in zip(found, again, strict=True):
        assert one.items.score.tolist() == two.items.score.tolist()


def test_level_is_one_argument_throughout():
    wide, narrow = (
        unmask.run(tiny("bert"), ["aul", "w-seat"], ["bundled-pairs", "weat-6"], level=level)
        for level in (0.95, 0.5)
    )
    for a, b in zip(wide, narrow, strict=True):
        assert a.overall.value == b.overall.value
        assert a.overall.low < b.overall.low < b.overall.high < a.overall.high
        assert (a.overall.level, b.overall.level) == (0.95, 0.5)


# ---------------------------------------------------------------- results.json


@pytest.fixture(scope="module")
def made():
    some = replace(bundled_pairs(), name="some", items=bundled_pairs().items[::20])
    return unmask.run(tiny("bert"), ["cat", "w-seat", "lpbs"], [some, "weat-6", "kurita-career"])


def test_files_follow_the_schema_and_come_back_whole(made, tmp_path):
    unmask.save(made, tmp_path)
    content = json.loads((tmp_path / "results.json").read_text())
    jsonschema.validate(content, files.schema())
    again = unmask.load(tmp_path)
    for one, two in zip(made, again, strict=True):
        assert files.to_record(one) == files.to_record(two)
        pd.testing.assert_frame_equal(
            one.items.reset_index(drop=True)[["item", "label", "score"]],
            two.items[["item", "label", "score"]],
        )


def former(made):
    """The same results as version 1 wrote them."""
    out = []
    for result in made:
        record = files.to_record(result)
        spec = record.pop("spec")
        for one in [record["overall"], *record["extras"].values(), *record["by_category"].values()]:
            one["more"]["se"] = one.pop("se")
        if record["accuracy"]:
            record["accuracy"]["more"]["se"] = record["accuracy"].pop("se")
        for key in ("compared", "notes", "shown"):
            del record[key]
        out.append({k: spec[k] for k in ("model", "measure", "data")} | record)
    return {"results": out}


def test_the_former_form_is_still_read(made, tmp_path):
    unmask.save(made, tmp_path)
    frame = pd.read_parquet(tmp_path / "items.parquet").drop(columns="result")
    frame.to_parquet(tmp_path / "items.parquet")
    (tmp_path / "results.json").write_text(json.dumps(former(made)))
    again = unmask.load(tmp_path)
    for one, two in zip(made, again, strict=True):
        assert (one.title, one.compared) == (two.title, two.compared)
        assert one.overall.se == two.overall.se
        assert one.items.score.sum() == pytest.approx(two.items.score.sum())
    assert "nadeem2021" in invoke("cite", tmp_path)[1]


BROKEN = {
    "cut": (lambda t: t[: len(t) // 2], "not a whole JSON file"),
    "empty": (lambda t: "", "not a whole JSON file"),
    "a list": (lambda t: "[]", "no list of results"),
    "null": (lambda t: '{"results": [null], "schema": 2, "notes": []}', "not of the form"),
    "no field": (lambda t: t.replace('"compared"', '"compard"', 1), "at results/0"),
    "a word": (lambda t: t.replace('"n": ', '"n": "x", "m": ', 1), "not of the form"),
    "later": (lambda t: t.replace('"schema": 2', '"schema": 99'), "reads 1 to 2"),
    "former": (lambda t: '{"results": [{"model": "m"}]}', "not of the form"),
    "fewer": (lambda t: t[: t.rindex(',\n  {\n   "spec"')] + "\n ]\n}", "does not hold the items"),
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_broken_file_is_one_sentence(name, made, tmp_path):
    unmask.save(made, tmp_path)
    change, said = BROKEN[name]
    path = tmp_path / "results.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(unmask.DataError, match=said):
        unmask.load(tmp_path)


def test_items_of_another_run_are_noticed(made, tmp_path):
    unmask.save(made, tmp_path / "a")
    unmask.save(made[:1], tmp_path / "b")
    (tmp_path / "a" / "items.parquet").write_bytes((tmp_path / "b" / "items.parquet").read_bytes())
    with pytest.raises(unmask.DataError, match="a run was stopped while it wrote"):
        unmask.load(tmp_path / "a")
    (tmp_path / "a" / "items.parquet").unlink()
    with pytest.raises(unmask.DataError, match="holds no items"):
        unmask.load(tmp_path / "a")
    text = (tmp_path / "b" / "results.json").read_text()
    (tmp_path / "b" / "results.json").write_text(text, encoding="utf-8-sig")
    assert len(unmask.load(tmp_path / "b")) == 1

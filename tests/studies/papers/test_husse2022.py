"""husse2022: figures and appendices from the release's numbers, and on tiny models."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from conftest import tiny
from unmask.api import evaluate
from unmask.data.packaged import published
from unmask.data.wordsets import groups, stimuli
from unmask.flow.evaluate import evaluate as evaluate_specs
from unmask.models.elmo import Elmo, ElmoModel
from unmask.options import Options, Resampling, Spec
from unmask.stats.permutation import permutation
from unmask.studies.papers import (
    husse2022,
    husse2022_appendix,
    husse2022_figures,
    husse2022_tables,
    paper_table,
)
from unmask.studies.papers.husse2022_tables import COLUMNS, MAIN, METHODS, HusseRun
from unmask.studies.papers.paper_table import by_tags
from unmask.studies.papers.reproduce import reproduce as run_paper
from unmask.studies.papers.request import Request
from unmask.text.contexts import WordTest


def reproduce(paper, models, folder, options, **request):
    return run_paper(paper, models, folder, Request(options, **request))


NOTHING = HusseRun({}, {}, True, {})


def test_the_points_of_figure_5_have_the_correlations_of_table_5():
    """Published scores of the main tests: CEAT on Reddit, the others on templates."""
    points = husse2022_figures.scatter(NOTHING).numbers
    stated = published("husse2022")["table5"]
    names = {f"{label} (published)": f"{label} all" for label in COLUMNS.values()}
    compared = 0
    for pair, row in stated.items():
        if pair == "columns":
            continue
        down, across = pair.split(" | ")
        here = points[(points.down == down) & (points.across == across)]
        for model, part in here.groupby("model"):
            printed = row[stated["columns"].index(names[model])]
            assert part.x.corr(part.y) == pytest.approx(printed, abs=0.016)
            compared += 1
    assert compared == 18
    assert set(points.down) == set(METHODS)


def test_figure_1_has_all_scores_and_the_significant_ones_apart():
    left, right = husse2022_figures.significant(NOTHING)
    every = published("husse2022.csv")
    every = every[(every.note == "") & every.d.notna() & (every.sets == "full")]
    assert len(left.numbers) == 2 * len(every)
    counted = right.numbers.groupby("panel").scores.sum()
    assert set(counted) == {int((every.p < 0.01).sum())}


def test_figure_4_has_the_release_curve():
    curve = husse2022_figures.windows([], Request(Options())).numbers
    assert len(curve) == 16
    first = curve[curve.test == "C1 (published, BERT)"].set_index("size").d
    assert (first[10], first[25], first[30]) == (0.2926, 0.179, 0.3932)


def test_a_tenth_of_the_sentences_moves_the_published_scores():
    """B.5: 'similar magnitudes', with differences up to 0.78 and 20 of 160 signs turned."""
    table = husse2022_appendix.sentences(NOTHING).frame
    assert table.scores.tolist() == [32, 64, 64]
    assert table["mean |difference|"].round(2).tolist() == [0.12, 0.11, 0.11]
    assert table.largest.max() == pytest.approx(0.78, abs=0.005)
    assert table["other sign"].sum() == 20


def test_an_elmo_is_measured_as_tokens_and_as_characters():
    """Appendix D on an ELMo at hand: two numbers, and the characters are each a token."""
    model = tiny_elmo()
    names = [MAIN["C6"], MAIN["C9"]]
    specs = [*husse2022_appendix.as_characters([tiny("bert"), model], names)]
    assert {s.model.name for s in specs} == {"elmo (characters)"}
    specs += [
        s
        for s in husse2022._templates(model, names, 10)
        if s.tags["level"] == "sent" and s.tags["method"] == "SEAT"
    ]
    results = by_tags(evaluate_specs(specs, Options()), *husse2022.KEY)
    (table,) = husse2022_appendix.implementation_error(
        HusseRun({"elmo": "elmo"}, results, True, {})
    )
    line = table.frame.set_index("test").loc["C6"]
    assert (line["s-SEAT with the bug"], line["s-SEAT without"]) == (-0.38, 1.38)
    assert line["elmo, s-SEAT by characters"] != pytest.approx(
        line["elmo, s-SEAT by tokens"], abs=0.01
    )
    assert np.isnan(table.frame.set_index("test").loc["Occ", "elmo, s-SEAT by tokens"])


def tiny_elmo():
    options = {
        "lstm": {"dim": 6, "projection_dim": 4, "n_layers": 2, "use_skip_connections": True},
        "char_cnn": {
            "activation": "relu",
            "filters": [[1, 3], [2, 4]],
            "n_highway": 1,
            "embedding": {"dim": 5},
            "max_characters_per_token": 12,
        },
    }
    torch.manual_seed(0)
    return ElmoModel(Elmo(options).eval(), "elmo")


def test_the_tests_of_tan_and_celis_are_there_with_sets_of_equal_size():
    for name in groups()["tan2019"]:
        test = stimuli()[name]
        assert test.source == "tan2019"
        for side in (test.targets, test.attributes):
            assert len({len(words) for words in side.values()}) == 1
    sizes = {n: len(next(iter(stimuli()[n].targets.values()))) for n in groups()["tan2019"]}
    assert sizes == {
        "tan-c11": 8,
        "tan-c12": 32,
        "tan-c13": 8,
        "tan-occ": 26,
        "tan-double-bind-competent": 32,
        "tan-double-bind-likable": 32,
        **{f"tan-i{n}": 13 for n in range(1, 6)},
    }
    assert isinstance(published("husse2022_sentences.csv"), pd.DataFrame)


def test_husse_values():
    every = published("husse2022.csv")
    assert len(every) == 1070
    assert set(every.method) == {"SEAT", "CEAT", "LPBS"}
    assert set(every.model) == {"elmo", "bert", "gpt2", "opt", "bloom"}
    assert every.d.dropna().between(-2, 2).all()
    # the released Reddit LPBS is not a number for capitalised names, with p = 0 beside it
    broken = every[every.d.isna()]
    assert set(broken.metric) == {"probability"}
    seat = every[
        (every.method == "SEAT")
        & (every.model == "bert")
        & (every.test == "C1")
        & (every.context == "template")
        & (every.level == "word-average")
    ]
    assert seat.d.iloc[0] == pytest.approx(1.077, abs=0.001)
    values = published("husse2022")
    assert all(len(v) == 9 for k, v in values["table5"].items())


@pytest.fixture
def store(tmp_path):
    """Natural contexts for C6 and C1 only."""
    rows = [
        {
            "stimulus": w,
            "sentence": f"We saw that {w} was in the {n} room at last.",
            "start": 12,
            "end": 12 + len(w),
            "source": "s",
            "hash": n,
        }
        for name in ("husse-c6-name", "husse-c1-name")
        for ws in stimuli()[name].sets.values()
        for w in ws
        for n in range(3)
    ]
    folder = tmp_path / "store"
    folder.mkdir()
    pd.DataFrame(rows).drop_duplicates().to_parquet(folder / "contexts.parquet")
    return str(folder)


SHAPED = (3, 4, 6, 11, 12, 13, 14)


HUSSE = {
    *(f"table{n}" for n in range(1, 15)),
    *(f"table{n}-printed" for n in SHAPED),
    "appendix-b5",
    "appendix-d",
}


@pytest.mark.slow
def test_husse_on_a_tiny_model(tmp_path, store, shared):
    shared("wordsets/husse2022/C6_name_word.jsonl")
    study = reproduce(
        "husse2022", [tiny("bert")], tmp_path / "h", Options(), quick=True, contexts=store
    )
    tables = {t.name: t.frame for t in study.tables}
    assert set(tables) == {"claims", *HUSSE, "release"}
    claimed = tables["claims"].set_index("claim")["holds?"]
    assert len(claimed) >= 8
    assert claimed["Under s-SEAT, ELMo has the most significant scores and GPT-2 the fewest"] == (
        "needs several models"
    )
    assert set(claimed) >= {"needs several models", "needs a full run"}
    page = (tmp_path / "h" / "report.html").read_text()
    assert page.index("Do the paper") < page.index("Table 3: replication")
    three = tables["table3"]
    ours = three[three.model == "tiny-bert"]
    assert set(ours[ours.method != "CEAT"].test) == set(MAIN)
    # the paper's CEAT is on natural sentences: ours only where the store has the words
    assert set(ours[ours.method == "CEAT"].test) == {"C1", "C6"}
    assert ours.published.isna().all()
    assert set(three[three.which == "original"].model) == {"ELMo", "BERT", "GPT-2"}
    natural = tables["table12"].query("context == 'natural' and model == 'tiny-bert'")
    assert {(t, m) for t, m in zip(natural.test, natural.method, strict=True) if m != "LPBS"} == {
        (t, m) for t in ("C1", "C6") for m in ("s-SEAT", "w-SEAT", "CEAT")
    }
    levels = tables["table13"].query("method == 'SEAT' and model == 'tiny-bert'")
    assert (levels.groupby("test")["level"].nunique() == 4).all()
    assert "words lost" in three
    released = tables["release"]
    assert set(released.method) == {"SEAT", "CEAT", "LPBS"}
    assert released.measured.notna().all()
    for number in (7, 8):
        assert {"LPBS", "CEAT"} <= set(tables[f"table{number}"].method)
    drawn = {f.name: f.numbers for f in study.figures}
    figures = "significant", "significant-scores", "retained", "distribution", "windows", "scatter"
    assert tuple(drawn) == figures
    for name in figures:
        assert (tmp_path / "h" / f"{name}.png").is_file()
    assert set(drawn["significant"].query("model == 'tiny-bert'").option) == {
        "names",
        "terms",
        "template",
        "natural",
    }
    assert {"C1, tiny-bert", "C1 (published, BERT)"} <= set(drawn["windows"].test)
    assert "tiny-bert" in set(tables["appendix-b5"].model)
    # sets of one word a side have a number in Table 14, and no interval
    alone = tables["table14"].query(
        "model == 'tiny-bert' and method == 'cosine' and sets == 'simplified' and test == 'C9'"
    )
    assert alone.measured.isna().all() == (len(alone) == 0)
    assert any("quick run" in r for r in study.remarks)


def test_husse_sets_each_model_beside_its_own_column():
    assert husse2022_tables.column("gpt2", "causal", "CEAT") == "gpt2"
    assert husse2022_tables.column("bert-base-cased", "masked", "SEAT") == "bert"
    assert husse2022_tables.column("bert-base-cased", "masked", "LPBS") is None
    assert husse2022_tables.column("bert-base-uncased", "masked", "LPBS") == "bert"
    assert husse2022_tables.column("x.json+y.hdf5", "elmo", "CEAT") == "elmo"
    assert husse2022_tables.column("bundled", "masked", "CEAT") is None


def test_husse_prints_the_papers_digits_and_notes_the_release():
    def cell(number, model, **keys):
        (one,) = [
            c
            for c in husse2022_tables.cells(number)
            if c.model == model and keys.items() <= c.keys.items()
        ]
        return one

    found = cell(12, "bert", test="Occ", method="CEAT", context="template")
    assert (found.printed, found.release) == (0.69, 0.6596)
    found = cell(12, "gpt2", test="C3", method="CEAT", context="template")
    assert (found.printed, found.release) == (0.55, 0.5724)
    found = cell(11, "bert", test="C3", method="CEAT", targets="names")
    assert (found.printed, found.bold, found.release) == (0.20, True, None)


def test_what_is_noted_of_the_release_is_what_its_files_say():
    """Bold and differing numbers, from the result files, for every printed number of ours."""
    every = published("husse2022.csv")
    every = every[(every.note == "") & (every.sets == "full")]
    keys = ["method", "test", "model", "context", "level", "targets"]
    rows = zip(every[keys].itertuples(index=False, name=None), every.d, every.p, strict=True)
    release = {key: (d, p) for key, d, p in rows}
    for number in (3, 11, 12, 13):
        for c in husse2022_tables.cells(number):
            if c.printed is None or c.keys.get("which") == "original":
                continue
            method, test, level, context = c.key
            words = stimuli()[test]
            where = "reddit" if context == "natural" else "template"
            key = (method, words.concept, c.model, where, "" if method == "LPBS" else level)
            d, p = release[(*key, words.named)]
            assert c.bold == (p < 0.01)
            assert c.release == (None if abs(d - c.printed) <= 0.0051 else d)


def test_bold_of_the_smaller_tables_is_what_the_release_says():
    """Tables 4 and 14, whose sets are smaller, by the number that each prints."""
    every = published("husse2022.csv")
    seen = 0
    for number, method, context in ((4, "LPBS", "template"), (14, "CEAT", "reddit")):
        for c in husse2022_tables.cells(number):
            if c.printed is None or c.bold is None or "none" in c.key:
                continue  # "none": of other authors, starred by what the text says of them
            rows = every[(every.method == method) & (every.test == c.keys["test"])]
            # The reduced sets of C6 are the full ones, says the paper.
            sets = "full" if c.keys["test"] == "C6" else c.keys["sets"]
            sets = c.keys["sets"] if c.keys["sets"] == "simplified" else sets
            rows = rows[(rows.sets == sets) & (rows.context == context)]
            rows = rows[(rows.model == "bert") & ((rows.d - c.printed).abs() <= 0.0051)]
            assert c.bold in set(rows.p < 0.01)
            seen += 1
    assert seen == 18 + 28


def test_own_columns_are_starred_by_the_papers_test_and_by_ours():
    """A star by the released test (one-sided, over sentences), a dagger by that over words."""
    spec = Spec("bundled", "w-seat", WordTest(stimuli()["husse-c3-name"]))
    (result,) = evaluate_specs([spec], Options(keep=("sentences",), splits=2000))
    x, y = result.artifacts["sentences"]
    p = permutation(x, y, sided="one", resampling=Resampling(splits=10_000)).p
    assert husse2022_tables.published_p(result) == p
    sure = husse2022_tables._starred(replace(result, overall=replace(result.overall, p=0.5)), p)
    assert sure.endswith("*") == (p < 0.01)
    assert p < 0.01
    both = husse2022_tables._starred(replace(result, overall=replace(result.overall, p=0.001)), p)
    assert both.endswith("*\u2020")
    neither = replace(result, artifacts={}, overall=replace(result.overall, p=0.5))
    unknown = husse2022_tables.published_p(neither)
    assert husse2022_tables._starred(neither, unknown) == f"{result.overall.value:.2f}"


PRINTED_CELLS = {3: 161, 4: 21, 6: 6, 11: 192, 12: 251, 13: 288, 14: 28}


def test_every_printed_value_is_in_the_release_or_noted():
    """892 numbers of Tables 3, 11, 12 and 13 against the result files: 16 differ."""
    rows = published("husse2022_printed.csv")
    rows = rows[rows.printed.notna()]
    assert rows.groupby("table").size().to_dict() == PRINTED_CELLS
    every = published("husse2022.csv")
    keys = ["method", "test", "model", "sets", "metric", "context", "level", "targets", "note"]
    assert not every.duplicated(keys).any()
    bloom = every[(every.model == "bloom") & (every.note == "")]
    assert {"C9", "Dis", "I1"} <= set(bloom[bloom.method == "CEAT"].test)
    modified = every[(every.model == "bloom") & (every.note == "modified")]
    assert set(modified.test) == {"C9", "Dis"}


def test_husse_shares_sentences_and_agrees_with_single_runs(tmp_path):
    """One pass for all levels gives what each level alone gives."""
    model = tiny("bert")
    specs = [
        s
        for s in husse2022._templates(model, ["husse-c6-name"], 50)
        if s.data.name == "husse-c6-name"
    ]
    results = paper_table.by_tags(evaluate_specs(specs), *husse2022_tables.KEY)
    alone = evaluate(model, "w-seat", "husse-c6-name", pool="word-first").overall
    found = results["tiny-bert", "SEAT", "husse-c6-name", "word-start", "template"].overall
    assert (found.value, found.low) == pytest.approx((alone.value, alone.low), abs=1e-12)
    assert found.p == alone.p


def test_table_10_names_word_tests_that_exist():
    rows = published("husse2022")["table10"]
    assert len(rows) == 28
    assert {n for r in rows for n in r[5]} <= set(stimuli())
    assert all(r[5] for r in rows)  # none is without words
    assert {r[0] for r in rows if r[4]} == set(husse2022_tables.TESTS) - {"Dis"}
    assert sum(r[3] for r in rows) == 49

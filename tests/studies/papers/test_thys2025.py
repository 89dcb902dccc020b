"""thys2025: published values, and the study on tiny models."""

from dataclasses import replace

import pandas as pd
import pytest

from conftest import tiny
from unmask.data import catalogue
from unmask.data.packaged import published
from unmask.errors import NotApplicable
from unmask.flow import external_scores
from unmask.options import Options
from unmask.studies.papers import (
    thys2025,
    thys2025_figures,
)
from unmask.studies.papers.reproduce import MODELS
from unmask.studies.papers.reproduce import reproduce as run_paper
from unmask.studies.papers.request import Request


def reproduce(paper, models, folder, options, **request):
    return run_paper(paper, models, folder, Request(options, **request))


def test_thys_correlations_follow_from_its_table():
    values = published("thys2025")
    table = pd.DataFrame(values["table4"], index=values["columns"]).T
    sizes = pd.Series(values["sizes"])
    columns = table.assign(size=sizes)
    stated = values["figure3"]
    for name, below in zip(stated["order"], stated["below"], strict=True):
        for other, r in zip(stated["order"], below, strict=False):
            assert columns[name].corr(columns[other]) == pytest.approx(r, abs=0.0015)


def test_stereoset_rows_from_published_predictions_are_exact(shared):
    """thys2025's bert-base-cased CAT row is the authors' own prediction file, to the digit."""
    path = shared("stereoset/predictions/predictions_bert-base-cased_BertNextSentence_BertLM.json")
    found = external_scores.score_file(path, "stereoset")
    stated = dict(
        zip(
            published("thys2025")["columns"],
            published("thys2025")["table4"]["bert-base-cased"],
            strict=True,
        )
    )
    assert round(found.by_category["gender"].value - 50, 3) == stated["CAT"]
    assert round(found.extras["lms:gender"].value, 3) == stated["lms"]


@pytest.mark.slow
def test_thys_on_tiny_models(shared, tmp_path):
    shared("stereoset/dev_intrasentence.json")
    models = [tiny("bert"), tiny("xlnet"), tiny("gpt2")]
    study = reproduce("thys2025", models, tmp_path, Options(), quick=True)
    tables = {t.name: t.frame for t in study.tables}
    claimed = tables["claims"]
    assert len(claimed) >= 5
    assert set(claimed["holds?"]) == {"needs several models"}  # no two are sizes of one model
    assert study.answer == ["all 3 models: 16 claims need several models."]
    table = tables["table4"]
    assert set(table.model) == {*MODELS["thys2025"], "tiny-bert", "tiny-xlnet", "tiny-gpt2"}
    by = table[table.by.notna()]
    assert set(zip(by.model, by.measure, by.by, strict=True)) == {
        ("tiny-gpt2", column, "ll") for column in ("CrowS-Pairs", "AUL-cp", "AUL-ss")
    }
    assert any("left out of the correlations" in remark for remark in study.remarks)
    assert table[table.model == "tiny-xlnet"].measured.notna().all()
    variants = tables["variants"]
    assert set(variants.variant) >= {"cps@thys2025", "aul@thys2025", "lpbs@thys2025"}
    means = variants[variants.variant == "lpbs@thys2025"]
    assert (means.tests == 3).all()
    assert (means.data == "mean").all()
    assert len(tables["table1"]) == 9  # a line a model, published and measured side by side
    assert len(tables["table2"]) == 6
    assert len(tables["table3"]) == 3
    matrix = tables["figure3"]
    assert len(matrix) == matrix.published.notna().sum() == 7 * 8 / 2  # the triangle, all published
    assert (matrix.published - matrix["from Table 4"]).abs().max() < 0.0015
    # in print: the paper's row, ours, and ours by the author's code
    printed = tables["table4-printed"]
    assert (printed.of == "the paper").sum() == 6
    assert printed[printed.model == "tiny-bert"].of.tolist() == [
        "this run",
        "this run, by the author's code",
    ]
    assert printed[printed.model == "tiny-gpt2"]["AUL-cp"].str.endswith("(ll)").all()
    code = table[(table.model == "tiny-bert") & (table.measure == "CrowS-Pairs")]["author's code"]
    (by_code,) = variants[(variants.variant == "cps@thys2025") & (variants.model == "tiny-bert")][
        "variant score"
    ]
    assert code.iloc[0] == pytest.approx(by_code - 50)


def test_one_test_that_cannot_be_scored_aborts_nothing(shared, tmp_path, monkeypatch):
    shared("stereoset/dev_intrasentence.json")
    given = thys2025.evaluate

    def evaluate(specs, options, failed):
        lost = [s for s in specs if s.tags["measure"] in ("s-seat", "cat", "cat@nadeem2021")]
        for spec in lost:
            failed(spec, NotApplicable("a reason"))
        return given([s for s in specs if s not in lost], options, failed)

    monkeypatch.setattr(thys2025, "evaluate", evaluate)
    monkeypatch.setattr(thys2025, "_seat", lambda: (catalogue.resolve("weat-6"), []))
    models = [replace(tiny("bert"), name=f"mine-{size}") for size in ("base", "large")]
    study = reproduce("thys2025", models, tmp_path, Options(), quick=True)
    assert sum("s-seat" in key for key in study.skipped) == 2
    assert set(study.skipped.values()) >= {"a reason"}
    claimed = next(t.frame for t in study.tables if t.name == "claims").set_index("claim")
    cat = claimed.loc["CAT's bias score rises with size in every family"]
    assert cat["holds?"] == "needs all results"
    assert "CAT could not be scored" in cat["this run"]
    assert cat["by its numbers"] == "holds"
    size = claimed.loc["The language modelling score rises with size"]
    assert size["holds?"] == "needs all results"
    others = claimed.loc["LPBS neither rises in every family nor falls in every family"]
    assert others["holds?"] == "needs several models"


@pytest.mark.slow
def test_thys_figures_join_the_sizes_of_one_model_and_draw_the_matrix(shared):
    """A line goes from base to large of one model, never through all that were measured."""
    shared("stereoset/dev_intrasentence.json")
    names = "mine-base", "mine-large", "other-base-cased", "other-large-cased"
    models = [replace(tiny("bert"), name=n) for n in names]
    study = thys2025.run(models, Request(Options(), quick=True))
    drawn = {f.name: f for f in study.figures}
    assert set(drawn) == {"sizes", "sizes-lms", "correlations", "correlations-own"}
    assert "lms" not in set(drawn["sizes"].numbers.measure)
    lines = drawn["sizes-lms"].numbers
    joined = lines.groupby("family").model.apply(list).to_dict()
    assert joined == {
        "bert-cased": ["bert-base-cased", "bert-large-cased"],
        "roberta": ["roberta-base", "roberta-large"],
        "xlnet-cased": ["xlnet-base-cased", "xlnet-large-cased"],
        "mine (measured)": ["mine-base", "mine-large"],
        "other-cased (measured)": ["other-base-cased", "other-large-cased"],
    }
    assert drawn["correlations"].numbers.set_index("index").loc["CAT", "lms"] == 0.963203
    names = "gpt2", "gpt2-large", "facebook/opt-1.3b", "bundled"
    lines = ["gpt2", "gpt2", "facebook/opt", "bundled"]
    assert [thys2025_figures.line_of(n) for n in names] == lines

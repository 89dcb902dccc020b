"""husse2022: figures and appendices from the release's numbers, and on tiny models."""

import numpy as np
import pandas as pd
import pytest
import torch

from conftest import tiny
from unmask.data.packaged import published
from unmask.data.wordsets import groups, stimuli
from unmask.flow.evaluate import evaluate
from unmask.models.elmo import Elmo, ElmoModel
from unmask.options import Options
from unmask.studies.papers import husse2022, husse2022_appendix, husse2022_figures
from unmask.studies.papers.husse2022_tables import COLUMNS, MAIN, METHODS, Run
from unmask.studies.papers.paper_table import by_tags

NOTHING = Run({}, {}, True, {})


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
    curve = husse2022_figures.windows([], None, Options()).numbers
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
    results = by_tags(evaluate(specs, Options()), *husse2022.KEY)
    (table,) = husse2022_appendix.implementation_error(Run({"elmo": "elmo"}, results, True, {}))
    line = table.frame.set_index("test").loc["C6"]
    assert (line["s-SEAT with the bug"], line["s-SEAT without"]) == (-0.38, 1.38)
    assert line["elmo, characters"] != pytest.approx(line["elmo, tokens"], abs=0.01)
    assert np.isnan(table.frame.set_index("test").loc["Occ", "elmo, tokens"])


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

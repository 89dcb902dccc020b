"""kaneko2022: published values, and the study on tiny models."""

from dataclasses import replace

import pytest

import plain
import unmask
from conftest import invoke, tiny, tiny_real
from unmask.data import catalogue
from unmask.data.packaged import published
from unmask.flow.evaluate import evaluate as evaluate_specs
from unmask.options import Options, Spec
from unmask.studies import frequency
from unmask.studies.papers import (
    kaneko2022,
    kaneko2022_tables,
    paper_table,
)
from unmask.studies.papers.claims import FAILS
from unmask.studies.papers.reproduce import reproduce as run_paper
from unmask.studies.papers.request import Request


def reproduce(paper, models, folder, options, **request):
    return run_paper(paper, models, folder, Request(options, **request))


def test_kaneko_values_are_consistent():
    values = published("kaneko2022")
    assert set(values["models"]) == {"BERT", "RoBERTa", "ALBERT"}
    for label in values["models"]:
        assert len(values["table1"][label]) == 4
        adv, dis, gap = values["table3"][label][:3]
        assert abs(adv - dis) == pytest.approx(gap, abs=0.011)
        for k in (3, 6):
            adv, dis, gap = values["table3"][label][k : k + 3]
            assert abs(adv - dis) == pytest.approx(gap, abs=0.011)
        assert all(40 < v < 70 for v in values["table5"][label])
    for adv, dis in values["table2"].values():
        assert adv + dis == 9  # mean ranks of two halves of 1 to 8


def test_table_2_follows_from_its_words():
    """With the printed order as counts, our table gives the printed mean ranks."""
    values = published("kaneko2022")
    for category, words in values["table2_words"].items():
        counts = {w: 8 - i for i, w in enumerate(words.split())}
        line = frequency.ranks(counts).set_index("category").loc[category]
        assert [line.advantaged, line.disadvantaged] == values["table2"][category]


def test_words_of_advantaged_groups_are_more_frequent_over_all_bias_types_only():
    """The paper's 'statistically significantly more frequently', which it gives no test for."""
    values = published("kaneko2022")
    table, printed = kaneko2022_tables.table2((), values)
    race = printed.frame.set_index("category").loc["race"].tolist()
    assert race[:4] == ["the paper", "american*", "james*", "african"]
    assert table.frame["p (rank-sum test)"].min() > 0.1
    assert frequency.overall_p(frequency.printed_strata()) == pytest.approx(0.0056, abs=5e-5)
    assert "p = 0.0056" in table.note
    drops = values["table4_drops"]
    for label in values["models"]:
        cp, ss = values["table1"][label][1], values["table1"][label][3]
        for before, after, drop in zip(
            (cp, ss, ss), values["table4"][label], drops[label], strict=True
        ):
            assert before - after == pytest.approx(drop, abs=0.011)


def test_the_top_words_of_a_corpus_are_found_in_crows_pairs(shared, tmp_path):
    """CrowS-Pairs itself as the corpus: groups' words on the sides that the paper gives them."""
    shared("crows-pairs/crows_pairs_anonymized.csv")
    data = catalogue.sentences("crows-pairs")
    text = "\n".join(t.string for item in data.items for t in item.texts.values())
    (tmp_path / "corpus.txt").write_text(text, encoding="utf-8")
    counts = kaneko2022_tables.counted([str(tmp_path / "corpus.txt")])
    _, printed, own = kaneko2022_tables.table2(counts, published("kaneko2022"))
    assert printed.frame.of.tolist() == ["the paper", "your corpus"] * 9
    lines = own.frame.set_index("category")
    assert len(lines) == 9
    assert {"he", "she", "his", "her"} <= set(lines.words["gender"].split())
    groups = frequency.groups_of(data)
    for category, sides in frequency.word_groups().items():
        ours = groups["race-color" if category == "race" else category]
        for one, other in (frequency.SIDES, frequency.SIDES[::-1]):
            assert not set(sides[one]) & set(ours[other])


def test_kaneko_on_a_tiny_model(shared, tmp_path):
    shared("crows-pairs/crows_pairs_anonymized.csv")
    text = tmp_path / "c.txt"
    text.write_text("he and she and the american")
    study = reproduce(
        "kaneko2022", [tiny("bert")], tmp_path / "k", Options(), quick=True, corpus=[str(text)]
    )
    tables = {t.name: t.frame for t in study.tables}
    printed = {f"table{n}-printed" for n in range(1, 6)}
    assert set(tables) == {
        "claims",
        *(f"table{n}" for n in range(1, 6)),
        *printed,
        "table1-candidates",
        "table2-own",
        "variants",
        "figure1",
        "agreement",
    }
    assert tables["table2-own"].category.tolist() == ["gender"]  # the corpus names no other group
    for name, frame in tables.items():
        assert len(frame)
        assert (tmp_path / "k" / f"{name}.csv").is_file()
    ours = tables["table5"].query("model == 'tiny-bert'")
    assert ours.measured.notna().all()
    assert len(ours) == 6
    why = tables["variants"]
    assert (why["moves by"] == why["variant score"] - why["score"]).all()
    assert (tmp_path / "k" / "roc.png").is_file()
    # a quick run is declared, and never called inside
    assert any("quick run" in r for r in study.remarks)
    assert not any("agrees" in frame for frame in tables.values())
    assert {r.spec.tags["measure"] for r in unmask.load(tmp_path / "k")} >= {"cps", "aul", "aula"}
    assert "kaneko2022" in invoke("cite", tmp_path / "k")[1]


def kaneko_tokens(model, items):
    """By hand, one sentence at a time: hits and tokens with and without the special tokens.

    An item with a sentence that the model cannot read whole is left out, as unmask does.
    """
    counts = dict.fromkeys(("all", "content", "unrelated"), (0, 0))
    read = model.codec.tokenizer
    for item in items:
        if any(len(read(t.string)["input_ids"]) > 128 for t in item.texts.values()):
            continue
        for label, text in item.texts.items():
            ids = read(text.string)["input_ids"]
            hit = plain.logp(model.net, ids).argmax(-1).tolist()
            right = [a == b for a, b in zip(hit, ids, strict=True)]
            where = {"unrelated": right}
            if label != "unrelated":
                where = {"all": right, "content": right[1:-1]}
            for key, some in where.items():
                counts[key] = (counts[key][0] + sum(some), counts[key][1] + len(some))
    return {k: 100 * a / b for k, (a, b) in counts.items()}


def test_kaneko_counts_tokens_as_the_release_and_as_the_definition(shared):
    """Stereotype and anti-stereotype only; the release counts special tokens too."""
    shared("stereoset/dev_intrasentence.json")
    model = tiny("bert")
    specs = [
        s
        for s in kaneko2022.specs([model], quick=True)
        if s.tags["data"].startswith("stereoset") and s.tags["measure"] in ("aul", *kaneko2022.OWN)
    ]
    found = paper_table.by_tags(evaluate_specs(specs, Options(keep=("tokens",))), "measure", "data")
    expected = kaneko_tokens(model, catalogue.sentences("stereoset").items[::10])
    assert found["aul", "stereoset"].accuracy.value == pytest.approx(expected["content"])
    released = found[kaneko2022.ALL_PLACES, "stereoset"]
    assert released.accuracy.value == pytest.approx(expected["all"])
    alone = found[kaneko2022.ALL_PLACES, "stereoset:unrelated"]
    assert alone.accuracy.value == pytest.approx(expected["unrelated"])
    # tokens are shuffled, none is lost, and each is paired with itself
    names = kaneko2022.SHUFFLED, kaneko2022.ALL_PLACES
    moved, still = (found[m, "stereoset"].artifacts["tokens"] for m in names)
    assert moved.gold.tolist() == still.gold.tolist()
    assert moved.place.tolist() != still.place.tolist()


def test_sss_is_right_if_one_whole_candidate_is(shared):
    """The paper's stated rule for Table 1, against a plain loop over hidden candidates."""
    shared("stereoset/dev_intrasentence.json")
    model = tiny("bert")
    data = catalogue.sentences("stereoset")
    data = kaneko2022._pairs(replace(data, items=data.items[:60]))
    spec = Spec(model, kaneko2022.OWN[kaneko2022.WHOLE], data)
    (result,) = evaluate_specs([spec], Options(keep=("tokens",)))
    # a random network is never right: make some of its answers so
    tokens = result.artifacts["tokens"]
    chosen = tokens.index % 3 != 0
    result.artifacts["tokens"] = tokens.assign(hit=chosen)
    expected = []
    for _, some in tokens.assign(hit=chosen).groupby("item"):
        expected.append(any(part.hit.all() for _, part in some.groupby("label")))
    found = kaneko2022_tables._either(result)
    assert found["measured"] == pytest.approx(100 * sum(expected) / len(expected))
    assert 0 < found["measured"] < 100
    # every place of the candidate is hidden and asked for
    for item in data.items[:20]:
        for label, text in item.texts.items():
            (span,) = text.spans["fill"]
            here = tokens[(tokens["item"] == item.id) & (tokens.label == label)]
            if len(here):
                assert (here.start.min(), here.end.max()) == span


@pytest.mark.slow
@pytest.mark.parametrize(("family", "label"), [("roberta", "RoBERTa"), ("albert", "ALBERT")])
def test_candidates_of_equally_many_subtokens_are_as_many_as_printed(shared, family, label):
    shared("stereoset/dev_intrasentence.json")
    data = kaneko2022._pairs(catalogue.sentences("stereoset"))
    (result,) = evaluate_specs([Spec(tiny_real(family), "aul", data)], Options())
    stated = published("kaneko2022")["equal_subtokens"][label]
    assert kaneko2022_tables._equal_lengths(result) == stated


@pytest.mark.slow
def test_a_model_of_the_paper_has_two_rows_in_print(shared):
    """Published and measured: the paper's own model is shown beside its printed row."""
    shared("stereoset/dev_intrasentence.json")
    model = replace(tiny("bert"), name="bert-base-cased")
    study = kaneko2022.run([model], Request(Options(), quick=True))
    tables = {t.name: t.frame for t in study.tables}
    for number in (1, 3, 4, 5):
        rows = tables[f"table{number}-printed"]
        whose = ["the paper", "this run"] + ["this run, as released"] * (number == 5)
        assert rows[rows.model == "BERT"].of.tolist() == whose
    first, fourth = tables["table1"], tables["table4"]
    before = first[(first.model == "BERT") & (first.measure == "aul")].set_index("data").measured
    for line in fourth[fourth.model == "BERT"].itertuples():
        assert line.drop == pytest.approx(before[line.data] - line.measured)
    scores = tables["table5"]
    sss = scores[(scores.model == "BERT") & (scores.measure == "sss")].iloc[0]
    assert sss["as released"] != sss.measured  # crossed places
    assert "(-13.13)" in tables["table4-printed"].iloc[0]["crows-pairs, shuffled"]


def test_kaneko_on_a_causal_model(shared, tmp_path):
    """`ll` stands for every measure, and no published value is set beside it."""
    shared("crows-pairs/crows_pairs_anonymized.csv")
    study = reproduce("kaneko2022", [tiny("gpt2")], tmp_path, Options(), quick=True)
    tables = {t.name: t.frame for t in study.tables}
    ours = tables["table5"].query("model == 'tiny-gpt2'")
    assert ours[["measure", "data"]].values.tolist() == [["ll", "crows-pairs"], ["ll", "stereoset"]]
    assert ours.measured.notna().all()
    assert ours.published.isna().all()
    sides = tables["table3"].query("model == 'tiny-gpt2'")
    assert sides.group.tolist() == ["advantaged", "disadvantaged", "|difference|"]
    assert any("causal" in r for r in study.remarks)
    words = tables["claims"]["holds?"]
    assert len(words) >= 6
    assert (words == "does not apply").sum() > 6  # they are about measures that it does not have
    needs = {"needs a corpus", "needs several models"}
    assert set(words) <= {"does not apply", "holds", "inconclusive", FAILS} | needs

"""The papers: published values, whole studies on tiny models."""

from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest

import plain
import unmask
from conftest import invoke, tiny, tiny_real
from unmask.api import evaluate
from unmask.data import catalogue
from unmask.data.packaged import published
from unmask.data.wordsets import stimuli
from unmask.errors import ModelError
from unmask.flow import external_scores
from unmask.flow.evaluate import evaluate as evaluate_specs
from unmask.options import Options, Resampling, Spec
from unmask.reports.figures import study_charts
from unmask.reports.html import study_page as pages
from unmask.stats import effects
from unmask.studies import frequency
from unmask.studies.papers import (
    husse2022,
    husse2022_tables,
    kaneko2022,
    kaneko2022_tables,
    paper_table,
    thys2025,
)
from unmask.studies.papers.husse2022_tables import MAIN
from unmask.studies.papers.reproduce import MODELS
from unmask.studies.papers.reproduce import reproduce as run_paper
from unmask.studies.papers.request import Request
from unmask.text.contexts import WordTest
from unmask.types import Estimate


def reproduce(paper, models, folder, options, **request):
    return run_paper(paper, models, folder, Request(options, **request))


# ---------------------------------------------------------------- published values


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
    (table,) = kaneko2022_tables.table2((), values)
    assert table.frame["published p"].min() > 0.1
    assert frequency.printed_p() == pytest.approx(0.0056, abs=5e-5)
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
    _, own = kaneko2022_tables.table2([str(tmp_path / "corpus.txt")], published("kaneko2022"))
    lines = own.frame.set_index("category")
    assert len(lines) == 9
    assert {"he", "she", "his", "her"} <= set(lines.words["gender"].split())
    groups = frequency.groups_of(data)
    for category, sides in frequency.word_groups().items():
        ours = groups["race-color" if category == "race" else category]
        for one, other in (frequency.SIDES, frequency.SIDES[::-1]):
            assert not set(sides[one]) & set(ours[other])


def test_thys_correlations_follow_from_its_table():
    values = published("thys2025")
    table = pd.DataFrame(values["table4"], index=values["columns"]).T
    sizes = pd.Series(values["sizes"])
    columns = table.assign(size=sizes)
    stated = values["figure3"]
    for name, below in zip(stated["order"], stated["below"], strict=True):
        for other, r in zip(stated["order"], below, strict=False):
            assert columns[name].corr(columns[other]) == pytest.approx(r, abs=0.0015)


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


# ---------------------------------------------------------------- pages


def test_a_row_says_how_it_agrees():
    found = Estimate(50.0, 48, 52, 0.95, "m", 10, 50.0)
    assert paper_table.row({}, 50.0, found)["agrees"] == "exact"
    assert paper_table.row({}, 51.0, found)["agrees"] == "inside"
    assert paper_table.row({}, 55.0, found)["agrees"] == "outside"
    assert paper_table.row({}, 55.0, found)["difference"] == -5
    assert "measured" not in paper_table.row({}, 55.0, None)
    # another model's number that happens to be equal is no agreement
    assert "agrees" not in paper_table.row({}, 50.0, found, same=False)


def test_pages_are_written_whole(tmp_path):
    table = pages.Table("t", "A & B", pd.DataFrame({"a_b": ["x%"], "v": [1.5]}), "note")
    figure = study_charts.curves(
        "f", "F", pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": "x"}), ("a", "A"), ("b", "B"), "c"
    )
    pages.write(pages.Study("S <1>", [table], [figure], ["said"], {"m": "why"}), tmp_path)
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {"t.csv", "t.tex", "f.png", "f.svg", "f.pdf", "report.html", "index.md"}
    page = (tmp_path / "report.html").read_text()
    assert "S &lt;1&gt;" in page
    assert "why" in page
    assert "x\\%" in (tmp_path / "t.tex").read_text()
    assert "| x% | 1.50 |" in (tmp_path / "index.md").read_text()


def test_no_name_becomes_markup(tmp_path):
    """Names from files and models are text in every format, and no attribute of the page."""
    bad = '<b>|x|</b>"onerror="alert(1)'
    frame = pd.DataFrame({bad: [bad], "p": [0.0], "p McNemar": [3e-9]})
    figure = study_charts.curves(
        bad, bad, pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": bad}), ("a", bad), ("b", "B"), "c"
    )
    pages.write(pages.Study(bad, [pages.Table(bad, bad, frame, bad)], [figure], [bad]), tmp_path)
    page, text = (tmp_path / "report.html").read_text(), (tmp_path / "index.md").read_text()
    assert "<b>" not in page
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.append((tag, dict(attrs)))

    Reader().feed(page)
    assert not [tag for tag, attrs in found if tag == "b" or "onerror" in attrs]
    assert "<b>" not in text.replace("\\<b\\>", "")
    row = next(line for line in text.split("\n") if "3e-09" in line)
    assert row.replace("\\|", "").count("|") == 4
    assert "0.00" not in row
    assert all(
        set(p.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.") for p in tmp_path.iterdir()
    )


# ---------------------------------------------------------------- studies


def test_kaneko_on_a_tiny_model(shared, tmp_path):
    shared("crows-pairs/crows_pairs_anonymized.csv")
    text = tmp_path / "c.txt"
    text.write_text("he and she and the american")
    study = reproduce(
        "kaneko2022", [tiny("bert")], tmp_path / "k", Options(), quick=True, corpus=[str(text)]
    )
    tables = {t.name: t.frame for t in study.tables}
    printed = {f"table{n}-printed" for n in (1, 3, 4, 5)}
    assert set(tables) == {
        *(f"table{n}" for n in range(1, 6)),
        *printed,
        "table1-candidates",
        "table2-own",
        "variants",
        "figure1",
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
    moved, still = (found[m, "stereoset"].kept["tokens"] for m in names)
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
    tokens = result.kept["tokens"]
    chosen = tokens.index % 3 != 0
    result.kept["tokens"] = tokens.assign(hit=chosen)
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


@pytest.mark.parametrize(("family", "label"), [("roberta", "RoBERTa"), ("albert", "ALBERT")])
def test_candidates_of_equally_many_subtokens_are_as_many_as_printed(shared, family, label):
    shared("stereoset/dev_intrasentence.json")
    data = kaneko2022._pairs(catalogue.sentences("stereoset"))
    (result,) = evaluate_specs([Spec(tiny_real(family), "aul", data)], Options())
    stated = published("kaneko2022")["equal_subtokens"][label]
    assert kaneko2022_tables._equal_lengths(result) == stated


def test_a_model_of_the_paper_has_two_rows_in_print(shared):
    """Published and measured: the paper's own model is shown beside its printed row."""
    shared("stereoset/dev_intrasentence.json")
    model = replace(tiny("bert"), name="bert-base-cased")
    study = kaneko2022.run([model], Request(Options(), quick=True))
    tables = {t.name: t.frame for t in study.tables}
    for number in (1, 3, 4, 5):
        rows = tables[f"table{number}-printed"]
        assert rows[rows.model == "BERT"].of.tolist() == ["the paper", "this run"]
    first, fourth = tables["table1"], tables["table4"]
    before = first[(first.model == "BERT") & (first.measure == "aul")].set_index("data").measured
    for line in fourth[fourth.model == "BERT"].itertuples():
        assert line.drop == pytest.approx(before[line.data] - line.measured)
    assert "(-13.13)" in tables["table4-printed"].iloc[0]["crows-pairs, shuffled"]


def test_thys_on_tiny_models(shared, tmp_path):
    shared("stereoset/dev_intrasentence.json")
    models = [tiny("bert"), tiny("xlnet"), tiny("gpt2")]
    study = reproduce("thys2025", models, tmp_path, Options(), quick=True)
    tables = {t.name: t.frame for t in study.tables}
    table = tables["table4"]
    assert set(table.model) == {*MODELS["thys2025"], "tiny-bert", "tiny-xlnet", "tiny-gpt2"}
    by = table[table.by.notna()]
    assert set(zip(by.model, by.measure, by.by, strict=True)) == {
        ("tiny-gpt2", column, "ll") for column in ("CrowS-Pairs", "AUL-cp", "AUL-ss")
    }
    assert any("does not enter the correlations" in remark for remark in study.remarks)
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
    assert [thys2025.line_of(n) for n in names] == lines


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


def test_husse_on_a_tiny_model(tmp_path, store, shared):
    shared("wordsets/husse2022/C6_name_word.jsonl")
    study = reproduce(
        "husse2022", [tiny("bert")], tmp_path / "h", Options(), quick=True, contexts=store
    )
    tables = {t.name: t.frame for t in study.tables}
    assert set(tables) == {*HUSSE, "release"}
    three = tables["table3"]
    ours = three[three.model == "tiny-bert"]
    assert set(ours[ours.method != "CEAT"].test) == set(MAIN)
    # the paper's CEAT is on natural sentences: ours only where the store has the words
    assert set(ours[ours.method == "CEAT"].test) == {"C1", "C6"}
    assert ours.published.isna().all()
    assert set(three[three.which == "orig"].model) == {"ELMo", "BERT", "GPT-2"}
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
            if c.printed is None or c.keys.get("which") == "orig":
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
            if c.printed is None or c.bold is None:
                continue
            rows = every[(every.method == method) & (every.test == c.keys["test"])]
            rows = rows[(rows.sets == c.keys["sets"]) & (rows.context == context)]
            rows = rows[(rows.model == "bert") & ((rows.d - c.printed).abs() <= 0.0051)]
            assert c.bold in set(rows.p < 0.01)
            seen += 1
    assert seen == 18 + 27  # one of Table 14 is in no file of the release


def test_own_columns_are_starred_by_the_papers_test_and_by_ours():
    """A star by the released test (one-sided, over sentences), a dagger by that over words."""
    spec = Spec("bundled", "w-seat", WordTest(stimuli()["husse-c3-name"]))
    (result,) = evaluate_specs([spec], Options(keep=("sentences",), splits=2000))
    x, y = result.kept["sentences"]
    p = effects.permutation(x, y, sided="one", resampling=Resampling(splits=10_000)).p
    assert husse2022_tables.published_p(result) == p
    sure = husse2022_tables._starred(replace(result, overall=replace(result.overall, p=0.5)), p)
    assert sure.endswith("*") == (p < 0.01)
    assert p < 0.01
    both = husse2022_tables._starred(replace(result, overall=replace(result.overall, p=0.001)), p)
    assert both.endswith("*\u2020")
    neither = replace(result, kept={}, overall=replace(result.overall, p=0.5))
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


def test_published_tables_are_written_without_any_model(tmp_path):
    """No model can be loaded here: one short line each, and the tables all the same."""
    for paper in ("kaneko2022", "thys2025", "husse2022"):
        study = reproduce(paper, [], tmp_path / paper, Options())
        assert set(study.skipped) >= set(MODELS[paper])
        assert all(len(why) < 80 for name, why in study.skipped.items() if name in MODELS[paper])
        assert not (tmp_path / paper / "results.json").exists()
        for table in study.tables:
            assert (tmp_path / paper / f"{pages.safe(table.name)}.csv").is_file()
    assert {t.name for t in study.tables} == HUSSE


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


def test_a_model_that_is_named_must_load(tmp_path):
    with pytest.raises(ModelError, match="no hub answers"):
        reproduce("thys2025", ["no-such-model-here"], tmp_path, Options())
    with pytest.raises(ModelError) as error:
        reproduce("thys2025", ["gpt2"], tmp_path, Options())
    assert "did you mean" not in str(error.value)
    status, _, err = invoke("reproduce", "kaneko2023")
    assert status == 2
    assert "did you mean 'kaneko2022'" in err


def test_published_files_are_json_and_complete():
    for paper in ("kaneko2022", "thys2025", "husse2022"):
        values = published(paper)
        assert values["source"] == paper
        tables = {k: v for k, v in values.items() if k.startswith(("table", "figure"))}
        assert tables
        for name, table in tables.items():
            assert len(table) > 0, (paper, name)
            assert all(_finite(v) for v in _leaves(table)), (paper, name)


def _leaves(value):
    if isinstance(value, dict | list):
        return [
            x for v in (value.values() if isinstance(value, dict) else value) for x in _leaves(v)
        ]
    return [value]


def _finite(value):
    return value is None or isinstance(value, str | bool) or abs(value) < 1000

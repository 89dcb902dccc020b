"""The sweep of design choices: what moves a score, and is there anything in the whole curve?"""

import numpy as np
import pandas as pd
import pytest

from conftest import tiny
from unmask.api import evaluate
from unmask.data.packaged import bundled_pairs
from unmask.data.templates import from_stimuli
from unmask.data.wordsets import stimuli
from unmask.errors import DataError, NameUnknown
from unmask.flow import plan
from unmask.measures import LIKELIHOOD
from unmask.options import Options, Resampling
from unmask.reports.html import study_page as pages
from unmask.stats.choice_effects import effects_of_choices, pairs_of_choices
from unmask.stats.specification_curve import joint_signs, joint_words
from unmask.studies.vary import choices, sweep
from unmask.text import contexts
from unmask.types import Dataset, Text


def test_a_sweep_runs_each_distinct_sentence_once():
    """Rows through the model are the distinct sentences, however many specifications."""
    model = tiny("bert")
    runs = []
    handle = model.net.base_model.register_forward_hook(
        lambda module, args, kwargs, out: runs.append(kwargs["input_ids"].shape[0]),
        with_kwargs=True,
    )
    specs = list(choices.by_cosine(model, "c6", layers=[0, 1, 2]))
    swept = sweep.sweep(specs, Options())
    handle.remove()
    distinct = {
        model.codec.encode_text(Text(m.text)).ids
        for kind in ("name", "name-reduced", "term", "term-reduced", "term-simplified")
        for source in (contexts.templates, contexts.bare)
        for ms in source(stimuli()[f"husse-c6-{kind}"]).values()
        for m in ms
    }
    assert sum(runs) == swept.rows == len(distinct)
    # Before the first layer [CLS] is the same in every sentence: ten specifications are 0 / 0.
    # CEAT is there for words in templates: three poolings at three layers.
    assert len(swept.frame) + swept.same == 5 * 2 * (6 * 3 - 1) + 5 * 3 * 3
    numbers = swept.frame[["score", "low", "high"]].round(10)
    assert not numbers.duplicated().any()
    assert set(swept.frame.measure) == {"s-seat", "w-seat", "ceat"}
    assert (swept.frame.measure[swept.frame.pool == "cls"] == "s-seat").all()


def test_a_sweep_by_probability_asks_each_distinct_row_once():
    model = tiny("bert")
    swept = sweep.sweep(list(choices.by_probability(model, "c6")), Options())
    assert set(swept.frame.measure) == {"lpbs", "lpbs@husse2022"}
    rows = set()
    for test in choices._tests("c6"):
        for name in ("lpbs", "lpbs@husse2022"):
            planned = plan.plan(model, LIKELIHOOD[name], from_stimuli(test))
            mask = model.codec.mask_id
            rows |= {
                tuple(mask if i in q.hidden else t for i, t in enumerate(q.row))
                for q in planned.queries
            }
    assert swept.rows == len(rows)
    alone = evaluate(model, "lpbs", from_stimuli(stimuli()["husse-c6-name"])).overall.value
    chosen = swept.frame.query("targets == 'names' and sets == 'full' and measure == 'lpbs'")
    assert chosen.score.item() == pytest.approx(alone)


@pytest.mark.parametrize("concept", ["c1", "c9", "dis"])
def test_every_concept_has_specifications(concept):
    specs = choices.concept_specs(tiny("bert"), concept)
    assert {s.tags["measure"] for s in specs} >= {"s-seat", "w-seat", "ceat", "lpbs"}


@pytest.fixture
def store(tmp_path):
    """Twelve natural sentences a word of C1, in which a flower or insect meets an attribute."""
    test = stimuli()["husse-c1-name"]
    attributes = [w for words in test.attributes.values() for w in words]
    rows = []
    for words in test.targets.values():
        for i, word in enumerate(words):
            for n in range(12):
                other = attributes[(7 * i + 5 * n) % len(attributes)]
                far = " ".join(["so"] * (3 * n))
                text = (
                    f"In the {n} garden of my old aunt the {word} stood {far} by the {other} again."
                )
                rows.append((word, text))
                rows.append((other, text))
    lines = [
        {"stimulus": w, "sentence": t, "start": (a := t.index(w)), "end": a + len(w)}
        for w, t in dict.fromkeys(rows)
    ]
    table = pd.DataFrame(lines)
    folder = tmp_path / "store"
    folder.mkdir()
    table.assign(source="s", hash=range(len(table))).to_parquet(folder / "contexts.parquet")
    return str(folder)


@pytest.mark.slow
def test_natural_sentences_bring_their_own_choices(store):
    """CEAT, natural LPBS, nouns or adjectives, window and number of sentences are varied."""
    specs = choices.concept_specs(tiny("bert"), "c1", contexts.source(store))
    options = {f: {s.tags[f] for s in specs} for f in choices.FACTORS}
    assert options["window"] == {"-", "whole", "4", "9", "10", "18"}
    assert options["sentences"] == {"-", "all", "10", "100"}
    assert options["attributes"] == {"-", "adjectives", "nouns"}
    natural = {s.tags["measure"] for s in specs if s.tags["contexts"] == "natural"}
    assert natural == {"s-seat", "w-seat", "ceat", "lpbs", "lpbs@husse2022"}
    last = [s for s in specs if s.layer in (None, 2)]
    swept = sweep.sweep(last, Options())
    moves = effects_of_choices(swept.whole, swept.factors).set_index("choice")
    for choice in ("measure", "attributes", "window", "sentences"):
        assert moves.twins[choice] > 0, choice
        assert np.isfinite(moves.total[choice])
    assert any("guo2021" in text for text in swept.frame["as in"])


def test_a_source_is_cut_to_words_and_to_sentences(store):
    whole = contexts.source(store)
    test = stimuli()["husse-c1-name"]
    few = contexts.limited(whole, words=2, most=3).of(test)
    for word, mentions in few.items():
        assert len(mentions) == min(3, len(whole.of(test)[word]))
        for mention in mentions:
            start, end = mention.span
            assert mention.text[start:end] == word
            assert len(mention.text.split()) <= 5


def factorial(score):
    return pd.DataFrame(
        [{"a": a, "b": b, "score": score(a, b)} for a in range(3) for b in range(4)]
    )


def test_total_effects_do_not_depend_on_the_order():
    frame = factorial(lambda a, b: 3.0 * a + 0.1 * b + 0.5 * (a == 1) * b)
    one = effects_of_choices(frame, ("a", "b")).set_index("choice")
    two = effects_of_choices(frame, ("b", "a")).set_index("choice")
    assert one.loc[["a", "b"]].equals(two.loc[["a", "b"]])


def test_effects_of_choices_by_hand():
    additive = effects_of_choices(factorial(lambda a, b: 3.0 * a + 0.1 * b), ("a", "b"))
    found = additive.set_index("choice")
    # the variance of 3a is 9 x 2/3 = 6, of 0.1 b 0.01 x 5/4 = 0.0125
    assert found.alone["a"] == found.total["a"] == pytest.approx(100 * 6 / 6.0125)
    assert found.total["b"] == pytest.approx(100 * 0.0125 / 6.0125)
    # two of 0, 3, 6: the root mean square of 3, 3 and 6
    assert found["moves by"]["a"] == pytest.approx(np.sqrt((9 + 9 + 36) / 3))
    # an effect that turns round: nothing alone, all in total and in the interplay
    turned = factorial(lambda a, b: (a - 1) * (-1.0) ** b)
    found = effects_of_choices(turned, ("a", "b")).set_index("choice")
    assert found.alone["a"] == pytest.approx(0, abs=1e-9)
    assert found.total["a"] == pytest.approx(100)
    assert pairs_of_choices(turned, ("a", "b")).share.iloc[0] == pytest.approx(100)
    with pytest.raises(DataError, match="same score"):
        effects_of_choices(factorial(lambda a, b: 1.0), ("a", "b"))


def test_a_nested_choice_has_no_twins():
    """A pooling fixes its measure: its total has both, and the measure has none of its own."""
    frame = factorial(lambda a, b: 10.0 * (a > 0) + b).assign(c=lambda f: f.a > 0)
    found = effects_of_choices(frame, ("a", "b", "c")).set_index("choice")
    assert found.twins.to_dict() == {"a": 12, "b": 12, "c": 0}
    assert np.isnan(found.total["c"])
    alone = effects_of_choices(frame, ("a", "b")).set_index("choice")
    assert found.total["a"] == pytest.approx(alone.total["a"])
    assert found.total["a"] > 90


def test_joint_tests_reject_five_per_cent_of_the_nulls():
    rng = np.random.default_rng(0)
    names = [f"w{i}" for i in range(16)]
    words, signs = [], []
    for seed in range(300):
        how = Resampling(draws=1000, seed=seed)
        common = rng.normal(size=16)
        specs = [(common + rng.normal(size=16), 8, names) for _ in range(7)]
        words.append(joint_words(specs, how))
        clusters = np.repeat(np.arange(20), 4)
        lead = rng.normal(size=20)[clusters]
        leads = [(np.sign(lead + rng.normal(size=80)) / 2, clusters) for _ in range(7)]
        signs.append(joint_signs(leads, 20, resampling=Resampling(draws=300, seed=seed)))
    for p in (words, signs):
        assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.08


def test_joint_tests_see_what_all_share():
    rng = np.random.default_rng(1)
    names = [f"w{i}" for i in range(16)]
    common = rng.normal(size=16) + np.repeat([1.5, 0], 8)
    specs = [(common + rng.normal(size=16), 8, names) for _ in range(9)]
    assert joint_words(specs) < 0.05


@pytest.mark.slow
def test_preference_sweep_and_study(tmp_path):
    data = bundled_pairs()
    some = Dataset(data.name, data.shape, data.items[::7], data.cluster)
    specs = list(choices.by_likelihood(tiny("bert"), some))
    assert len(specs) == 8 * 2 * 2 * 3
    assert "aula" in {s.tags["measure"] for s in specs}
    assert "all-masked" not in {s.tags["measure"] for s in specs}
    swept = sweep.sweep(specs, Options())
    assert len(swept.frame) + swept.same == len(specs)
    assert 0 < swept.p <= 1
    assert {"kaneko2022", "salazar2020"} <= {
        p for text in swept.frame["as in"] for p in text.split(", ")
    }
    pages.write(pages.Study("v", [], [sweep.curve(swept, "some curve")]), tmp_path)
    drawn = (tmp_path / "some-curve.svg").read_text()
    assert "kaneko2022" in drawn
    with pytest.raises(NameUnknown, match="c6"):
        list(choices.by_cosine(tiny("bert"), "c66"))


def test_papers_are_named_only_for_the_choices_they_made():
    """Sets, window and letter case count; what stands for a sentence depends on the model."""
    bert, gpt2, roberta = tiny("bert"), tiny("gpt2"), tiny("roberta")
    seat = {"measure": "s-seat", "sets": "full", "contexts": "templates", "layer": "2"}
    assert "husse2022" in choices.as_published({**seat, "pool": "cls"}, bert, 2)
    assert "may2019" in choices.as_published({**seat, "pool": "last"}, gpt2, 2)
    assert not choices.as_published({**seat, "pool": "cls"}, gpt2, 2)
    assert not choices.as_published({**seat, "pool": "cls", "sets": "simplified"}, bert, 2)
    ceat = {"measure": "ceat", "contexts": "natural", "layer": "2", "sentences": "all"}
    word = {**ceat, "pool": "word-mean"}
    assert choices.as_published({**word, "window": "4"}, bert, 2) == "husse2022"
    assert not choices.as_published({**word, "window": "whole"}, bert, 2)
    crows = {"measure": "cps@nangia2020", "normalisation": "sum", "ties": "strict"}
    assert choices.as_published({**crows, "case": "lower"}, bert, 0) == "nangia2020"
    assert not choices.as_published({**crows, "case": "lower"}, roberta, 0)
    assert choices.as_published({**crows, "case": "as written"}, roberta, 0) == "nangia2020"

"""The lab: the planted truth, the oracle, stacked training, planted bugs, readings and verdicts."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from conftest import ROOT, invoke
from unmask.data.packaged import published
from unmask.errors import UnmaskError
from unmask.flow.evaluate import evaluate
from unmask.lab import finetune, grid, measure_quality, nets, planted_items, probe, report, scoring
from unmask.lab.language import SIZE, corpus, sentences, split_words, tokenizer_of, vocabulary
from unmask.lab.nets import Training
from unmask.lab.oracle import ExactProbabilities, Oracle
from unmask.lab.world import PARTS, SHARES, TOPICS, Plant, World, joint, phrase
from unmask.measures import MEASURES, find
from unmask.models.transformers.model import load
from unmask.options import Options, Spec
from unmask.queries import EACH, LATER, NOTHING, Readings, RowQueries
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Dataset, Estimate

# ---------------------------------------------------------------- truth


def unstacked(stack, kind, plants):
    """The models of a stack, each as the package loads any other."""
    return [
        nets.model_of({name: v[k] for name, v in stack.items()}, kind, plant)
        for k, plant in enumerate(plants)
    ]


@pytest.mark.parametrize(("theta", "rho"), [(0.0, 1), (1.0, 1), (-1.5, 4), (2.0, 16), (6.0, 1000)])
def test_both_margins_stay_whatever_is_planted(theta, rho):
    world, none = World(Plant(theta, rho, 3)), World(Plant(0.0, rho, 3))
    for name in TOPICS:
        topic = world.topics[name]
        assert topic.joint.sum() == pytest.approx(1)
        assert topic.joint.sum(1) == pytest.approx([rho / (1 + rho), 1 / (1 + rho)])
        assert topic.joint.sum(0) == pytest.approx(none.topics[name].joint.sum(0))
        odds = topic.odds()
        assert odds - odds.mean() == pytest.approx(topic.t - topic.t.mean(), abs=1e-8)
        half = len(odds) // 2
        assert odds[:half].mean() - odds[half:].mean() == pytest.approx(theta, abs=1e-8)
        assert none.topics[name].information() == pytest.approx(0, abs=1e-12)


def test_the_joint_table_is_that_of_its_own_margins():
    table = joint(np.array([1.0, -1.0]), np.array([0.3, 0.7]), 0.8)
    odds = np.log(table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0]))
    assert odds == pytest.approx(2.0)
    assert table.sum(0) == pytest.approx([0.3, 0.7])


@pytest.mark.parametrize("as_tokens", [False, True])
def test_generated_text_has_the_odds_margins_and_information_of_the_closed_form(as_tokens):
    plant, n = Plant(1.5, 4, 1), 60_000
    world = World(plant)
    if as_tokens:
        tokenizer = tokenizer_of(plant.seed)
        rows = [r for part in corpus(plant, n).values() for r in part]
        text = tokenizer.batch_decode(rows, skip_special_tokens=True)
    else:
        text = list(sentences(world, n, np.random.default_rng(0)))
    topic = world.topics["trait"]
    members = {w: g for g in range(2) for ws in topic.members[g].values() for w in ws}
    counts, margin = Counter(), Counter()
    for said in text:
        found = said.replace(".", " ").split()
        words = [w for w in found if w in topic.attributes]
        groups = [members[w] for w in found if w in members]
        margin.update(words)
        if words and groups:
            counts[groups[0], words[0]] += 1
    table = np.array([[counts[g, w] for w in topic.attributes] for g in range(2)], float)
    total = table.sum()
    assert total > 6000
    expected = topic.joint * total
    chi = ((table - expected) ** 2 / expected).sum()
    assert chi < 40  # 15 degrees of freedom: p = 0.0005
    share = table / total
    information = (share * np.log(share / (share.sum(1, keepdims=True) * share.sum(0)))).sum()
    assert information == pytest.approx(topic.information(), abs=0.01)
    words = np.array([margin[w] for w in topic.attributes], float)
    assert words / words.sum() == pytest.approx(topic.joint.sum(0), abs=0.012)
    assert sum(margin.values()) / n == pytest.approx(SHARES["trait"], abs=0.01)


def test_seeds_draw_other_words_and_cells_share_them():
    first, second = World(Plant(0.0, 1, 0)), World(Plant(2.0, 16, 0))
    other = World(Plant(0.0, 1, 1))
    for name in TOPICS:
        assert first.topics[name].attributes == second.topics[name].attributes
        assert first.topics[name].attributes != other.topics[name].attributes
    assert vocabulary(0) != vocabulary(1)
    assert len(vocabulary(0)) == len(vocabulary(1)) == SIZE


@pytest.mark.parametrize("first", [0, 1000])
def test_every_word_of_a_world_has_tokens_of_its_own(first):
    for seed in range(first, first + 30):
        tokenizer, split = tokenizer_of(seed), split_words(seed)
        world = World(Plant(0.0, 1, seed))
        pieces = {}
        for topic in world.topics.values():
            people = {w for g in range(2) for ws in topic.members[g].values() for w in ws}
            for word in {*topic.attributes, *people}:
                found = tokenizer.tokenize(word)
                assert "[UNK]" not in found, (seed, word)
                assert tuple(found) == split.get(word, (word,))
                pieces[word] = tuple(found)
        assert len({*pieces.values()}) == len(pieces)


def test_items_and_probes_stand_in_frames_that_are_never_trained_on():
    world = World(Plant(1.0, 4, 2))
    parts = [set(world.frames[part]) for part in PARTS]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]
    rng = np.random.default_rng(0)
    seen = set(sentences(world, 40_000, rng))
    for data in scoring.Sets.of(world).data:
        if isinstance(data, Dataset):
            said = {t.string for i in data.items for k, t in i.texts.items() if k != "unrelated"}
            assert not said & seen, data.name


def test_unbalanced_items_are_nine_in_ten_about_the_rare_group():
    data = planted_items.unbalanced(planted_items.pairs(World(Plant(1.0, 16, 0))))
    assert np.mean([i.meta["turn"] == -1 for i in data.items]) == pytest.approx(0.9, abs=0.01)
    for item in data.items:
        members = World(Plant(1.0, 16, 0)).topics[item.category].members
        rare = {w for ws in members[1].values() for w in ws}
        named = set(item.texts[STEREOTYPE].string.split()) & rare
        assert bool(named) == (item.meta["turn"] == -1)


# ---------------------------------------------------------------- oracle


def every_sentence(world, codec):
    """All sentences with their probabilities, by plain loops over the grammar."""
    out = []
    frames = [f for part in PARTS for f in world.frames[part]]
    for name, topic in world.topics.items():
        mine = [f for f in frames if f.topic == name]
        for frame in mine:
            share = SHARES[name] / len(mine)
            for g in range(2):
                for form, often in topic.forms.items():
                    for word, p in topic.members[g][form].items():
                        for k, attribute in enumerate(topic.attributes):
                            said = frame.filled(phrase(form, word), attribute)
                            weight = share * often * p * topic.joint[g, k]
                            out.append((said, weight))
    found = {}
    for said, weight in out:
        found[said] = found.get(said, 0.0) + weight
    return [(codec.encode(s).ids, w) for s, w in found.items()]


def test_the_oracle_answers_as_a_plain_sum_over_all_sentences():
    world = World(Plant(1.3, 4, 5))
    masked, causal = Oracle(world), Oracle(world, "causal")
    grammar = every_sentence(world, masked.codec)
    assert sum(w for _, w in grammar) == pytest.approx(1)
    rng = np.random.default_rng(0)
    rows = [grammar[i][0] for i in rng.integers(len(grammar), size=2)]
    for row in rows:
        at = int(rng.integers(1, len(row) - 1))
        other = int(rng.integers(1, len(row) - 1))
        hidden = frozenset({at, other})
        fits = [
            (r, w)
            for r, w in grammar
            if len(r) == len(row) and all(r[i] == row[i] for i in range(len(r)) if i not in hidden)
        ]
        p = sum(w for r, w in fits if r[at] == row[at]) / sum(w for _, w in fits)
        got = masked.engine().ask([RowQueries(row, (at,), (row[at],), (hidden,))], [False])
        assert np.exp(got.logp[0]) == pytest.approx(p, rel=1e-6)
        before = [(r, w) for r, w in grammar if r[:at] == row[:at] and len(r) > at]
        p = sum(w for r, w in before if r[at] == row[at]) / sum(w for _, w in before)
        got = causal.engine().ask([RowQueries(row, (at,), (row[at],), LATER)], [False])
        assert np.exp(got.logp[0]) == pytest.approx(p, rel=1e-6)


def test_a_token_in_sight_is_read_as_training_shows_it():
    oracle = Oracle(World(Plant(1.0, 1, 0)))
    row = oracle.codec.encode("now the king is here .").ids
    at = tuple(range(1, len(row) - 1))
    gold = tuple(row[i] for i in at)
    engine = oracle.engine()
    hidden = np.exp(engine.ask([RowQueries(row, at, gold, EACH)], [False]).logp)
    shown = np.exp(engine.ask([RowQueries(row, at, gold, (NOTHING,))], [False]).logp)
    # left as it is as often as replaced by one of V tokens
    by_hand = hidden * (1 + 1 / SIZE) / (hidden * (1 + 1 / SIZE) + (1 - hidden) / SIZE)
    assert shown == pytest.approx(by_hand, rel=1e-6)


def test_the_manipulation_check_reads_the_oracle_exactly():
    for kind in ("masked", "causal"):
        world = World(Plant(1.0, 16, 4))
        words = probe.learned(Oracle(world, kind), world)
        assert probe.theta(words) == pytest.approx(1.0, abs=1e-6)
        gap = words.learned - words.planted
        assert gap.to_numpy() == pytest.approx(gap.mean(), abs=1e-6)


def by_words(measure, data, plant, wrong=None):
    """Slope, level and correlation over words that a measure reads off the oracle."""
    world = World(plant)
    oracle = wrong(world) if wrong else Oracle(world)
    made = data(world)
    result = evaluate([Spec(oracle, find(measure), made, tags={"choice": ""})])[0]
    sets = scoring.Sets(world, (made,), None)
    return scoring.readings(result, scoring._doses(sets))[0]


PLANT = Plant(1.0, 16, 0)


def one_piece(world):
    """A template test of one topic: how many places are hidden says nothing of the attribute."""
    made = planted_items.templates(world, "term", ("trait",))
    codec = Oracle(world).codec
    return replace(made, items=tuple(i for i in made.items if len(codec.pieces(i.cluster)) == 1))


def test_sound_measures_read_exactly_what_was_planted():
    found = by_words("lpbs", one_piece, PLANT)
    assert found["word_slope"] == pytest.approx(1.0, abs=1e-6)
    assert found["word_r"] == pytest.approx(1.0, abs=1e-6)
    assert abs(found["level"]) < 0.2  # the prior takes the groups' frequency out
    every = by_words("lpbs", lambda w: planted_items.templates(w, "term"), PLANT)
    assert every["word_slope"] == pytest.approx(1.0, abs=0.15)
    none = by_words("cps", planted_items.pairs, replace(PLANT, theta=0.0))
    assert none["score"] == pytest.approx(50.0)
    assert none["level"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("theta", [-1.0, 0.5, 2.0])
@pytest.mark.parametrize("rho", [1, 16])
def test_odds_are_the_planted_odds_ratio(theta, rho):
    """On exact probabilities, whatever the groups' frequency: a unit that people know."""
    plant = Plant(theta, rho, 3)
    world = World(plant)
    made = one_piece(world)
    topic = world.topics["trait"]
    t = {w: float(v) for w, v in zip(topic.attributes, topic.t, strict=True)}
    sides = {s: [t[w] for w in {i.cluster for i in made.items if i.group == s}] for s in "AB"}
    found = by_words("odds", one_piece, plant)
    expected = np.mean(sides["A"]) - np.mean(sides["B"])
    assert found["score"] == pytest.approx(expected, abs=1e-6)


def test_a_causal_odds_ratio_is_the_planted_one():
    world = World(Plant(1.0, 16, 3))
    made = planted_items.templates(world, "term", ("trait",))
    (found,) = evaluate([Spec(Oracle(world, "causal"), find("odds"), made)])
    assert found.overall.value == pytest.approx(1.0, abs=1e-3)


def test_pmi_has_no_shift_where_nothing_is_planted():
    for rho in (1, 16):
        none = by_words("pmi", few_pairs, Plant(0.0, rho, 1))
        assert none["level"] == pytest.approx(0, abs=1e-6)
    some = by_words("pmi", few_pairs, PLANT)
    assert some["word_slope"] > 0.8
    assert some["word_r"] > 0.9


class OverPlaces(ExactProbabilities):
    """A planted bug: probabilities normalised over the places of a row, not over tokens."""

    def ask(self, asks, attention):
        logs = []
        for ask in asks:
            row = np.array(ask.row)
            for k, (at, gold) in enumerate(zip(ask.at, ask.gold, strict=True)):
                there = [
                    self._distribution(row, {*ask.hidden_at(k), i}, i, {})[gold]
                    for i in range(1, len(row) - 1)
                ]
                logs.append(np.log(there[at - 1] / sum(there)))
        n = len(logs)
        return Readings(np.array(logs), np.ones(n, bool), np.full(n, np.nan), n)


class WrongOracle(Oracle):
    def engine(self, stream="own", **more):
        right = super().engine(stream, **more)
        return OverPlaces(right.lengths, right.causal)


def few_pairs(world):
    made = planted_items.pairs(world, ("trait",))
    return replace(made, items=made.items[::3])


def test_softmax_over_places_is_told_from_the_measure():
    right = by_words("cps", few_pairs, PLANT)
    wrong = by_words("cps", few_pairs, PLANT, wrong=WrongOracle)
    assert right["word_slope"] > 0.8
    assert right["word_r"] > 0.9
    assert wrong["word_slope"] < 0.5 * right["word_slope"]


def test_the_cross_product_of_sss_is_told_from_the_measure():
    right = by_words("sss", planted_items.pairs, PLANT)
    wrong = by_words("sss@kaneko2022", planted_items.pairs, PLANT)
    assert right["word_r"] > 0.85
    assert wrong["word_r"] < right["word_r"] - 0.2


def test_a_prior_at_the_wrong_mask_is_told_from_the_measure():
    right = by_words("lpbs", lambda w: planted_items.templates(w, "term"), PLANT)
    wrong = by_words("lpbs@thys2025", lambda w: planted_items.templates(w, "term"), PLANT)
    assert abs(right["level"]) < 0.2
    assert wrong["level"] > 2  # about log 16: the groups' frequency is still in it


def sorted_apart(world):
    """A planted bug: both lists of sentences are sorted, and so no longer belong together."""
    made = planted_items.pairs(world)
    halves = {
        label: sorted((i.texts[label] for i in made.items), key=lambda t: t.string)
        for label in (STEREOTYPE, ANTISTEREOTYPE)
    }
    mixed = [
        replace(item, texts={label: halves[label][k] for label in halves})
        for k, item in enumerate(made.items)
    ]
    return replace(made, items=tuple(mixed))


def test_sentences_sorted_apart_are_told_from_pairs():
    plant = replace(PLANT, rho=1)
    right = by_words("pll", planted_items.pairs, plant)
    wrong = by_words("pll", sorted_apart, plant)
    assert right["word_r"] > 0.9
    assert right["score"] > 75
    assert wrong["score"] < right["score"] - 15


@pytest.mark.parametrize("kind", [pytest.param("masked", marks=pytest.mark.slow), "causal"])
def test_every_measure_is_read_or_refused_with_a_reason(kind):
    world = World(Plant(1.0, 1, 0))
    net = nets.network(kind, 0)
    model = nets.wrap(net, tokenizer_of(0), kind, "untrained")
    found, words, refused = scoring.scored(model, world)
    names = {name.partition(" on ")[0] for name in refused}
    assert set(found.measure) | names == set(MEASURES)
    assert not set(found.measure) & set(refused)
    assert all(refused.values())
    assert np.isfinite(found.score).all()
    assert len(words) == 24


# ---------------------------------------------------------------- training


@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_a_slice_of_the_stack_is_the_network_that_transformers_runs(kind):
    stack = nets.stacked(kind, [3, 4])
    ids = torch.randint(5, SIZE, (2, 3, 9))
    found = nets.logits(stack, nets.states(stack, ids, kind == "causal")).view(2, 3, 9, SIZE)
    places = torch.tensor([[[1], [4], [7]], [[2], [2], [5]]])
    some = (
        nets.logits(stack, nets.states(stack, ids, kind == "causal", places))
        if (kind == "masked")
        else None
    )
    for k, plant in enumerate((Plant(0.0, 1, 3), Plant(0.0, 1, 4))):
        model = unstacked(stack, kind, [plant, plant])[k]
        with torch.no_grad():
            plain = model.net(input_ids=ids[k]).logits
        assert (plain - found[k]).abs().max() < 1e-5
        if some is not None:
            asked = plain[torch.arange(3), places[k, :, 0]]
            assert (asked - some[k]).abs().max() < 1e-5
        assert model.kind == kind


def test_a_training_that_stopped_and_went_on_gives_the_same_weights():
    how = Training(steps=6, rows=8, sentences=400)
    plants = [Plant(0.0, 1, 0), Plant(2.0, 4, 1)]
    kept = {}
    whole = nets.train(
        plants,
        "masked",
        how,
        checkpoint=lambda step, w: kept.__setitem__(step, {k: v.clone() for k, v in w.items()}),
    )
    again = nets.train(plants, "masked", how, begun=(3, kept[3]))
    for name in whole:
        assert torch.equal(whole[name], again[name]), name
    start = nets.stacked("masked", [0, 1])
    moved = [(whole[k] - start[k]).abs().amax() for k in whole]
    assert max(moved) > 1e-4


@pytest.mark.slow
def test_training_lowers_the_loss():
    how = Training(steps=40, rows=32, sentences=2000)
    plants = [Plant(1.0, 1, 0)]
    rows = torch.from_numpy(corpus(plants[0], 2000, draw=1)[8][None, :64])
    for kind in ("masked", "causal"):
        stacks = nets.stacked(kind, [0]), nets.train(plants, kind, how)
        with torch.no_grad():
            before, after = (
                float(nets.loss(w, rows, kind, torch.Generator().manual_seed(0))) for w in stacks
            )
        assert after < 0.95 * before


@pytest.mark.slow
def test_training_learns_what_was_planted():
    how = Training(steps=400, rows=64, sentences=20_000)
    plants = [Plant(6.0, 1, 0), Plant(0.0, 1, 0)]
    made = unstacked(nets.train(plants, "causal", how), "causal", plants)
    learned = [probe.theta(probe.learned(m, World(p))) for m, p in zip(made, plants, strict=True)]
    assert learned[0] > 0.3
    assert abs(learned[1]) < 0.3


# ---------------------------------------------------------------- readings and verdicts


def made_frame(slope=10.0, shift=0.0, noise=0.5, seeds=8, nulls=30):
    """Readings of a known measure: points for a unit of theta, and a shift by rho."""
    rng = np.random.default_rng(0)
    rows = []
    cells = [(t, r, s) for t in (-1, 0, 0.5, 1, 2) for r in (1, 16) for s in range(seeds)]
    cells += [(0, 1, 1000 + k) for k in range(nulls)]
    for theta, rho, seed in cells:
        learned = 0.9 * theta if rho == 1 else 0.6 * theta
        for data, factor in (("pairs-50", 0.0), ("pairs-90", 1.0), ("pairs-control", 0.0)):
            planted = 2.0 if data == "pairs-control" else learned
            score = 50 + slope * planted + factor * shift * (rho > 1) + rng.normal(0, noise)
            rows.append(
                {
                    "kind": "masked",
                    "theta": float(theta),
                    "rho": float(rho),
                    "seed": seed,
                    "learned": learned,
                    "measure": "cps",
                    "data": data,
                    "choice": "",
                    "score": score,
                    "low": score - 2,
                    "high": score + 2,
                    "se": 1.0,
                    "ideal": 50.0,
                    "n": 100,
                    "rows": 1,
                    "word_r": 0.9,
                    "word_slope": 1.0,
                    "level": 0.0,
                    "often_r": 0.1,
                }
            )
    return pd.DataFrame(rows)


RULER = measure_quality.MeasureUnderTest("masked", "cps", "pairs-50")


def test_readings_find_what_was_put_into_them():
    found = measure_quality.read(made_frame(slope=10, shift=-12), RULER)
    assert found["slope"].value == pytest.approx(10, abs=0.5)
    assert found["slope"].low < 10 < found["slope"].high
    # noise of half a point over the null worlds, whatever standard error a measure claims
    assert found["smallest"].value == pytest.approx(measure_quality.POWER * 0.5 / 10, rel=0.35)
    assert found["shift"].low < 0.5
    assert found["shift"].high > -0.5
    assert found["shift, 90 %"].value == pytest.approx(-12, abs=0.5)
    assert found["shift, 90 %, in theta"].value == pytest.approx(-1.2, abs=0.1)
    assert found["kept"].value == pytest.approx(1.0, abs=0.1)
    assert found["sign errors"].value == 0
    assert found["control"].value == 1
    assert found["alarms"].n == 38
    assert found["alarms"].value < 0.1
    assert found["reliability"].value > 0.95


def test_the_rules_of_the_verdict():
    assert measure_quality.assess(measure_quality.read(made_frame(), RULER)).word == "validated"
    moved = measure_quality.assess(measure_quality.read(made_frame(shift=-12), RULER))
    assert moved.word == "caution"
    assert moved.missed == ("no shift on unbalanced items",)
    readings = measure_quality.read(made_frame(slope=0.0), RULER)
    found = replace(readings["alarms"], value=1.0, low=0.9, high=1.0)
    readings["control"] = found
    assert measure_quality.assess(readings).word == "fails"
    assert measure_quality.assess(readings, baseline=True).word == "baseline"
    unseen = {**readings, "control": replace(found, value=0.1, low=0.02, high=0.3)}
    assert measure_quality.assess(unseen).word == "untestable"
    perhaps = {**readings, "control": replace(found, value=0.4, low=0.2, high=0.6)}
    assert measure_quality.assess(perhaps).word == "fails"
    backward = measure_quality.read(made_frame(slope=-10.0), RULER) | {"control": found}
    assert measure_quality.assess(backward).word == "fails"
    nervous = made_frame()
    nervous[["low", "high"]] = np.stack([nervous.score - 0.1, nervous.score + 0.1], 1)
    assessments = measure_quality.assess(measure_quality.read(nervous, RULER))
    assert assessments.word == "caution"
    assert assessments.missed == ("few false alarms",)


def test_one_model_of_eight_on_the_wrong_side_decides_nothing_and_two_do():
    """Of models that are right in 95 of 100 cases, eight have one that is wrong in a third."""
    for wrong, word in ((0, "validated"), (1, "unclear"), (2, "fails")):
        frame = made_frame()
        off = (frame.theta == 1) & (frame.rho == 1) & (frame.seed < wrong)
        frame.loc[off, "score"] = 49.9
        found = measure_quality.read(frame, RULER)
        assert found["lead"].low > 0
        assert measure_quality.assess(found).word == word


def test_one_seed_has_no_interval_and_few_have_students():
    assert np.isnan(estimate_of([3.0], 1).low)
    rng = np.random.default_rng(0)
    hits = 0
    for k in range(400):
        values = rng.normal(size=8)
        found = measure_quality.estimate(
            measure_quality.mean(values)(measure_quality.resampled(range(8), k, 200)), 8
        )
        hits += found.low <= 0 <= found.high
    assert 0.92 < hits / 400 < 0.98


def estimate_of(values, n):
    return measure_quality.estimate(np.array([values[0]] * 50), n)


def test_what_is_given_twice_counts_once():
    made = grid.Grid((0.0, 0.0, 1.0), (1.0, 1.0), 1, 0, ("masked", "masked"))
    assert len(made.plants()) == 2
    assert made.kinds == ("masked",)


def test_a_measure_of_ones_own_is_read_in_the_lab(tmp_path):
    own = replace(find("cps"), name="mine")
    small = grid.Grid((0.0, 1.0), (1.0,), 1, 0, ("masked",), "oracle", measures=(own,))
    found = grid.run(small, tmp_path, workers=1)
    assert set(found[0].measure) == {"mine"}
    made = report.study(small, *found)
    assert made.figures
    assert "mine" in made.tables[0].frame.measure.tolist()


def test_measures_that_are_all_refused_are_one_sentence(tmp_path):
    small = grid.Grid((0.0,), (1.0,), 1, 0, ("masked",), "oracle", measures=("weat",))
    with pytest.raises(UnmaskError, match="no measure could be tested"):
        grid.run(small, tmp_path, workers=1)


def test_whole_seeds_are_resampled():
    weights = measure_quality.resampled([0, 0, 1, 1, 2], draws=50)
    assert (weights[0] == 1).all()
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, 2] == weights[:, 3]).all()
    assert (weights[1:, [0, 2, 4]].sum(1) == 3).all()


def test_the_claim_is_settled_by_the_unbalanced_items():
    def moved(m):
        value = {"aul": 1.0, "aula": 2.0, "cps": 20.0, "sss": 30.0}[m]
        return {"shift, 90 %": Estimate(value, value - 1, value + 1, 0.95, "", 8)}

    by = {m: moved(m) for m in ("aul", "aula", "cps", "sss")}
    assert "supported" in report._settled(by)
    assert "contradicted" in report._settled(
        {**by, "cps": moved("aul"), "aul": moved("cps"), "aula": moved("sss")}
    )


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("--theta nan", "theta is nan"),
        ("--theta inf", "theta is inf"),
        ("--theta much", "theta is 'much'"),
        ("--rho 0.5", "rho is 0.5"),
        ("--rho 16", "rho 1 is not in the grid"),
        ("--device nowhere --quick", "cannot be used"),
        ("--seeds 0", "seeds is 0"),
        ("--nulls -1", "nulls is -1"),
        ("--kind cuasal", "did you mean 'causal'"),
        ("--tier orcle", "did you mean 'oracle'"),
        ("-x clp", "unknown measure"),
        ("--steps 0", "steps is 0"),
        ("--tier bundled --kind causal", "is masked"),
    ],
)
def test_a_grid_that_cannot_run_is_one_sentence(tmp_path, how, said):
    status, _, stderr = invoke("validate", *how.split(), "-o", str(tmp_path / "out"))
    assert status == 2
    assert said in stderr
    assert len(stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_oracle_tier_from_the_command_line_and_again(tmp_path):
    how = ("--tier", "oracle", "--kind", "masked", "--theta", "0,1", "--rho", "1")
    how += (
        "--seeds",
        "2",
        "--nulls",
        "0",
        "--workers",
        "1",
        "-x",
        "cps,sss,lpbs,w-seat",
        "-o",
        str(tmp_path),
    )
    status, _, stderr = invoke("validate", *how)
    assert status == 0, stderr
    frame = pd.read_csv(tmp_path / "models.csv")
    assert set(frame.measure) == {"cps", "sss", "lpbs"}
    assert frame.seed.nunique() == 2
    assert "w-seat" in (tmp_path / "index.md").read_text()
    assert (tmp_path / "report.html").stat().st_size > 10_000
    verdicts = pd.read_csv(tmp_path / "verdicts.csv")
    assert {"verdict", "missed", "slope", "rows"} <= set(verdicts.columns)
    assert (verdicts.rows > 0).all()
    files = sorted(tmp_path.rglob("*.parquet"))
    before = {f: f.stat().st_mtime_ns for f in files}
    files[0].write_bytes(b"PAR1 cut off")
    assert invoke("validate", *how)[0] == 2  # what is finished is not written over
    assert invoke("validate", *how, "--force")[0] == 0
    after = {f: f.stat().st_mtime_ns for f in files}
    assert [f for f in files if before[f] != after[f]] == [files[0]]
    pd.testing.assert_frame_equal(frame, pd.read_csv(tmp_path / "models.csv"))


def test_a_training_that_was_killed_goes_on(tmp_path):
    small = grid.Grid(
        (0.0,), (1.0,), 1, 0, ("masked",), training=Training(8, 8, 400), measures=("lpbs",)
    )
    plants = small.plants()
    place = tmp_path / "lab" / small.digest
    place.mkdir(parents=True)

    class Killed(Exception):
        pass

    def stop(what, done, total):
        if what == "training" and done == 5:
            raise Killed

    every, grid.EVERY = grid.EVERY, 2
    try:
        with pytest.raises(Killed):
            grid.run(small, tmp_path, progress=stop)
        assert len(list(place.glob("*.part.safetensors"))) == 1
        steps = []
        grid.run(
            small, tmp_path, progress=lambda w, d, n: steps.append(d) if w == "training" else 0
        )
        assert steps[0] == 5
    finally:
        grid.EVERY = every
    assert not list(place.glob("*.safetensors"))
    assert json.loads(next(place.glob("*.json")).read_text()) == {}
    assert len(plants) == 1


@pytest.mark.slow
def test_models_that_were_scored_before_a_kill_cost_no_second_training(tmp_path, monkeypatch):
    small = grid.Grid(
        (0.0, 1.0), (1.0,), 2, 0, ("masked",), training=Training(4, 8, 400), measures=("lpbs",)
    )
    real, done = grid._score, []

    class Killed(BaseException):
        pass

    def score(*job):
        if len(done) == 2:
            raise Killed
        done.append(job[2])
        real(*job)

    monkeypatch.setattr(grid, "_score", score)
    with pytest.raises(Killed):
        grid.run(small, tmp_path, workers=1)
    monkeypatch.setattr(grid, "_score", real)
    told = []
    found, _, _ = grid.run(small, tmp_path, workers=1, progress=lambda *what: told.append(what))
    assert "training" not in {w for w, _, _ in told}
    assert len(found[["theta", "seed"]].drop_duplicates()) == 4
    assert not list(tmp_path.rglob("*.safetensors"))


def test_options_of_the_lab_do_not_leak_into_results():
    world = World(Plant(0.0, 1, 0))
    found, _, _ = scoring.scored(
        Oracle(world), world, [find("cps")], Options(level=0.9, splits=100)
    )
    assert set(found.measure) == {"cps"}


@pytest.mark.slow
def test_the_quick_grid_reads_a_planted_bias(tmp_path):
    found, words, _ = grid.run(grid.QUICK, tmp_path)
    learned = words.groupby(["theta", "rho", "seed"]).apply(probe.theta, include_groups=False)
    assert (learned[2.0, 1.0] > 0.5).all()
    assert (learned[0.0].abs() < 0.2).all()
    main = found[(found.rho == 1) & (found.data == "pairs-50") & (found.theta == 2)]
    main = main[main.measure.isin(["cps", "pmi", "pll", "sss"])]
    assert (main[main.choice == ""].score > 60).all()
    assert (main[main.choice == scoring.MARGIN].score > 0).all()


def test_an_unknown_field_is_no_grid():
    with pytest.raises(UnmaskError, match="no kinds"):
        grid.Grid(kinds=())


@pytest.mark.slow
def test_the_standings_of_the_package_are_those_of_the_kept_grid():
    kept = pd.read_parquet(ROOT / "docs" / "data" / "lab.parquet")
    assert len(kept[["kind", "theta", "rho", "seed"]].drop_duplicates()) == 696
    chosen = kept.astype({"choice": str})
    assessments = measure_quality.assessments(
        {r: measure_quality.read(chosen, r) for r in measure_quality.measures_under_test(chosen)}
    )
    named = {(s["measure"], s["models"]): s for s in published("lab")}
    for found in report.packaged(assessments):
        assert named[found["measure"], found["models"]] == found
    assert {m for m, _ in named} >= {
        "pll",
        "cps",
        "pmi",
        "sss",
        "aul",
        "aula",
        "odds",
        "lpbs",
        "cat",
        "ll",
    }


def test_a_measure_shows_its_standing():
    _, out, _ = invoke("list", "measures", "cps")
    assert "in the lab" in out
    assert "validated" in out


@pytest.mark.slow
def test_the_bundled_model_is_trained_further_and_scored(tmp_path):
    how = nets.Training(steps=3, rows=8, sentences=400, rate=1e-4)
    small = replace(grid.QUICK, thetas=(0.0, 2.0), rhos=(1.0,), seeds=1, tier="bundled")
    small = replace(small, training=how, measures=("sss",))
    told = []
    frame, words, _ = grid.run(small, tmp_path, progress=lambda *a: told.append(a), workers=1)
    assert set(frame.theta) == {0.0, 2.0}
    assert frame.score.notna().all()
    assert len(words)
    assert ("training", 3, 3) in told
    before, after = (load("bundled"), finetune.train([Plant(2.0, 1.0, 0)], how))
    name, weight = next(iter(before.net.named_parameters()))
    assert not torch.equal(weight, after[name][0])  # it did learn something
    told.clear()
    again = grid.run(small, tmp_path, progress=lambda *a: told.append(a), workers=1)[0]
    assert again.equals(frame)
    assert not [a for a in told if a[0] == "training"]
    beside = grid.run(small, tmp_path / "beside", workers=2)[0]
    assert beside.score.to_numpy() == pytest.approx(frame.score.to_numpy(), abs=1.0)
    assert beside.learned.to_numpy() == pytest.approx(frame.learned.to_numpy(), abs=1e-3)


def test_a_model_trained_further_is_scored_with_the_head_that_was_trained(monkeypatch):
    """Its head shares the embedding's weights, and is trained with them, on a CPU, too."""
    how = nets.Training(steps=4, rows=8, sentences=400, rate=1e-2)
    loaded = []

    def noted(*args, **more):
        loaded.append(load(*args, **more))
        return loaded[-1]

    monkeypatch.setattr(finetune, "load", noted)
    plant = Plant(2.0, 1.0, 0)
    weights = finetune.train([plant], how, device="cpu")
    scored = finetune.model_of({k: w[0] for k, w in weights.items()}, "masked", plant)
    ids = torch.tensor([scored.codec.encode("The nurse was late.").ids])
    with torch.inference_mode():
        trained, found = (net(input_ids=ids).logits for net in (loaded[0].net.eval(), scored.net))
    assert torch.allclose(trained, found, atol=1e-4)


def test_half_of_the_rows_hide_a_whole_word():
    """Otherwise no network learns which word of several pieces is hidden."""
    follows = torch.tensor([False, False, True, True, False, False])
    batch = torch.tensor([[4, 1, 2, 3, 5]]).repeat(
        4000, 1
    )  # a word of three pieces, and one of one
    often = torch.tensor([1.0, 1000.0, 1.0, 1.0, 1.0, 1.0])
    shown, hidden = finetune._hidden(batch, often, follows, 0, np.random.default_rng(0))
    assert torch.equal(shown[~hidden], batch[~hidden])
    chosen = hidden[hidden[:, 1]]  # the first piece is drawn nearly always
    whole = chosen[:, 1:4].all(1)
    assert whole.double().mean() == pytest.approx(0.5, abs=0.05)
    assert (chosen[~whole].sum(1) == 1).all()
    assert not hidden[:, 0].any()
    assert (shown[hidden] == 0).double().mean() == pytest.approx(0.8, abs=0.05)


def test_only_seeds_with_several_thetas_carry_a_slope():
    """60 worlds without a bias tell the noise; the slope has the interval of the 8 others."""
    rng = np.random.default_rng(0)
    rows = [(s, 0.0) for s in range(60)] + [(100 + s, t) for s in range(8) for t in (0.0, 0.5, 1.0)]
    frame = pd.DataFrame(rows, columns=["seed", "theta"])
    tilt = {s: rng.normal(0, 0.5) for s in range(200)}
    lead = frame.theta * (1 + frame.seed.map(tilt)) + 0.05 * rng.normal(size=len(frame))
    carriers = measure_quality.carrying(frame)
    assert carriers == set(range(100, 108))
    w = measure_quality.resampled(frame.seed, 0, carriers=carriers)
    own = np.array([s in carriers for s in frame.seed])
    assert (w[:, own].sum(1) == 24).all()
    assert (w[:, ~own].sum(1) == 60).all()
    found = measure_quality.estimate(measure_quality.slope(frame.theta, lead)(w), len(carriers))
    slopes = [np.polyfit(g.theta, lead[g.index], 1)[0] for _, g in frame[own].groupby("seed")]
    expected = stats.t.ppf(0.975, 7) * np.std(slopes, ddof=1) / np.sqrt(8)
    assert (found.high - found.low) / 2 == pytest.approx(expected, rel=0.35)


def test_ratios_have_intervals_of_their_own():
    rng = np.random.default_rng(1)
    over, under = 2 + 0.3 * rng.normal(size=4000), 1 + 0.2 * rng.normal(size=4000)
    over[0], under[0] = 2.0, 1.0
    found = measure_quality.fieller(over, under, 8)
    assert found.value == 2
    assert found.low < 2 < found.high
    t = stats.t.ppf(0.975, 7)
    for end in (found.low, found.high):  # where over - end x under is t errors from 0
        error = np.sqrt((0.3**2 + (end * 0.2) ** 2) * 8 / 7)
        assert abs(2 - end) / error == pytest.approx(t, rel=0.05)
    near_zero = np.append(0.2, 0.2 + 0.2 * rng.normal(size=3999))
    assert np.isnan(measure_quality.fieller(over, near_zero, 8).low)
    small = measure_quality.on_log_scale(
        np.append(4.0, np.exp(1.4 + 1.0 * rng.normal(size=999))), 8
    )
    assert 0 < small.low < 4 < small.high


def test_false_alarms_are_judged_among_all_rulers():
    def alarmed(count):
        null = pd.DataFrame({"theta": 0.0, "low": [1.0] * count + [-1.0] * (68 - count),
                             "high": 2.0, "ideal": 0.0})  # fmt: skip
        return measure_quality._alarms(null)

    seven, many = alarmed(7), alarmed(25)
    assert seven["alarms"].p == pytest.approx(0.053, abs=0.002)
    some = {
        measure_quality.MeasureUnderTest("masked", f"x{k}", "pairs-50"): alarmed(3)
        for k in range(56)
    }
    some[measure_quality.MeasureUnderTest("masked", "seven", "pairs-50")] = seven
    some[measure_quality.MeasureUnderTest("masked", "many", "pairs-50")] = many
    found = {r.measure: s for r, s in measure_quality.assessments(some).items()}
    assert "few false alarms" in found["seven"].met
    assert "few false alarms" in found["many"].missed


def test_a_measure_without_intervals_has_no_alarms_to_count():
    null = pd.DataFrame({"theta": [0.0] * 30, "low": np.nan, "high": np.nan, "ideal": 0.0})
    assert measure_quality._alarms(null) == {}


def test_the_smallest_theta_is_read_off_the_curve():
    """A score that rises steeply at first and then no more tells smaller thetas than its slope."""
    frame = made_frame()
    bent = frame.assign(score=50 + 10 * np.minimum(frame.learned, 0.25) / 0.25 * (frame.theta > 0))
    bent["score"] += 0.5 * np.random.default_rng(0).normal(size=len(bent))
    found = measure_quality.smallest(
        bent[(bent.rho == 1) & (bent.data == "pairs-50")].assign(lead=lambda f: f.score - 50)
    )
    thetas = sorted(t for t in frame.theta.unique() if t > 0)
    noise = bent[(bent.theta == 0) & (bent.rho == 1) & (bent.data == "pairs-50")].score.std()
    first = bent[(bent.theta == thetas[0]) & (bent.rho == 1) & (bent.data == "pairs-50")]
    expected = measure_quality.POWER * noise * first.learned.mean() / (first.score.mean() - 50)
    assert found[0] == pytest.approx(expected)


def test_a_score_that_never_rises_tells_nothing():
    flat = made_frame(slope=0.0)
    own = flat[(flat.rho == 1) & (flat.data == "pairs-50")].assign(lead=-1.0)
    assert np.isnan(measure_quality.smallest(own)).all()


def test_other_seeds_are_other_worlds():
    one, two = (grid.Grid((0.0, 1.0), (1.0,), 2, 2, ("masked",), first=k) for k in (0, 50))
    assert [p.seed for p in two.plants()] == [p.seed + 50 for p in one.plants()]
    with pytest.raises(UnmaskError, match="give at most"):
        grid.Grid(seeds=16, first=990)


@pytest.mark.parametrize("layers", [1, 3])
def test_models_of_other_depths_are_what_transformers_runs(layers):
    plants = [Plant(0.0, 1.0, 0), Plant(1.0, 1.0, 1)]
    w = nets.train(plants, "causal", nets.Training(2, 8, 400, layers=layers))
    assert nets.depth(w) == layers
    models = unstacked(w, "causal", plants)
    ids = torch.tensor([[2, 7, 8, 9, 3]])
    for k, model in enumerate(models):
        assert model.net.config.num_hidden_layers == layers
        states = nets.states(w, ids.expand(2, 1, -1), True)
        mine = nets.logits(w, states)[k]
        assert torch.allclose(model.net(input_ids=ids).logits[0], mine, atol=1e-4)
    with pytest.raises(UnmaskError, match="at most"):
        nets.Training(layers=100)

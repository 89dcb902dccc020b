"""The engine of arrays against plain code: alignment, tokens, batches, rows, slices, recheck."""

import difflib
import random
from dataclasses import replace

import numpy as np
import pytest
import torch

import unmask
from conftest import KINDS, SORT, tiny
from unmask.data.packaged import bundled_pairs
from unmask.errors import DataError
from unmask.flow import plan, precision, run_likelihood
from unmask.flow.evaluate import evaluate
from unmask.measures import LIKELIHOOD
from unmask.measures.reduce import AT_ONCE
from unmask.models import unique_rows
from unmask.models.batches import Budget, batches
from unmask.models.unique_rows import causal_rule, find_unique_rows, masked_rule, permutation_rule
from unmask.options import Options, Spec
from unmask.queries import EACH, LATER, NOTHING, Readings, RowQueries, all_fit, sums
from unmask.text.roles import align
from unmask.types import Dataset, Text


def by_difflib(first, second):
    same, changed = ([], []), ([], [])
    for tag, a, b, c, d in difflib.SequenceMatcher(None, first, second).get_opcodes():
        into = same if tag == "equal" else changed
        into[0].extend(range(a, b))
        into[1].extend(range(c, d))
    return tuple(map(tuple, same)), tuple(map(tuple, changed))


@pytest.mark.parametrize("words", [3, 6, 30, 300])
def test_quick_alignment_is_difflibs(words):
    """Few words: repeats everywhere; many: mostly one substitution, which goes the quick way."""
    rng = random.Random(words)
    for _ in range(1500):
        first = [rng.randrange(words) for _ in range(rng.randrange(0, 14))]
        second = list(first)
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            a = rng.randrange(len(second) + 1)
            b = min(a + rng.randrange(3), len(second))
            second[a:b] = [rng.randrange(words) for _ in range(rng.randrange(3))]
        found = align(first, second)
        assert (found.same, found.changed) == by_difflib(first, second), (first, second)


@pytest.mark.parametrize("family", list(SORT))
def test_tokens_are_those_of_the_tokenizer_itself(family):
    """Encoding in one batch through the backend equals the tokenizer's own call, one by one."""
    codec = tiny(family).codec
    strings = [t.string for i in bundled_pairs().items[::40] for t in i.texts.values()]
    strings += ["Ünïcode, twice  spaced", "a", "Word-by-word 's [MASK] <mask> 1,000!", "…"]
    for string in strings:
        plain = codec.tokenizer(string, return_special_tokens_mask=True)
        found = codec.encode_texts([Text(string)], [("", "", "")], start=False)[0]
        assert list(found.ids) == plain["input_ids"]
        special = {i for i, s in enumerate(plain["special_tokens_mask"]) if s}
        assert set(found.specials) == special
        assert list(found.content) == [i for i in range(len(found.ids)) if i not in special]
        assert list(found.words) == [-1 if w is None else w for w in plain.word_ids()]


def plain_batches(lengths, places, budget, vocabulary):
    """One row at a time."""
    groups, group, asked = [], [], 0
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        longest = lengths[group[0]] if group else lengths[i]
        tokens, logits = (len(group) + 1) * longest, (asked + places[i]) * vocabulary
        ragged = tokens > budget.enough and lengths[i] < budget.ragged * longest
        if group and (tokens > budget.tokens or logits > budget.logits or ragged):
            groups.append(group)
            group, asked = [], 0
        group.append(i)
        asked += places[i]
    return [*groups, group] if group else groups


@pytest.mark.parametrize("seed", range(40))
def test_batches_are_those_of_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 60, rng.integers(0, 300))
    places = rng.integers(1, 9, len(lengths))
    ragged = float(rng.choice([0.8, 1.0]))
    budget = Budget(*(int(rng.integers(1, n)) for n in (900, 5000, 300)), ragged)
    found = [g.tolist() for g in batches(lengths, places, budget, 50)]
    assert found == plain_batches(lengths.tolist(), places.tolist(), budget, 50)


def made_asks(rng, causal):
    """Sentences that repeat, asked about in every way."""
    rows = [tuple(rng.integers(0, 4, rng.integers(2, 6)).tolist()) for _ in range(12)]
    asks = []
    for _ in range(60):
        row = rows[rng.integers(len(rows))]
        at = tuple(rng.integers(1, len(row), rng.integers(1, 4)).tolist())
        gold = tuple(rng.integers(0, 4, len(at)).tolist())
        some = frozenset(rng.integers(0, len(row), 3).tolist())
        each = tuple(frozenset(rng.integers(0, len(row), 2).tolist()) for _ in at)
        ways = [LATER] if causal else [EACH, LATER, (NOTHING,), (some,), each]
        asks.append(RowQueries(row, at, gold, ways[rng.integers(len(ways))]))
    return asks


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["masked", "causal", "permutation"])
@pytest.mark.parametrize("how", ["one by one", "together", "all mixed alike"])
def test_questions_are_sorted_out_as_by_hand(kind, seed, how, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(unique_rows, "FEW_ROWS", 10**9 if how == "one by one" else 0)
    if how == "all mixed alike":
        monkeypatch.setattr(unique_rows, "_mixed", lambda tokens, lengths: 0 * lengths)
    mask = 3  # a token that also stands in sentences: rows may meet only in their tokens
    show = {"masked": masked_rule(mask), "causal": causal_rule()}.get(kind, permutation_rule())
    asks = made_asks(rng, kind == "causal")
    flags = [bool(rng.integers(2)) for _ in asks]
    found = find_unique_rows(asks, flags, show)
    queries = [(q, flag) for a, flag in zip(asks, flags, strict=True) for q in a.queries]

    def shown(q):
        if kind == "causal":
            return q.row
        if kind == "masked":
            return tuple(mask if i in q.hidden else t for i, t in enumerate(q.row))
        return q.row, tuple(sorted(q.hidden))

    rows = {shown(q) for q, _ in queries}
    weighted = {shown(q) for q, flag in queries if flag}
    assert found.count == len(rows)
    order = found.of(np.arange(found.count))
    assert sorted(order.tolist()) == list(range(len(queries)))
    for r in range(found.count):
        tokens = tuple(found.tokens[found.starts[r] : found.starts[r + 1]].tolist())
        mine = (tokens, found.hidden[r]) if kind == "permutation" else tokens
        assert found.attended[r] == (mine in weighted)
        for i in found.of(np.array([r])):
            q = queries[i][0]
            assert shown(q) == mine
            assert found.places[found.slot[i]] == q.at - (kind == "causal")
            assert found.slots[r] <= found.slot[i] < found.slots[r + 1]
            assert found.gold[i] == q.gold


def test_sums_of_neighbours_also_of_none():
    values = np.array([1.0, 2, 4, 8])
    assert sums(values, np.array([0, 2, 0, 1, 1, 0])).tolist() == [0, 3, 0, 4, 8, 0]
    assert sums(values[:0], np.array([0, 0])).tolist() == [0, 0]


@pytest.mark.parametrize("reduce", sorted(AT_ONCE, key=lambda f: f.__name__))
def test_many_sentences_reduce_as_one_by_one(reduce):
    rng = np.random.default_rng(1)
    counts = np.array([3, 0, 7, 1, 0])
    size = int(counts.sum())
    every = Readings(-rng.random(size), rng.random(size) > 0.5, rng.random(size), 1, counts)
    ends = np.cumsum(counts)
    apart = [float(reduce(every[b - n : b])) for b, n in zip(ends, counts, strict=True)]
    assert np.allclose(reduce(every), apart, equal_nan=True)


@pytest.mark.parametrize("family", ["bert", "gpt2", "xlnet"])
def test_slices_change_nothing(family, monkeypatch):
    """Seven sentences at a time, or all at once."""
    kind = KINDS.get(family, "masked")
    names = {"causal": ["ll"]}.get(kind, ["pll", "sss", "aul", "aula"])
    data = Dataset("some", "triplets", bundled_pairs().items[::17])
    specs = [Spec(tiny(family), n, data) for n in names]
    whole = unmask.evaluate_specs(specs)
    monkeypatch.setattr(run_likelihood, "USUAL", run_likelihood.Pace(7, 7, 0))
    told = []
    cut = unmask.evaluate_specs(
        specs, Options(keep=("tokens",), progress=lambda *args: told.append(args))
    )
    for one, two in zip(whole, cut, strict=True):
        assert np.allclose(one.items.score, two.items.score, atol=1e-5, equal_nan=True)
        assert one.items.drop(columns="score").equals(two.items.drop(columns="score"))
        assert one.settings["queries"] == two.settings["queries"]
        assert len(two.kept["tokens"]) == two.items.tokens.sum()
        assert two.coverage == one.coverage
    done = [d for _, d, _ in told]
    assert done == sorted(done)
    assert all(d < total for _, d, total in told[:-1])
    assert told[-1][1] == told[-1][2] == cut[0].settings["rows"]


@pytest.mark.parametrize("first", [None, 7, 1])
def test_slices_hold_every_item_once(first):
    items = bundled_pairs().items
    sets = [Dataset(str(n), "triplets", items[:n]) for n in (3, 4, 50, 2)]
    found = list(plan.slices(sets, 30, first))
    if first is None:
        assert [d.name for d, _ in found[0]] == ["3", "4", "50"]
    for data in sets:
        mine = [i for part in found for whole, p in part if whole is data for i in p.items]
        assert tuple(mine) == data.items
    sizes = [sum(len(i.texts) for _, p in part for i in p.items) for part in found]
    assert max(sizes) <= 30
    assert first is None or sizes[0] <= max(first, 3)


def reduced_model():
    """A network in bfloat16, and the same weights in float32."""
    model = tiny("bert")
    net = type(model.net)(model.net.config)
    net.load_state_dict(model.net.state_dict())
    full = replace(model, net=net.to(torch.bfloat16).float().eval(), name="tiny")
    small = replace(full, net=type(net)(net.config), precision="bfloat16")
    small.net.load_state_dict(full.net.state_dict())
    small.net.to(torch.bfloat16).eval()
    return full, small


def preferred(result):
    table = result.items.pivot(index="item", columns="label", values="score")
    return {
        (a, b): (table[a] > table[b]).to_numpy()
        for a, b in (("stereotype", "antistereotype"), ("stereotype", "unrelated"))
    }


@pytest.mark.filterwarnings("ignore:mkldnn")
def test_with_recheck_every_preference_is_float32s(monkeypatch):
    monkeypatch.setattr(precision, "SAMPLE", 40)
    full, small = reduced_model()
    data = Dataset("some", "triplets", bundled_pairs().items)
    specs = [(n, data) for n in ("sss", "aul", "aula")]

    def ran(model, **options):
        asked = [Spec(model, n, d) for n, d in specs]
        return unmask.evaluate_specs(asked, Options(**options, keep=("tokens",)))

    exact, rough, mended = ran(full), ran(small, recheck=False), ran(small)
    moved = 0
    for one, two, three in zip(exact, rough, mended, strict=True):
        told = three.settings["recheck"]
        assert "recheck" not in one.settings
        assert "recheck" not in two.settings
        for pair, wanted in preferred(one).items():
            assert np.array_equal(preferred(three)[pair], wanted), (one.measure, pair)
        flips = preferred(one)["stereotype", "antistereotype"]
        flips = flips != preferred(two)["stereotype", "antistereotype"]
        assert told["flipped"] == flips.sum()
        assert 40 <= told["again"] < len(data.items)
        assert told["error"] > 0
        moved += told["flipped"]
        if one.measure == "aul":  # the tokens that are kept are those of the scores
            means = three.kept["tokens"].groupby(["item", "label"]).logp.mean()
            scores = three.items.set_index(["item", "label"]).score
            assert np.allclose(scores.loc[means.index], means, atol=1e-9)
    assert moved > 0  # else the test shows nothing


@pytest.mark.filterwarnings("ignore:mkldnn")
def test_recheck_is_for_preferences_only():
    _, small = reduced_model()
    found = unmask.evaluate_specs([Spec(small, "lpbs", "kurita-career")], Options())[0]
    assert "recheck" not in found.settings


@pytest.mark.parametrize("name", ["pll", "aul"])
def test_a_measure_asks_one_record_a_sentence(name):
    planned = plan.plan(tiny("bert"), LIKELIHOOD[name], bundled_pairs())
    assert len(planned.asks) == sum(planned.values > 0) < planned.count


ROW = (2, 7, 8, 9, 3)
WRONG = {
    "text": lambda s, codec: [RowQueries(s.ids, ("1",), (5,), EACH)],
    "part of a place": lambda s, codec: [RowQueries(s.ids, (-0.5,), (5,), EACH)],
    "beyond": lambda s, codec: [RowQueries(s.ids, (len(s.ids),), (5,), EACH)],
    "before": lambda s, codec: [RowQueries(s.ids, (-1,), (5,), EACH)],
    "no gold": lambda s, codec: [RowQueries(s.ids, (1, 2), (5,), EACH)],
    "gold below 0": lambda s, codec: [RowQueries(s.ids, (1,), (-5,), EACH)],
    "gold no number": lambda s, codec: [RowQueries(s.ids, (1,), (float("nan"),), EACH)],
    "sets": lambda s, codec: [RowQueries(s.ids, (1, 2, 3), (5, 6, 7), (NOTHING, NOTHING))],
    "huge": lambda s, codec: [RowQueries(s.ids, (2**70,), (5,), EACH)],
    "nothing": lambda s, codec: [RowQueries(s.ids, (), (), EACH)],
    "none": lambda s, codec: None,
    "no ask": lambda s, codec: [5],
}


@pytest.mark.parametrize("what", list(WRONG))
def test_what_a_plan_does_wrong_is_one_sentence(what):
    """Wherever it stands among others that are right."""

    def wrong(sentence, codec):
        return (
            WRONG[what](sentence, codec) if len(sentence.ids) % 3 == 0 else right(sentence, codec)
        )

    right = LIKELIHOOD["pll"].plans["masked"]
    mine = replace(LIKELIHOOD["pll"], name="mine", plans={"masked": wrong})
    data = Dataset("some", "triplets", bundled_pairs().items[::17])
    with pytest.raises(DataError, match="the plan of 'mine' fails"):
        plan.plan(tiny("bert"), mine, data)


@pytest.mark.parametrize("seed", range(20))
def test_asks_fit_together_as_one_by_one(seed):
    rng = random.Random(seed)
    odd = [(), (1,), (4, 4), (5,), (-1, 2), (1.5,), (True,), (np.int64(3),), ("1",)]
    sets = [EACH, LATER, (NOTHING,), (NOTHING, NOTHING)]
    for _ in range(40):
        asks = [
            RowQueries(
                ROW, at, rng.choice([tuple(range(len(at))), (1,), (-1,), (0, 2)]), rng.choice(sets)
            )
            for at in rng.choices(odd[1:3] if rng.random() < 0.7 else odd, k=rng.randint(0, 4))
        ]
        try:
            each = all(a.fits for a in asks)
        except TypeError:
            continue
        assert all_fit(asks) == each, asks


def test_a_reduction_that_fails_leaves_the_others_whole(monkeypatch):
    """Also where it fails in the first of several slices, and shares a plan with another."""
    monkeypatch.setattr(run_likelihood, "USUAL", run_likelihood.Pace(7, 7, 0))

    def bad(readings):
        raise ValueError("no")

    mine = replace(LIKELIHOOD["pll"], name="mine", reduce=bad)
    data = Dataset("some", "triplets", bundled_pairs().items[::17])
    failed = []
    specs = [Spec(tiny("bert"), m, data) for m in (mine, "pll", "aul")]
    found = evaluate(specs, Options(), lambda spec, error: failed.append(str(error)))
    assert [r.measure for r in found] == ["pll", "aul"]
    assert len(failed) == 1
    whole = unmask.evaluate_specs(specs[1:])
    assert np.allclose(found[0].items.score, whole[0].items.score, atol=1e-5)

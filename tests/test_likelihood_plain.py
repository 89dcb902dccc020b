"""Every likelihood measure against a slow plain loop, on the published tokenizers."""

import math

import numpy as np
import pytest

import plain
from conftest import tiny, tiny_real
from unmask.data.packaged import bundled_pairs
from unmask.data.readers import pairs, stereoset
from unmask.flow import likelihood, planning
from unmask.measures import LIKELIHOOD
from unmask.types import Dataset

FAMILIES = ["bert", "roberta", "albert"]
LOOPS = {
    "pll": "pll",
    "cps": "cps",
    "sss": "sss",
    "aul": "aul",
    "aula": "aula",
    "all-masked": "all_masked",
    "sss@kaneko2022": "sss_kaneko",
    "cps@biasbench": "cps_biasbench",
}


def hard_items(data: Dataset, tokenizer, count: int) -> Dataset:
    """The first items, and those where alignment is delicate: empty, repeated, many pieces."""
    chosen = list(data.items[:count])
    for item in data.items[count:]:
        pro, anti = (
            tokenizer(item.texts[k].string)["input_ids"] for k in ("stereotype", "antistereotype")
        )
        one, two = plain.spans(pro, anti, "diff")
        repeated = len(set(pro)) < len(pro) and len(one) != len(two)
        if not one or not two or len(one) > 6 or (repeated and len(chosen) < count + 30):
            chosen.append(item)
    return Dataset(data.name, data.shape, tuple(chosen[: count + 40]))


def frames(model, data, names):
    planned = [planning.plan(model, LIKELIHOOD[n], data) for n in names]
    streams = {s: model.engine(s) for s in ("own", "written")}
    readings = likelihood.ask(streams, planned)
    return {
        p.measure.name: likelihood.sentence_frame(model, p, r)
        for p, r in zip(planned, readings, strict=True)
    }


def compare(model, data, names):
    found = frames(model, data, names)
    loop = plain.Plain(model.net, model.codec.tokenizer)
    worst = 0.0
    for name, frame in found.items():
        scores = frame.set_index(["item", "label"]).score
        for item in data.items:
            pair = item.texts["stereotype"].string, item.texts["antistereotype"].string
            for label, (s, other) in {"stereotype": pair, "antistereotype": pair[::-1]}.items():
                expected = getattr(loop, LOOPS[name])(s, other)
                got = scores[item.id, label]
                if math.isnan(expected):
                    assert math.isnan(got)
                elif not math.isnan(got):  # else: its opposite has an empty difference
                    worst = max(worst, abs(got - expected))
    return worst


@pytest.mark.parametrize("family", FAMILIES)
def test_crows_pairs(family, shared):
    model = tiny_real(family)
    data = pairs.read_crows_pairs(shared("crows-pairs/crows_pairs_anonymized.csv"))
    some = hard_items(data, model.codec.tokenizer, 200)
    assert len(some.items) >= 200
    assert compare(model, some, ["cps", "sss", "aul", "aula", "pll"]) < 1e-6


@pytest.mark.parametrize("family", FAMILIES)
def test_stereoset(family, shared):
    model = tiny_real(family)
    data = stereoset.read_intrasentence(shared("stereoset/dev_intrasentence.json"))
    some = hard_items(data, model.codec.tokenizer, 200)
    assert compare(model, some, ["cps", "sss", "aul", "aula", "pll"]) < 1e-6


@pytest.mark.parametrize("family", FAMILIES)
def test_variants(family, shared):
    model = tiny_real(family)
    data = pairs.read_crows_pairs(shared("crows-pairs/crows_pairs_anonymized.csv"))
    some = hard_items(data, model.codec.tokenizer, 40)
    assert compare(model, some, ["sss@kaneko2022", "cps@biasbench", "all-masked"]) < 1e-6


@pytest.mark.parametrize("family", FAMILIES)
def test_on_made_tokenizers(family):
    data = bundled_pairs()
    some = Dataset(data.name, data.shape, data.items[::20])
    assert compare(tiny(family), some, list(LOOPS)) < 1e-6


@pytest.mark.parametrize("family", FAMILIES)
def test_cat_through_text(family, shared):
    """cat@nadeem2021 is the loop through decoded text, on items with fills of many pieces."""
    model = tiny_real(family)
    data = stereoset.read_intrasentence(shared("stereoset/dev_intrasentence.json"))
    some = Dataset(data.name, data.shape, data.items[:60])
    frame = frames(model, some, ["cat@nadeem2021"])["cat@nadeem2021"]
    scores = frame.set_index(["item", "label"]).score
    loop = plain.Plain(model.net, model.codec.tokenizer)
    for item in some.items:
        for label, text in item.texts.items():
            a, b = text.spans["word"][0]
            expected = loop.cat_nadeem(item.meta["context"], text.string[a:b])
            assert scores[item.id, label] == pytest.approx(expected, abs=1e-9)


def test_cat_asks_for_the_piece_with_its_space(shared):
    """RoBERTa's fill word is asked for with its leading space; the published route is not."""
    model = tiny_real("roberta")
    data = stereoset.read_intrasentence(shared("stereoset/dev_intrasentence.json"))
    some = Dataset(data.name, data.shape, data.items[:1])
    golds = {}
    for name in ("cat", "cat@nadeem2021"):
        planned = planning.plan(model, LIKELIHOOD[name], some)
        golds[name] = model.codec.tokenizer.convert_ids_to_tokens([q.gold for q in planned.queries])
    assert any(t.startswith("Ġ") for t in golds["cat"])
    assert not any(t.startswith("Ġ") for t in golds["cat@nadeem2021"])


def test_cat_is_mean_probability_by_hand():
    model = tiny("bert")
    item = bundled_pairs().items[0]
    some = Dataset("one", "triplets", (item,))
    frame = frames(model, some, ["cat"])["cat"].set_index("label").score
    tokenizer, text = model.codec.tokenizer, item.texts["stereotype"]
    start, end = text.spans["fill"][0]
    pieces = tokenizer(text.string[start:end], add_special_tokens=False)["input_ids"]
    total = 0.0
    for k, piece in enumerate(pieces):
        before = tokenizer(text.string[:start], add_special_tokens=False)["input_ids"]
        after = tokenizer(text.string[end:], add_special_tokens=False)["input_ids"]
        row = [
            tokenizer.cls_token_id,
            *before,
            *pieces[:k],
            tokenizer.mask_token_id,
            *after,
            tokenizer.sep_token_id,
        ]
        at = 1 + len(before) + k
        total += plain.logp(model.net, row)[at, piece].exp().item()
    assert frame["stereotype"] == pytest.approx(total / len(pieces), abs=1e-12)


def test_rounding_makes_ties_and_nan_loses():
    """cps@nangia2020 rounds to 3 decimals; sss@kaneko2022 counts an empty difference as lost."""
    cps = LIKELIHOOD["cps@nangia2020"]
    assert np.array_equal(cps.rounded(np.array([-1.23449, -1.23451])), [-1.234, -1.235])
    assert cps.rounded(np.array([-1.23441]))[0] == cps.rounded(np.array([-1.23449]))[0]
    assert LIKELIHOOD["sss@kaneko2022"].empty == "lost"
    assert LIKELIHOOD["cps@nangia2020"].text("The MAN", "bert") == "the man"
    assert LIKELIHOOD["cps@nangia2020"].text("The MAN", "roberta") == "The MAN"

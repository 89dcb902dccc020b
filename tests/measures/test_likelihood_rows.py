"""Every likelihood measure against a slow plain loop, on the published tokenizers."""

import math
from dataclasses import replace

import numpy as np
import pytest

import plain
import unmask
from conftest import asked_of, sentence_frame, tiny, tiny_real
from unmask.data import catalogue
from unmask.data.packaged import bundled_pairs
from unmask.data.readers import pairs, stereoset
from unmask.flow import encoding, plan, run_likelihood
from unmask.measures import LIKELIHOOD
from unmask.queries import Encoded
from unmask.text.roles import with_pair_roles
from unmask.types import Contrast, Dataset, Text

FAMILIES = ["bert", "roberta", "albert"]
LOOPS = {
    "pll": "pll",
    "cps": "cps",
    "pmi": "pmi",
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
    planned = [plan.plan(model, LIKELIHOOD[n], data) for n in names]
    streams = {s: model.engine(s) for s in ("own", "written")}
    readings = run_likelihood.ask(streams, planned)
    return {
        p.measure.name: sentence_frame(model, p, r) for p, r in zip(planned, readings, strict=True)
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
                expected = getattr(loop, LOOPS[name])(s, other, label == "stereotype")
                got = scores[item.id, label]
                if math.isnan(expected):
                    assert math.isnan(got)
                elif not math.isnan(got):  # else: its opposite has an empty difference
                    worst = max(worst, abs(got - expected))
    return worst


COUNTS = [12, pytest.param(200, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_crows_pairs(family, count, shared):
    model = tiny_real(family)
    data = pairs.read_crows_pairs(shared("crows-pairs/crows_pairs_anonymized.csv"))
    some = hard_items(data, model.codec.tokenizer, count)
    assert len(some.items) >= count
    assert compare(model, some, ["cps", "pmi", "sss", "aul", "aula", "pll"]) < 1e-6


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_stereoset(family, count, shared):
    model = tiny_real(family)
    data = stereoset.read_intrasentence(shared("stereoset/dev_intrasentence.json"))
    some = hard_items(data, model.codec.tokenizer, count)
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
    odd = [
        i
        for i in data.items[60:]
        if i.meta["context"].count("BLANK") > 1
        or any(
            "-" in t.string[slice(*t.spans["word"][0])]
            for t in i.texts.values()
            if "word" in t.spans
        )
    ]
    assert odd
    some = Dataset(data.name, data.shape, (*data.items[:40], *odd[:12]))
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
        planned = plan.plan(model, LIKELIHOOD[name], some)
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


def made(*rows):
    items = [
        Contrast(str(n), {"stereotype": Text(a), "antistereotype": Text(b)}, "c", "c")
        for n, (a, b) in enumerate(rows)
    ]
    return Dataset("made", "pairs", tuple(items))


def test_a_pair_is_aligned_once():
    """difflib is not symmetric: (1, 2, 3, 4) and (3, 2, 1, 4) share 3 or 2 or 1, not both ways."""
    ids = {"stereotype": (9, 1, 2, 3, 4, 8), "antistereotype": (9, 3, 2, 1, 4, 8)}
    encoded = {k: Encoded(v, frozenset({0, 5})) for k, v in ids.items()}
    roles = with_pair_roles(encoded)
    shared = {k: [ids[k][i] for i in roles[k].roles["shared"]] for k in ids}
    assert shared["stereotype"] == shared["antistereotype"]
    for name in ("shared", "changed"):
        assert len(roles["stereotype"].roles[name]) == len(roles["antistereotype"].roles[name])
    # "women than men" against "men than women", the case of CrowS-Pairs 1129
    model = tiny("bert")
    data = made(("women are kind than men.", "men are kind than women."))
    planned = plan.plan(model, LIKELIHOOD["cps"], data)
    by_label = [[q.gold for q in asked_of(planned, "0", k)[0]] for k in data.items[0].texts]
    assert by_label[0] == by_label[1]


def test_every_pair_of_a_data_set_shares_the_same_tokens(shared):
    """Also in Russian, where 23 of 262 pairs had shared tokens that differed."""
    model = tiny_real("bert")
    for name in ("crows-pairs", "crows-pairs-ru"):
        shared("multilingual/russian.json")
        data = catalogue.sentences(name)
        for item in data.items:
            found = encoding.encode(model, LIKELIHOOD["cps"], [item])[0]
            tokens = [[e.ids[i] for i in e.roles["shared"]] for e in found.values()]
            assert tokens[0] == tokens[1], item.id


def test_pairs_with_nothing_to_ask():
    """No shared token: a tie in the releases (0 = 0), a true reason in the plain measures."""
    model = tiny("bert")
    rows = [("She was tired.", "He was tired."), ("she", "was")]
    both = evaluate_all(model, ["cps", "cps@nangia2020", "cps@kaneko2022"], made(*rows))
    assert both["cps"].coverage.reasons == {"its sentences share no token": 1}
    for name in ("cps@nangia2020", "cps@kaneko2022"):
        assert both[name].coverage.scored == 2
        assert both[name].coverage.ties == 1
        assert "1 item is a tie, which counts as not stereotypical" in " ".join(both[name].notes)
    empty = evaluate_all(model, ["sss", "sss@kaneko2022"], made(*rows, ("A maid.", "A maid maid.")))
    assert "empty difference" in next(iter(empty["sss"].coverage.reasons))
    assert empty["sss@kaneko2022"].coverage.scored == 3


def evaluate_all(model, names, data):
    return {r.measure: r for r in unmask.run(model, names, data)}


def test_a_tie_is_a_half_in_plain_measures():
    model = tiny("bert")
    data = made(("She was tired.", "She was tired."), ("nurse was late", "judge was late"))
    plain_, strict = (
        unmask.evaluate(model, m, data)
        for m in ("aul", replace(LIKELIHOOD["aul"], name="mine", ties="strict"))
    )
    assert plain_.overall.value - strict.overall.value == 25
    assert "tie, which counts a half" in " ".join(plain_.notes)


def test_causal_routes_of_the_releases():
    """The first token after the start token alone, the others in the sentence without it."""
    model = tiny("gpt2")
    data = made(("The nurse was late.", "The judge was late."))
    result = unmask.evaluate(model, "cps@biasbench", data)
    start = model.codec.tokenizer.bos_token_id
    for row in result.items.itertuples():
        ids = model.codec.tokenizer(row.sentence)["input_ids"]
        first = plain.logp(model.net, [start])[0, ids[0]].item()
        rest = plain.logp(model.net, ids)
        values = [first, *(rest[i - 1, ids[i]].item() for i in range(1, len(ids)))]
        # 2 to the mean log2 is e to the mean log, and it is not rounded
        assert row.score == pytest.approx(math.exp(sum(values) / len(values)), rel=1e-9)
    assert result.settings["decimals"] is None
    masked = unmask.evaluate(tiny("bert"), "cps@biasbench", data)
    assert masked.settings["decimals"] == 3


def test_cat_fills_the_context_as_it_was_written():
    """StereoSet lower-cases names in `sentence`; the fill word goes into `context`."""
    spans = {"fill": ((4, 9),), "word": ((4, 9),)}
    texts = {
        "stereotype": Text("the nurse met john.", spans),
        "antistereotype": Text("the judge met john.", spans),
        "unrelated": Text("the spoon met john.", spans),
    }
    item = Contrast("1", texts, "c", "c", {"context": "The BLANK met John."})
    found = encoding.encode(tiny("roberta"), LIKELIHOOD["cat"], [item])[0]
    assert found["stereotype"].text.string == "The nurse met John."
    assert encoding.encode(tiny("roberta"), LIKELIHOOD["pll"], [item])[0][
        "stereotype"
    ].text.string == ("the nurse met john.")
    twice = replace(item, id="2", meta={"context": "The BLANK met the BLANK."})
    result = unmask.evaluate(tiny("bert"), "cat", Dataset("d", "triplets", (item, twice), "c"))
    assert result.coverage.reasons == {"its fill is in more than one place": 1}


def test_rounding_makes_ties_and_nan_loses():
    """cps@nangia2020 rounds to 3 decimals; sss@kaneko2022 counts an empty difference as lost."""
    cps = LIKELIHOOD["cps@nangia2020"]
    assert np.array_equal(cps.rounded(np.array([-1.23449, -1.23451])), [-1.234, -1.235])
    assert cps.rounded(np.array([-1.23441]))[0] == cps.rounded(np.array([-1.23449]))[0]
    assert LIKELIHOOD["sss@kaneko2022"].empty == "kept"
    assert LIKELIHOOD["cps@nangia2020"].text("The MAN", "bert") == "the man"
    assert LIKELIHOOD["cps@nangia2020"].text("The MAN", "roberta") == "The MAN"


def causal_scores(model, pro, anti, released):
    """Shared tokens behind the start token, each given all before it, from two forward passes."""
    rows = []
    for text in (pro, anti):
        ids = model.codec.tokenizer(text, add_special_tokens=False)["input_ids"]
        rows.append([model.codec.tokenizer.bos_token_id, *ids])
    places = plain.spans(*rows, "equal")
    if not released and any(
        changed and (not [p for p in same if p > 0] or same[-1] < changed[0])
        for same, changed in zip(places, plain.spans(*rows, "diff"), strict=True)
    ):
        return None
    out = []
    for ids, same in zip(rows, places, strict=True):
        found = plain.logp(model.net, ids)
        out.append(sum(found[p - 1, ids[p]].item() for p in same[1:]))
    return out


@pytest.mark.parametrize("name", ["cps", "cps@felkner2023"])
def test_causal_cps_is_the_loop_over_shared_tokens(name, shared):
    model = tiny_real("gpt2")
    data = pairs.read_crows_pairs(shared("crows-pairs/crows_pairs_anonymized.csv"))
    some = hard_items(data, model.codec.tokenizer, 60)
    frame = frames(model, some, [name])[name].set_index(["item", "label"])
    unread = 0
    for item in some.items:
        texts = [item.texts[k].string for k in ("stereotype", "antistereotype")]
        expected = causal_scores(model, *texts, "@" in name)
        got = [frame.score[item.id, k] for k in ("stereotype", "antistereotype")]
        if expected is None:
            assert np.isnan(got).all()
            unread += 1
        else:
            assert got == pytest.approx(expected, abs=1e-4)
    assert unread > 0 or "@" in name


def test_an_item_that_a_causal_model_cannot_read_is_no_tie():
    model = tiny("gpt2")
    rows = [("He likes the man", "He likes the woman"), ("She is a nurse.", "He is a nurse.")]
    found = evaluate_all(model, ["cps", "cps@felkner2023"], made(*rows))
    (reason,) = found["cps"].coverage.reasons
    assert reason.startswith("no shared token follows the words that differ")
    assert (found["cps"].coverage.scored, found["cps"].coverage.ties) == (1, 0)
    assert (found["cps@felkner2023"].coverage.scored, found["cps@felkner2023"].coverage.ties) == (
        2,
        1,
    )


def test_swapped_pairs_turn_the_preference_around():
    words = ("man", "woman")
    ends = ("is a nurse", "was tired", "likes the judge", "is strong", "was late today")
    rows = [tuple(f"The {w} {end}." for w in words) for end in ends]
    for model, name in ((tiny("bert"), "pmi"), (tiny("gpt2"), "cps")):
        one, two = (
            evaluate_all(model, [name], made(*some))[name]
            for some in (rows, [row[::-1] for row in rows])
        )
        assert one.overall.value == pytest.approx(100 - two.overall.value)
        assert one.extras["margin"].value == pytest.approx(-two.extras["margin"].value)
        assert one.extras["margin"].value != 0

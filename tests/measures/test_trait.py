"""The measure that asks for the trait, beside a slow plain loop, and the built-in questionnaire."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

import unmask
from conftest import close_for, shared_file, tiny
from unmask.data import catalogue, questionnaire
from unmask.data.check.file import check_set
from unmask.data.readers.pairs import read_crows_pairs
from unmask.reports import cite
from unmask.types import Dataset

FAMILIES = ["bert", "roberta", "albert", "gpt2", "xlnet"]
DATA = questionnaire.questionnaire()
PART = [i for i in DATA.items if i.group_pair == "gender: woman / man"]
SHAPES = ("predicate", "question", "two clauses")
SOME = Dataset(
    DATA.name,
    "pairs",
    tuple(i for i in PART if i.template in SHAPES)[::2],
    DATA.cluster,
    DATA.about,
)


def log_softmax(net, row):
    with torch.inference_mode():
        return torch.log_softmax(net(torch.tensor([row])).logits[0].double(), -1)


def by_hand(model, text):
    """log p of the trait's tokens: hidden together, or each given all before it."""
    (start, end), tokenizer = text.spans["trait"][0], model.codec.tokenizer
    given = tokenizer(text.string, return_offsets_mapping=True)
    ids, offsets = given["input_ids"], given["offset_mapping"]
    if model.kind == "causal" and ids[:1] != [model.codec.start]:
        ids, offsets = [model.codec.start, *ids], [(0, 0), *offsets]
    places = [i for i, (a, b) in enumerate(offsets) if a < end and b > start and a < b]
    if model.kind == "causal":
        logp = log_softmax(model.net, ids)
        return sum(float(logp[i - 1, ids[i]]) for i in places)
    hidden = [tokenizer.mask_token_id if i in places else t for i, t in enumerate(ids)]
    logp = log_softmax(model.net, hidden)
    return sum(float(logp[i, ids[i]]) for i in places)


@pytest.mark.parametrize("family", [f for f in FAMILIES if f != "xlnet"])
def test_trait_is_a_plain_loop(family):
    model = tiny(family)
    result = unmask.evaluate(model, "trait", SOME)
    scores = result.items.set_index(["item", "label"]).score
    for item in SOME.items:
        for label, text in item.texts.items():
            if not math.isnan(scores[item.id, label]):
                expected = by_hand(model, text)
                assert scores[item.id, label] == pytest.approx(expected, abs=close_for(family) * 10)
    assert result.coverage.scored > 0.8 * len(SOME.items)


def test_its_number_is_the_mean_margin_without_word_preference():
    result = unmask.evaluate(tiny("bert"), "trait", SOME)
    assert result.compared == "factor"
    assert result.overall.ideal == 0
    assert "score" in result.extras
    assert result.overall.low <= result.overall.value <= result.overall.high


def test_exchanged_groups_turn_the_sign():
    swapped = tuple(
        unmask.Contrast(
            i.id,
            {"stereotype": i.texts["antistereotype"], "antistereotype": i.texts["stereotype"]},
            i.category,
            i.cluster,
            group_pair=i.group_pair,
            group=i.group,
            template=i.template,
        )
        for i in SOME.items
    )
    data = Dataset("swapped", "pairs", swapped, SOME.cluster)
    one, two = (unmask.evaluate(tiny("bert"), "trait", d).overall.value for d in (SOME, data))
    assert one == pytest.approx(-two, abs=1e-6)


# ---------------------------------------------------------------- the set


def test_both_groups_have_the_same_traits_templates_and_number_of_items():
    cells = Counter((i.group_pair, i.group, i.template) for i in DATA.items)
    by_pair = {}
    for (pair, group, template), count in cells.items():
        by_pair.setdefault((pair, template), {})[group] = count
    assert all(len(c) == 2 and len(set(c.values())) == 1 for c in by_pair.values())
    assert len({i.id for i in DATA.items}) == len(DATA.items)


def test_ten_bias_types_with_pairs_templates_sources_and_valence():
    content = questionnaire.content()
    assert len(content["types"]) == 10
    assert len(content["templates"]) == 8
    few = {t["category"] for t in content["types"] if len(t["pairs"]) < 6}
    assert few <= {"gender-identity"}
    references = cite.references()
    for name, group in content["groups"].items():
        assert len(group["traits"]) >= 12, name
        assert len(set(group["traits"])) == len(group["traits"]), name
        assert group["sources"], name
        assert set(group["sources"]) <= set(references), name
        assert set(group["traits"]) <= set(content["valence"]), name
        assert set(group["traits"]) <= set(content["frequency"]), name
    assert all(i.meta["source"] for i in DATA.items)


def test_no_trait_is_on_both_sides_of_a_pair_or_in_a_control():
    content = questionnaire.content()
    for bias_type in content["types"]:
        positive = {
            w for p in bias_type["positive"] for k in ("first", "second") for w in p[f"{k}_words"]
        }
        for pair in bias_type["pairs"]:
            first, second = (set(content["groups"][g]["traits"]) for g in pair["traits"])
            assert not first & second, pair
            assert not (first | second) & set(content["neutral"]), pair
        for p in bias_type["positive"]:
            assert not set(p["first_words"]) & set(p["second_words"])
            assert len(p["first_words"]) == len(p["second_words"])
        assert positive


def test_a_sentence_differs_in_the_group_alone():
    for item in DATA.items[::50]:
        one, two = (item.texts[k].string.split() for k in ("stereotype", "antistereotype"))
        trait = item.texts["stereotype"]
        (a, b) = trait.spans["trait"][0]
        assert trait.string[a:b] in item.id
        assert one != two


def test_the_check_of_it_has_no_problem():
    found = check_set(DATA).findings
    assert [f.sentence for f in found if f.state == "problem"] == []
    assert {f.about for f in found} >= {"balance", "sources", "power", "bias types"}


def test_nothing_is_copied_from_other_sets():
    data = read_crows_pairs(shared_file("crows-pairs/crows_pairs_anonymized.csv"))

    def grams(sets):
        texts = {t.string for i in sets.items for t in i.texts.values()}
        words = [t.lower().split() for t in texts]
        return {tuple(w[k : k + 8]) for w in words for k in range(len(w) - 7)}

    assert not grams(DATA) & grams(data)


def test_controls_and_rewording():
    for name in ("bundled-2:positive", "bundled-2:neutral", "bundled-2:reworded"):
        (data,) = catalogue.resolve(name)
        assert data.name == name
        assert {i.category for i in data.items} == {
            t["category"] for t in questionnaire.content()["types"]
        }
    one, two = questionnaire.neutral(0), questionnaire.neutral(1)
    sides = [{(i.cluster, i.group) for i in d.items} for d in (one, two)]
    assert sides[0] != sides[1]
    assert np.isclose(len(sides[0] & sides[1]) / len(sides[0]), 0.5, atol=0.3)


def test_versions_are_in_every_result():
    record = unmask.evaluate(tiny("bert"), "trait", SOME)
    assert record.provenance["data"]["digest"]
    assert DATA.about["version"].startswith("2.")

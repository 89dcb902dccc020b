"""Tests of flow/plan_store and flow/slice_plans: plans are made once, for one purpose."""

from dataclasses import replace

import numpy as np
import pytest

import unmask
from conftest import damaged_values, tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import plan_store, slice_plans
from unmask.measures import MEASURES
from unmask.support import store as stored
from unmask.types import Dataset

FEW = Dataset("some", "triplets", bundled_pairs().items[::4])
MASKED = ("aul", "aula", "cps", "sss", "cps@nangia2020", "pmi", "crr")
ASKED = {
    "bert": MASKED,
    "albert": ("aul", "sss", "all-masked"),
    "xlnet": ("aul", "aula", "pll"),
    "gpt2": ("ll", "cps"),
    "bloom": ("ll",),
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    monkeypatch.setattr(plan_store, "FEWEST", 1)


@pytest.fixture
def made(monkeypatch):
    """The plans that are made."""
    names, real = [], slice_plans.plan
    monkeypatch.setattr(slice_plans, "plan", lambda *a: names.append(a[1].name) or real(*a))
    return names


def measured(model, measures, data=FEW, **options):
    results = unmask.run([model], measures, [data], **{"cache": True, **options})
    return [(r.overall, r.extras, r.coverage, r.settings, r.artifacts, r.items) for r in results]


def same(one, two):
    for (*facts, kept, items), (*others, their_kept, their_items) in zip(one, two, strict=True):
        assert repr(facts) == repr(others)  # some extras are no numbers
        assert items.equals(their_items)
        assert kept.keys() == their_kept.keys()
        assert all(kept[k].equals(their_kept[k]) for k in kept)


@pytest.mark.parametrize("keep", [pytest.param((), marks=pytest.mark.slow), ("tokens",)])
@pytest.mark.parametrize("family", list(ASKED))
def test_a_second_run_plans_nothing_and_gives_the_same(family, keep, made):
    model = replace(tiny(family), cacheable=False)  # its answers are asked for again
    first = measured(model, ASKED[family], keep=keep)
    assert made
    made.clear()
    same(measured(model, ASKED[family], keep=keep), first)
    assert not made


def test_slices_of_a_gpu_are_kept_too(made, monkeypatch):
    from unmask.flow import run_likelihood

    monkeypatch.setattr(run_likelihood, "on_gpu", lambda model: True)
    monkeypatch.setattr(run_likelihood, "GPU_PACE", run_likelihood.Pace(90, 30, 2))
    model = replace(tiny("bert"), cacheable=False)
    sets = [FEW, replace(FEW, name="others", items=FEW.items[::-2])]
    first = [x for d in sets for x in measured(model, MASKED, d)]
    with stored.opened() as cache:
        assert cache.usage(stored.PLANS)[0] > 4
    made.clear()
    same([x for d in sets for x in measured(model, MASKED, d)], first)
    assert not made


def changed_text(model):
    item = FEW.items[3]
    text = item.texts["stereotype"]
    texts = {**item.texts, "stereotype": replace(text, string=text.string[:-1] + "!")}
    return model, replace(FEW, items=(*FEW.items[:3], replace(item, texts=texts), *FEW.items[4:]))


def other_order(model):
    return model, replace(FEW, items=FEW.items[::-1])


def other_tokenizer(model):
    about = {**model.provenance["tokenizer"], "hash": "another"}  # of the same name
    return replace(model, provenance={**model.provenance, "tokenizer": about}), FEW


def other_limit(model):
    return replace(model, limit=60), FEW


def unknown_tokenizer(model):
    return replace(model, provenance={**model.provenance, "tokenizer": None}), FEW


CHANGES = [changed_text, other_order, other_tokenizer, other_limit, unknown_tokenizer]


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_plan_hangs_on_is_in_its_key(change, made):
    model = replace(tiny("bert"), cacheable=False)
    measured(model, ["aul", "cps"])
    made.clear()
    other, data = change(model)
    found = measured(other, ["aul", "cps"], data)
    assert made == ["aul", "cps"]
    same(measured(other, ["aul", "cps"], data, cache=False), found)


def test_other_code_makes_its_own_plans(made, monkeypatch):
    model = replace(tiny("bert"), cacheable=False)
    measured(model, ["aul"])
    monkeypatch.setattr(stored, "code_digest", lambda: b"another version")
    measured(model, ["aul"])
    assert made == ["aul", "aul"]


def test_a_flipped_bit_is_noticed(made, tmp_path):
    model = replace(tiny("bert"), cacheable=False)
    first = measured(model, ["aul"])
    damaged_values(tmp_path / stored.FILE_NAME)
    same(measured(model, ["aul"]), first)
    assert made == ["aul", "aul"]


def test_a_row_of_ones_own_is_planned_each_time(made):
    """It may do anything, and its name says nothing of it."""
    own = replace(MEASURES["aul"], name="mine", variant_of="", deviation="")
    model = replace(tiny("bert"), cacheable=False)
    for _ in range(2):
        unmask.run([model], [own], [FEW], cache=True)
    assert made == ["mine", "mine"]


def test_without_the_cache_nothing_is_kept(made):
    model = tiny("bert")
    for _ in range(2):
        unmask.run([model], ["aul"], [FEW], cache=False)
    assert made == ["aul", "aul"]
    assert stored.is_empty(stored.PLANS)


def test_the_digest_of_the_same_content_is_the_same():
    copied = replace(FEW, items=tuple(replace(item) for item in FEW.items))
    assert plan_store.content_digest(copied) == plan_store.content_digest(FEW)
    assert np.array_equal(
        plan_store._small(np.array([2**40])), np.array([2**40])
    )  # numbers too large for 32 bits stay whole

"""Tests of models/output_cache."""

import numpy as np
import pytest

from conftest import tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import plan
from unmask.measures import LIKELIHOOD
from unmask.models.batches import Budget
from unmask.support.store import opened
from unmask.types import Dataset

SOME = Dataset("some", "triplets", bundled_pairs().items[::13])


def queries_for(family, names):
    model = tiny(family)
    planned = [plan.plan(model, LIKELIHOOD[n], SOME) for n in names]
    flags = [p.measure.attention for p in planned for _ in p.queries]
    return model, [q for p in planned for q in p.queries], flags


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    """With a store, answered batches are not run again, and the numbers are the same."""
    model, queries, flags = queries_for("bert", ["pll", "aula"])
    whole = model.engine().ask(queries, flags)
    path = tmp_path / "answers.sqlite"

    class Killed(Exception):
        pass

    def kill(rows, total):
        kill.done += rows
        if kill.done > total / 2:
            raise Killed

    kill.done = 0
    small = Budget(tokens=200)
    with pytest.raises(Killed), opened(path) as store:
        model.engine(budget=small, store=store, progress=kill).ask(queries, flags)
    runs, fresh = [], []
    handle = model.net.register_forward_hook(lambda *_: runs.append(1))
    with opened(path) as store:
        again = model.engine(budget=small, store=store).ask(queries, flags)
    handle.remove()
    handle = model.net.register_forward_hook(lambda *_: fresh.append(1))
    anew = model.engine(budget=small).ask(queries, flags)
    handle.remove()
    assert len(runs) < 0.6 * len(fresh)
    assert np.array_equal(again.logp, anew.logp)
    assert np.array_equal(again.attention, anew.attention, equal_nan=True)
    assert np.allclose(again.logp, whole.logp, atol=1e-10)


def test_answers_are_found_by_place_and_gold_token(tmp_path):
    """What one measure asked another need not ask: other places of a known row are added."""
    model, queries, _ = queries_for("bert", ["aul"])
    some = [q for i, q in enumerate(queries) if i % 2]
    runs = []
    handle = model.net.register_forward_hook(lambda *_: runs.append(1))
    with opened(tmp_path / "a") as store:
        engine = model.engine(store=store)
        engine.ask(some, [False] * len(some))
        first = engine.ask(queries, [False] * len(queries))
        before = len(runs)
        again = engine.ask(queries, [False] * len(queries))
        fewer = engine.ask(some, [False] * len(some))
    handle.remove()
    assert len(runs) == before
    assert np.array_equal(first.logp, again.logp)
    assert np.array_equal(fewer.logp, first.logp[1::2])


def test_vectors_are_kept(tmp_path):
    from unmask.api import run

    runs = []
    model = tiny("bert")
    handle = model.net.base_model.register_forward_hook(lambda *_: runs.append(1))
    with opened(tmp_path / "a") as store:
        one = run(model, ["w-seat"], ["weat-6"], store=store)
        before = len(runs)
        two = run(model, ["w-seat"], ["weat-6"], store=store)
        assert len(runs) == before
        run(model, ["w-seat"], ["weat-6"], layer=1, store=store)
        assert len(runs) > before
    handle.remove()
    assert one[0].overall == two[0].overall

"""Tests of models/output_cache."""

import warnings

import numpy as np
import pytest

from conftest import invoke, tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import plan
from unmask.measures import LIKELIHOOD
from unmask.models.batches import Budget
from unmask.models.output_cache import Store, opened
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


def test_the_store_forgets_what_was_used_least(tmp_path, monkeypatch):
    monkeypatch.setattr("unmask.models.output_cache.DAY", -1)
    monkeypatch.setattr("unmask.models.output_cache.time.time", lambda: clock[0])
    monkeypatch.setenv("UNMASK_CACHE_SIZE", "200000")
    clock = [1000]
    store = Store(tmp_path / "a")
    for number in range(40):
        clock[0] += 1
        store.put([(bytes([number]) * 16, bytes(10_000))])
        store.flush()
    clock[0] += 1
    assert store.get([bytes([0]) * 16])  # the oldest, but just used
    store.close()
    left = Store(tmp_path / "a")
    assert left.size() <= 200_000
    assert 0 < left.count() < 40
    assert left.get([bytes([0]) * 16])
    assert not left.get([bytes([1]) * 16])
    left.close()


def test_two_processes_may_share_the_store(tmp_path):
    one, two = Store(tmp_path / "a"), Store(tmp_path / "a")
    one.put([(b"1" * 16, b"x")])
    one.flush()
    assert two.get([b"1" * 16]) == {b"1" * 16: b"x"}
    two.put([(b"2" * 16, b"y")])
    two.flush()
    assert one.get([b"2" * 16])
    one.close()
    two.close()


def test_the_cache_is_told_of_and_cleared(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    command = ("run", "-x", "w-seat", "-d", "weat-6", "-o", tmp_path / "r", "--force")
    status, _, err = invoke(*command)
    assert status == 0, err
    status, out, _ = invoke("cache", "info")
    assert status == 0
    assert " 0 rows" not in " ".join(out.split())
    assert invoke("cache", "clear")[0] == 0
    assert " 0 rows" in " ".join(invoke("cache", "info")[1].split())
    assert invoke(*command, "--no-cache")[0] == 0
    assert not (tmp_path / "answers-1.sqlite").exists()
    monkeypatch.setenv("UNMASK_CACHE_SIZE", "much")
    status, _, err = invoke(*command)
    assert status == 2
    assert "UNMASK_CACHE_SIZE" in err
    (tmp_path / "answers-1.sqlite").write_bytes(b"no database" * 500)
    monkeypatch.delenv("UNMASK_CACHE_SIZE")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        status, _, err = invoke(*command)
    assert status == 0
    assert "was renamed to" in " ".join(err.split())


def test_a_file_that_breaks_on_the_way_costs_the_kept_answers_alone(tmp_path, monkeypatch):
    """A full disk or a damaged page while a run goes on: it goes on without the file."""
    store = Store(tmp_path / "a")
    store.put([(b"k" * 16, b"v")])
    store.flush()
    store._file.close()  # whatever is asked of it now is an error
    assert store.count() == 0
    store.put([(b"l" * 16, b"v")])
    store.close()
    assert any("no longer cached" in line for line in store.messages)

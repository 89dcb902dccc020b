"""Tests of support/gc_pause: whatever their order, the last pause ends it."""

import gc

import pytest

from unmask.support.gc_pause import gc_paused


@pytest.fixture(autouse=True)
def collecting():
    before = gc.isenabled()
    gc.enable()
    yield
    gc.enable() if before else gc.disable()


def test_pauses_may_overlap():
    first, second = gc_paused(), gc_paused()
    first.__enter__()
    assert not gc.isenabled()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_an_error_ends_a_pause_too():
    with pytest.raises(ValueError, match="wrong"), gc_paused():
        raise ValueError("wrong")
    assert gc.isenabled()


def test_where_there_was_no_collection_there_is_none_after():
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()

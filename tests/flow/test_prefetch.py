"""Tests of flow/prefetch: the next model is on its way while this one is asked."""

import threading

import pytest

from conftest import tiny
from unmask.errors import ModelError
from unmask.flow import prefetch
from unmask.flow.prefetch import prefetching
from unmask.options import Options

NAMES = ["a", "b", "broken"]


@pytest.fixture
def room(monkeypatch):
    monkeypatch.setattr(prefetch, "_room", lambda model: True)


def load(name, options):
    if name == "broken":
        raise ModelError("it is broken")
    return name, threading.current_thread() is threading.main_thread()


def test_the_next_model_is_loaded_beside_and_taken_once(room):
    with prefetching(Options(), NAMES, load) as ahead:
        assert ahead.take("a") is None  # nothing is on its way yet
        ahead.begin("a", tiny("bert"))
        assert ahead.take("b") == ("b", False)
        assert ahead.take("b") is None
        ahead.begin("b", tiny("bert"))
        with pytest.raises(ModelError, match="broken"):
            ahead.take("broken")
        ahead.begin("broken", tiny("bert"))  # there is none behind it


@pytest.mark.parametrize("options", [{"dtype": "bfloat16"}, {"engine": "ray"}, {"load": "8bit"}])
def test_other_ways_to_load_wait_their_turn(options, room):
    with prefetching(Options(**options), NAMES, load) as ahead:
        ahead.begin("a", tiny("bert"))
        assert ahead.take("b") is None


def test_a_cpu_has_no_time_for_it():
    with prefetching(Options(), NAMES, load) as ahead:
        ahead.begin("a", tiny("bert"))
        assert ahead.take("b") is None


def test_it_waits_until_the_device_has_work(room, monkeypatch):
    monkeypatch.setattr(prefetch, "MOST_PATIENCE", 60)
    seen = []
    loads = threading.Event()

    def noted(name, options):
        seen.append(name)
        loads.set()
        return name

    with prefetching(Options(), NAMES, noted) as ahead:
        ahead.begin("a", tiny("bert"))
        assert ahead.waiting
        assert not loads.wait(0.1)
        ahead.gpu_busy.set()
        assert loads.wait(10)
        assert ahead.take("b") == "b"
        assert not ahead.waiting
        ahead.begin("b", tiny("bert"))  # and no one says that it is at work
        assert ahead.take("broken") == "broken"
    assert seen == ["b", "broken"]

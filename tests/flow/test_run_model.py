"""Tests of flow/run_model: the statistics of a model wait until a device works on the next."""

from pathlib import Path
from threading import Event

import pytest
import torch

from conftest import make_net, tiny
from unmask.errors import ModelError
from unmask.flow import estimates, prefetch, run_likelihood
from unmask.flow.evaluate import evaluate
from unmask.flow.run_model import RunState
from unmask.models.fast import paths
from unmask.models.fast.pass_queue import PassQueue
from unmask.models.transformers.logprobs import Engine, PendingValues
from unmask.options import Options, Spec
from unmask.types import Contrast, Dataset, Text

WORDS = [("age", "man", "boy"), ("age", "woman", "girl"), ("job", "nurse", "doctor")] * 4
ITEMS = [
    Contrast(
        str(n),
        {"stereotype": Text(f"the {a} is here {n}"), "antistereotype": Text(f"the {b} is here")},
        category,
        str(n),
    )
    for n, (category, a, b) in enumerate(WORDS)
]
SETS = [Dataset("some", "pairs", tuple(ITEMS)), Dataset("others", "pairs", tuple(ITEMS[3:]))]
MEASURES = ("aul", "pll")


@pytest.fixture
def folders(tmp_path):
    """Three models of one architecture."""
    tokenizer, out = tiny("bert").codec.tokenizer, []
    for seed, name in enumerate("abc"):
        torch.manual_seed(seed)
        make_net("bert", len(tokenizer), tokenizer.pad_token_id).save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        out.append(str(tmp_path / name))
    return out


@pytest.fixture
def device(monkeypatch):
    """The CPU, treated as a GPU with room for several models."""
    monkeypatch.setattr(run_likelihood, "on_gpu", lambda model: True)
    monkeypatch.setattr(prefetch, "_room", lambda model: True)


def found(folders, failed=None, **options):
    specs = [Spec(m, k, d) for m in folders for d in SETS for k in MEASURES]
    more = {} if failed is None else {"failed": failed}
    return evaluate(specs, Options(**options), **more)


def numbers(results):
    return [(r.model, r.measure, r.data, r.overall, r.verdicts, r.by_category) for r in results]


def test_results_are_those_of_models_one_after_the_other(folders, request):
    plain = numbers(found(folders))
    request.getfixturevalue("device")
    assert numbers(found(folders)) == plain


@pytest.fixture
def next_asked(monkeypatch):
    """An event for each model, which is set when its rows are asked."""
    events, own = {name: Event() for name in "abc"}, Engine.begin_rows

    def begin_rows(self, rows):
        events[Path(self.net.config._name_or_path).name].set()
        return own(self, rows)

    monkeypatch.setattr(Engine, "begin_rows", begin_rows)
    return events


def test_statistics_are_made_while_the_next_model_is_asked(
    folders, device, next_asked, monkeypatch
):
    own, waited = estimates.result, []

    def result(model, *more):
        if (name := Path(model.name).name) != "c":
            waited.append(next_asked["abc"["abc".index(name) + 1]].wait(30))
        return own(model, *more)

    monkeypatch.setattr(estimates, "result", result)
    made = [Path(r.model).name for r in found(folders)]
    assert made == [name for name in "abc" for _ in range(len(SETS) * len(MEASURES))]
    assert all(waited)


def test_the_next_model_is_asked_before_the_last_answers_of_this_one_are_there(
    folders, device, next_asked, monkeypatch
):
    fetch, waited = Engine._fetch, []

    def fetched(self, *more):
        if (name := Path(self.net.config._name_or_path).name) != "c":
            waited.append(next_asked["abc"["abc".index(name) + 1]].wait(30))
        return fetch(self, *more)

    monkeypatch.setattr(Engine, "_fetch", fetched)
    monkeypatch.setattr(PendingValues, "done", lambda self: False)  # until it is waited for
    monkeypatch.setattr(paths, "PassQueue", lambda most: PassQueue(paths.PASSES_AHEAD))
    found(folders)
    assert waited
    assert all(waited)


def test_what_fails_late_is_told_of_its_own_model(folders, device, monkeypatch):
    own = estimates.result

    def result(model, spec, *more):
        if Path(model.name).name == "a" and spec.measure.name == "pll":
            raise ModelError("it is gone")
        return own(model, spec, *more)

    monkeypatch.setattr(estimates, "result", result)
    failed = []
    rest = found(folders, lambda spec, error: failed.append((spec.model.name, str(error))))
    assert failed == [(folders[0], "it is gone")] * len(SETS)
    assert len(rest) == 3 * len(SETS) * len(MEASURES) - len(SETS)


def test_a_model_that_cannot_be_loaded_costs_no_other(folders, device):
    (Path(folders[1]) / "model.safetensors").write_bytes(b"nothing")
    failed = []
    rest = found(folders, lambda spec, error: failed.append(spec.model))
    assert {r.model for r in rest} == {folders[0], folders[2]}
    assert failed == [folders[1]] * len(SETS) * len(MEASURES)
    assert len(rest) == 2 * len(failed)


def test_work_is_done_in_its_order_and_its_error_is_raised_at_the_end():
    done, state = [], RunState()
    gate = Event()
    state.submit(lambda: done.append(gate.wait(30)), at_once=False)
    state.submit(lambda: done.append(2), at_once=True)  # behind what waits
    state.submit(raised, at_once=False)
    state.submit(lambda: done.append(3), at_once=False)  # after an error nothing is done
    gate.set()
    with pytest.raises(ModelError, match="gone"):
        state.wait()
    assert done == [True, 2]


def raised():
    raise ModelError("it is gone")


def test_what_a_caller_raises_is_raised_and_blamed_on_no_one(folders, device, monkeypatch):
    own, failed = estimates.result, []

    def result(model, spec, *more):
        if Path(model.name).name == "a":
            raise ModelError("it is gone")
        return own(model, spec, *more)

    def tell(spec, error):
        failed.append(spec.model.name)
        raise error

    monkeypatch.setattr(estimates, "result", result)
    with pytest.raises(ModelError, match="it is gone"):
        found(folders, tell)
    assert failed == [folders[0]]


@pytest.mark.parametrize("reason", [KeyboardInterrupt, RuntimeError])
def test_what_was_answered_is_told_though_the_run_is_ended(folders, device, monkeypatch, reason):
    own, seen = Engine.begin_rows, []

    def begin_rows(self, rows):
        if Path(self.net.config._name_or_path).name == "b":
            raise reason
        return own(self, rows)

    monkeypatch.setattr(Engine, "begin_rows", begin_rows)
    with pytest.raises(reason):
        found(folders, decided=lambda r: seen.append(Path(r.model).name))
    assert seen == ["a"] * len(SETS) * len(MEASURES)


@pytest.mark.parametrize("reason", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_pass_of_the_next_model_costs_this_one_nothing(folders, device, monkeypatch, reason, nth):
    """Whichever pass it is in: what was answered is reported."""
    own, seen, passes = Engine._outputs, [], []

    def answer(self, asked, batch, weighted):
        if Path(self.net.config._name_or_path).name == "b":
            passes.append(1)
            if len(passes) == nth:
                raise reason
        return own(self, asked, batch, weighted)

    monkeypatch.setattr(Engine, "_outputs", answer)
    with pytest.raises(reason):
        found(folders, decided=lambda r: seen.append(Path(r.model).name), tokens=60)
    assert len(passes) == nth
    assert seen == ["a"] * len(SETS) * len(MEASURES)


def test_a_pass_that_fails_while_others_wait_is_its_own_models(folders, device, monkeypatch):
    own, failed = Engine._outputs, []

    def answer(self, asked, batch, weighted):
        if Path(self.net.config._name_or_path).name == "b":
            raise ModelError("its network is broken")
        return own(self, asked, batch, weighted)

    monkeypatch.setattr(Engine, "_outputs", answer)
    rest = found(folders, lambda spec, error: failed.append(spec.model.name))
    assert {*failed} == {folders[1]}
    assert [r.model for r in rest] == [m for m in folders[::2] for _ in range(4)]

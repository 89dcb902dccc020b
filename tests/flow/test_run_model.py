"""Tests of flow/run_model: the statistics of a model wait until a device works on the next."""

import gc
from pathlib import Path

import pytest
import torch

from conftest import make_net, tiny
from unmask.errors import ModelError
from unmask.flow import load_ahead, results, run_likelihood
from unmask.flow.evaluate import evaluate
from unmask.flow.run_model import Gathered
from unmask.models.fast import paths
from unmask.models.fast.pass_queue import PassQueue
from unmask.models.transformers.logprobs import Answer, Engine
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
    monkeypatch.setattr(load_ahead, "_room", lambda model: True)


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


def test_statistics_are_made_while_the_next_model_is_asked(folders, device, monkeypatch):
    seen, own = [], Engine.begin_rows

    def begin_rows(self, rows):
        seen.append(f"asked {Path(self.net.config._name_or_path).name}")
        return own(self, rows)

    monkeypatch.setattr(Engine, "begin_rows", begin_rows)
    found(folders, decided=lambda r: seen.append(Path(r.model).name))
    made = [s for s in seen if s in "abc"]
    assert made == [name for name in "abc" for _ in range(len(SETS) * len(MEASURES))]
    for name, after in ("ab", "bc"):
        last = max(i for i, s in enumerate(seen) if s == name)
        assert seen.index(f"asked {after}") < last, seen


def test_the_next_model_is_asked_before_the_last_answers_of_this_one_are_there(
    folders, device, monkeypatch
):
    seen, begin, fetch = [], Engine.begin_rows, Engine._fetch

    def begin_rows(self, rows):
        seen.append(f"asked {Path(self.net.config._name_or_path).name}")
        return begin(self, rows)

    def fetched(self, *more):
        seen.append(f"answered {Path(self.net.config._name_or_path).name}")
        return fetch(self, *more)

    monkeypatch.setattr(Engine, "begin_rows", begin_rows)
    monkeypatch.setattr(Engine, "_fetch", fetched)
    monkeypatch.setattr(Answer, "done", lambda self: False)  # until it is waited for
    monkeypatch.setattr(paths, "PassQueue", lambda most: PassQueue(paths.PASSES_AHEAD))
    found(folders)
    for name, after in ("ab", "bc"):
        last = len(seen) - 1 - seen[::-1].index(f"answered {name}")
        assert seen.index(f"asked {after}") < last, seen


def test_no_more_than_one_model_waits(folders, device, monkeypatch):
    own, most = Gathered.catch_up, []

    def catch_up(self, *more):
        most.append(len(self.waiting))
        own(self, *more)

    monkeypatch.setattr(Gathered, "catch_up", catch_up)
    found(folders)
    assert max(most) == 2, "its work, and to close it"


def test_what_fails_late_is_told_of_its_own_model(folders, device, monkeypatch):
    own = results.result

    def result(model, spec, *more):
        if Path(model.name).name == "a" and spec.measure.name == "pll":
            raise ModelError("it is gone")
        return own(model, spec, *more)

    monkeypatch.setattr(results, "result", result)
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


def test_what_waits_is_done_in_its_order_and_the_device_is_tended():
    done = []
    gathered = Gathered()
    gathered.waiting.extend([(done.append(n) for n in (1, 2)), (done.append(n) for n in (3,))])
    gathered.catch_up(lambda: done.append("tended"))
    assert done == [1, "tended", 2, "tended", 3, "tended"]
    gathered.catch_up()
    assert len(done) == 6


def test_what_a_caller_raises_is_raised_and_blamed_on_no_one(folders, device, monkeypatch):
    own, failed = results.result, []

    def result(model, spec, *more):
        if Path(model.name).name == "a":
            raise ModelError("it is gone")
        return own(model, spec, *more)

    def tell(spec, error):
        failed.append(spec.model.name)
        raise error

    monkeypatch.setattr(results, "result", result)
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
    """Whichever pass it is in: what was answered is told, and garbage is collected again."""
    own, seen, passes = Engine._answer, [], []

    def answer(self, asked, batch, weighted):
        if Path(self.net.config._name_or_path).name == "b":
            passes.append(1)
            if len(passes) == nth:
                raise reason
        return own(self, asked, batch, weighted)

    monkeypatch.setattr(Engine, "_answer", answer)
    with pytest.raises(reason):
        found(folders, decided=lambda r: seen.append(Path(r.model).name), tokens=60)
    assert len(passes) == nth
    assert seen == ["a"] * len(SETS) * len(MEASURES)
    assert gc.isenabled()


def test_garbage_is_collected_again_though_a_failure_is_raised(folders, device, monkeypatch):
    own = Engine._answer

    def answer(self, asked, batch, weighted):
        if Path(self.net.config._name_or_path).name == "b":
            raise ModelError("its network is broken")
        return own(self, asked, batch, weighted)

    monkeypatch.setattr(Engine, "_answer", answer)
    with pytest.raises(ModelError, match="broken"):
        found(folders)
    assert gc.isenabled()


def test_a_pass_that_fails_while_others_wait_is_its_own_models(folders, device, monkeypatch):
    own, failed = Engine._answer, []

    def answer(self, asked, batch, weighted):
        if Path(self.net.config._name_or_path).name == "b":
            raise ModelError("its network is broken")
        return own(self, asked, batch, weighted)

    monkeypatch.setattr(Engine, "_answer", answer)
    rest = found(folders, lambda spec, error: failed.append(spec.model.name))
    assert {*failed} == {folders[1]}
    assert [r.model for r in rest] == [m for m in folders[::2] for _ in range(4)]

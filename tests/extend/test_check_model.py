"""The contract of a model, and models that break it."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import unmask
from conftest import ROOT, tiny
from unmask.errors import UnmaskError
from unmask.queries import Readings


def example():
    text = (ROOT / "docs" / "own-model.md").read_text()
    return re.search(r"```python\n(.*?)```", text, re.S)[1]


@pytest.fixture
def unigram():
    scope = {}
    exec(example(), scope)  # the page's own code
    return scope["model"]


def test_the_page_shows_a_whole_model_in_forty_lines(unigram, capsys):
    assert len(example().strip().split("\n")) <= 40
    result = unmask.evaluate(unigram, "ll", "bundled-pairs")
    assert result.coverage.share == 100
    assert result.accuracy is not None
    frequencies = unigram.logp
    row = result.items.iloc[0]
    ids = unigram.codec.encode(row.sentence).ids
    content = [i for i in ids[1:] if i not in unigram.codec.reserved]
    assert row.score == pytest.approx(frequencies[content].sum())


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "xlnet"])
def test_our_models_keep_the_contract(family):
    unmask.check_model(tiny(family))


class Wrong:
    def __init__(self, model, **changes):
        self.model, self.changes = model, changes

    def __getattr__(self, name):
        if name in self.changes:
            return self.changes[name]
        return getattr(self.model, name)


class Engine:
    def __init__(self, logp):
        self.logp = logp

    def ask(self, asks, attention):
        count = sum(len(a.at) for a in asks)
        logp = self.logp(count)
        return Readings(logp, np.zeros(len(logp), bool), logp, 1)


BREAKS = {
    "a method that is missing": ({"engine": None}, "lacks engine"),
    "abilities that are none": ({"abilities": {"streams": 1}}, "must be an unmask.Abilities"),
    "a kind that is none": ({"kind": "maskd"}, "did you mean 'masked'"),
    "nothing at all": ({"abilities": unmask.Abilities()}, "are empty"),
    "too few answers": (
        {"engine": lambda *a, **k: Engine(lambda n: np.full(n - 1, -1.0))},
        "must return",
    ),
    "probabilities above one": (
        {"engine": lambda *a, **k: Engine(lambda n: np.full(n, 0.5))},
        "at most 0",
    ),
    "no numbers": (
        {"engine": lambda *a, **k: Engine(lambda n: np.full(n, np.nan))},
        "at most 0",
    ),
}


@pytest.mark.parametrize("what", list(BREAKS))
def test_what_a_model_does_wrong_is_one_sentence(what):
    changes, message = BREAKS[what]
    model = Wrong(tiny("bert"), **changes)
    if what == "a method that is missing":
        model = type("Half", (), {"name": "half", "kind": "masked"})()
        message = "lacks family, abilities"
    with pytest.raises(UnmaskError, match=message):
        unmask.check_model(model)


def test_something_else_is_not_a_model():
    with pytest.raises(unmask.ModelError, match="is not a model"):
        unmask.evaluate(object(), "aul", "bundled-pairs")


def test_a_package_may_offer_a_model(tmp_path):
    place = tmp_path / "packages"
    info = place / "ours-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[unmask.models]\nour-unigram = ours:make\nbroken = ours:fail\nodd = ours:odd\n"
    )
    body = example().partition("folder = ")
    build = body[1] + body[2].partition("unmask.check_model")[0]
    inner = "".join(f"    {line}\n" for line in build.strip().split("\n"))
    (place / "ours.py").write_text(
        f"{body[0]}\n\ndef make():\n{inner}    return model\n\n\n"
        "def fail():\n    raise RuntimeError('no weights')\n\n\ndef odd():\n    return 3\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), str(ROOT / "src")])}

    def unmask_run(*words):
        return subprocess.run(
            [sys.executable, "-m", "unmask", "run", "-x", "ll", "-d", "bundled-pairs", *words],
            env=environment, capture_output=True, text=True, cwd=tmp_path,
        )  # fmt: skip

    done = unmask_run("-m", "our-unigram", "--limit", "8", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "unigram" in done.stdout
    done = unmask_run("-m", "broken")
    assert (done.returncode, "no weights" in done.stderr) == (2, True)
    done = unmask_run("-m", "odd")
    assert (done.returncode, "protocol" in done.stderr) == (2, True)


def test_abilities_are_what_the_flow_goes_by():
    short = replace(tiny("bert"), limit=5)
    assert short.abilities.limit == 5
    with pytest.raises(unmask.DataError, match="longer than the model's 5 tokens"):
        unmask.evaluate(short, "aul", "bundled-pairs")
    assert Path(unmask.__file__).is_file()


def test_a_model_without_vectors_runs_the_suite_without_them(unigram):
    found = unmask.run(unigram, limit=6)
    # Every word is as likely: no effect size.
    assert {r.measure for r in found} == {"cps", "cat", "trait"}
    found = unmask.run(unigram, ["ll", "w-seat"], ["bundled-pairs", "weat-6"], limit=6)
    assert [r.measure for r in found] == ["ll"]
    assert any("needs word vectors" in note for note in found.notes)


def test_a_stream_that_a_model_lacks_is_not_asked(unigram):
    with pytest.raises(unmask.NotApplicable, match="output 'written'"):
        unmask.evaluate(unigram, "cat@nadeem2021", "bundled-pairs", limit=4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"streams": "own"}, "streams is 'own'"),
        ({"streams": ("zzz",)}, "unknown stream"),
        ({"limit": None}, "maximum length of a row"),
        ({"precision": "half"}, "unknown precision"),
        ({"remarks": "text"}, "remarks"),
        ({"layers": ("1",)}, "layers"),
    ],
)
def test_abilities_check_themselves(given, message):
    with pytest.raises(UnmaskError, match=message):
        unmask.Abilities(**given)


@pytest.mark.parametrize(
    "engine",
    [None, lambda: None, lambda *a, **k: None, lambda *a, **k: object(), 3],
    ids=["none", "no keywords", "gives none", "cannot be asked", "no function"],
)
def test_an_engine_of_any_form_is_one_sentence(engine):
    with pytest.raises(UnmaskError, match="fails when it is queried"):
        unmask.check_model(Wrong(tiny("bert"), engine=engine))


def test_answers_that_are_too_few_are_not_scored():
    for logp, message in ((lambda n: np.full(n - 1, -1.0), "results for"), (np.ones, "at most 0")):
        wrong = Wrong(tiny("bert"), engine=lambda *a, logp=logp, **k: Engine(logp))
        with pytest.raises(unmask.ModelError, match=message):
            unmask.evaluate(wrong, "aul", "bundled-pairs", limit=4)


@pytest.mark.parametrize("given", [5, object(), [[]]])
def test_what_is_not_a_model_is_one_sentence_without_measures_too(given):
    with pytest.raises(unmask.ModelError, match="is not a model"):
        unmask.run(given)


def test_a_bare_network_is_told_what_is_missing():
    with pytest.raises(unmask.ModelError, match=r"\(network, tokenizer\)"):
        unmask.run(tiny("bert").net)


def test_answers_that_depend_on_how_much_is_asked_are_found():
    model = tiny("gpt2")

    class Crowded:
        def ask(self, asks, attention):
            found = model.engine().ask(asks, attention)
            return replace(found, logp=found.logp - 0.5 * len(asks))

    with pytest.raises(unmask.UnmaskError, match="sent one by one"):
        unmask.check_model(Wrong(model, engine=lambda *a, **k: Crowded()))

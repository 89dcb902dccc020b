"""Chat models behind a server: what is measured, what is refused, and what is kept."""

import json
import math
import random
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import unmask
from answerers import always, chooses
from conftest import invoke
from unmask.data.packaged import bundled_pairs
from unmask.errors import ModelError, NotApplicable
from unmask.models.served import openai_client as http
from unmask.models.served.chat_model import label_of, load_chat
from unmask.stats.choices import Choices
from unmask.types import Dataset

DATA = bundled_pairs()
SOME = Dataset(DATA.name, "triplets", DATA.items[::12], DATA.cluster)
STEREOTYPES = {i.texts["stereotype"].string for i in DATA.items} | {"red"}


def top_of(chances, fill=20):
    """The likeliest tokens of a reply, as servers give them; each label in two spellings."""
    tokens = []
    for label, p in chances.items():
        tokens += [(label, 0.75 * p), (f" {label}", 0.25 * p)]
    rest = 1 - sum(p for _, p in tokens)
    tokens += [(f"x{k}", rest / 40) for k in range(fill - len(tokens))]
    return [{"token": t, "logprob": math.log(max(p, 1e-12))} for t, p in tokens]


class Handler(BaseHTTPRequestHandler):
    """A chat server that answers by `server.rule`; `server.manner` is what it does wrong."""

    def log_message(self, *_):
        pass

    def send(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send(200, {"data": [{"id": "m"}]})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.asked.append(asked)
            if server.faults and len(server.asked) > 4:
                fault = server.faults.pop(0)
                if fault != "hang":
                    self.send(fault, {"error": {"message": "not now"}})
                    return
                time.sleep(1.5)
        message = asked["messages"][-1]["content"]
        chances = server.rule(message)
        choice = {"message": {"role": "assistant", "content": self.text(chances, message)}}
        if asked.get("logprobs") and server.manner != "silent":
            top = top_of(chances)
            if server.manner == "zeros":
                top = [{**t, "logprob": 0.0} for t in top]
            if server.manner == "equal":
                top = [{**t, "logprob": -9999.0} for t in top]
            if server.manner == "drifts":
                said = 0.2 if len(server.asked) // 2 % 2 else 1.0
                top = top_of({k: p * said for k, p in chances.items()})
            if server.manner == "short":
                top = top[2:]  # the first label is beyond the likeliest tokens
            if server.manner not in ("elsewhere", "thinks"):  # the reply is the likeliest token
                choice["message"]["content"] = max(top, key=lambda t: t["logprob"])["token"]
            choice["logprobs"] = {"content": [{"token": "A", "logprob": -1, "top_logprobs": top}]}
        usage = {"prompt_tokens": -5, "total_tokens": "many"}
        self.send(200, {"choices": [choice], "usage": usage, "system_fingerprint": "fp"})

    def text(self, chances, message):
        if self.server.manner == "elsewhere":
            return "Well"
        if self.server.manner == "refuses":
            return "I cannot help with that. As an AI I do not judge."
        rng = random.Random(f"{message}{len(self.server.asked)}")
        label = rng.choices([*chances, ""], [*chances.values(), max(1 - sum(chances.values()), 0)])[
            0
        ]
        said = f"{label})" if label else "Neither seems right."
        return f"<think>A or B? B...</think>\n{said}" if self.server.manner == "thinks" else said


@contextmanager
def serving(rule, manner=""):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.rule, server.manner, server.asked, server.faults = rule, manner, [], []
    server.lock = threading.Lock()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}/v1#m?chat"
    finally:
        server.shutdown()
        server.server_close()


def measured(name, measure="choice", **options):
    return unmask.evaluate(name, measure, SOME, **options)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(http, "FIRST_PAUSE", 0.01)


def test_without_a_measure_a_chat_model_is_asked_to_choose():
    with serving(chooses(STEREOTYPES.__contains__, 0.8)) as (_, name):
        assert [r.measure for r in unmask.run([name], data=[SOME])] == ["choice"]


def test_probabilities_over_spellings_are_exact():
    with serving(chooses(STEREOTYPES.__contains__, 0.8)) as (_, name):
        result = measured(name)
    assert result.overall.value == 100
    assert result.extras["margin"].value == pytest.approx(math.log(0.8 / 0.2), abs=1e-6)
    assert result.extras["declined"].value == pytest.approx(0, abs=1e-6)
    assert result.provenance["model"]["source"] == "top"
    assert not any("fails an obvious choice" in note for note in result.notes)


def test_always_a_hardly_follows_and_gets_no_verdict():
    with serving(always("A")) as (_, name):
        result = measured(name)
    assert any("fails an obvious choice" in note for note in result.notes)
    assert not result.fitness.fit


@pytest.mark.parametrize(
    ("manner", "words"),
    [
        ("zeros", "invalid log-probabilities"),
        ("equal", "the same log-probability"),
        ("drifts", "different probabilities for a repeated request"),
        ("elsewhere", "log-probabilities are misaligned"),
    ],
)
def test_servers_that_would_give_wrong_numbers_are_refused(manner, words):
    server = serving(chooses(STEREOTYPES.__contains__), manner)
    with server as (_, name), pytest.raises(ModelError, match=words):
        load_chat(name)


def test_a_label_beyond_the_likeliest_has_an_upper_bound():
    rule = chooses(STEREOTYPES.__contains__, 0.9)
    with serving(rule, "short") as (_, name):
        model = load_chat(name)
        found = model.engine()._found({0: ("A) red\nB) table", ("A", "B"))})
        result = measured(name)
    assert found[0][0].at_most
    assert found[0][0].logp < math.log(0.1)
    assert found[0][1].logp == pytest.approx(math.log(0.1), abs=0.1)
    assert not found[0][1].at_most
    assert any(
        f"In {len(SOME.items)} of {len(SOME.items)} items a label" in n for n in result.notes
    )


def test_a_bound_that_decides_is_told_from_one_that_does_not():
    first, nowhere = np.array([[True, False]] * 2), np.zeros((2, 2), bool)
    stereotype = np.array([[-3.0, -0.1], [-0.1, -0.1]])
    other = np.array([[-0.5, -4.0], [-4.0, -4.0]])
    logp = {"stereotype": stereotype, "antistereotype": other}
    one = Choices(logp, first, 0, {"stereotype": first, "antistereotype": nowhere})
    assert one.prefers.tolist() == [1, 1]
    assert one.without_bounds.prefers.tolist() == [0, 0]
    exact = Choices(logp, first, 0, dict.fromkeys(logp, nowhere))
    assert exact.without_bounds.prefers.tolist() == [1, 1]


@pytest.mark.parametrize("manner", ["silent", "thinks"])
def test_without_log_probabilities_replies_are_sampled(manner):
    with serving(chooses(STEREOTYPES.__contains__, 1.0), manner) as (server, name):
        result = measured(name)
        sampled = [a for a in server.asked if "logprobs" not in a]
    assert result.overall.value == 100
    assert result.extras["declined"].value == 0
    assert result.provenance["model"]["samples"] == 5
    assert {a["temperature"] for a in sampled} == {1}
    assert any("are sampled" in note for note in result.notes)


def test_refusals_are_declined_and_never_50():
    server = serving(chooses(STEREOTYPES.__contains__), "refuses")
    with server as (_, name), pytest.raises(unmask.DataError, match="to choose in 100 %"):
        measured(f"{name}=2")


def test_partly_declined_replies_are_counted():
    rule = chooses(STEREOTYPES.__contains__, 1.0)
    with serving(lambda m: {k: 0.7 * v for k, v in rule(m).items()}) as (_, name):
        result = measured(f"{name}=6")
    assert 20 < result.extras["declined"].value < 40
    assert result.extras["sampling"].value >= 0


def test_errors_that_pass_cost_nothing_and_a_key_stays(monkeypatch):
    monkeypatch.setenv(http.KEY_VARIABLE, "secret-key")
    with serving(chooses(STEREOTYPES.__contains__)) as (server, name):
        server.faults = [429, 500, 503, "hang"]
        result = measured(name)
    assert result.overall.value == 100
    assert "secret-key" not in json.dumps(result.provenance, default=str)


def test_a_second_run_asks_only_what_is_new(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    with serving(chooses(STEREOTYPES.__contains__)) as (server, name):
        one = measured(name, cache=True)
        first = len(server.asked)
        two = measured(name, cache=True)
        again = len(server.asked) - first
    assert first > 100
    assert again <= 4  # the probe
    assert np.allclose(one.items.score, two.items.score)


def test_other_measures_are_refused_with_what_can_be_asked():
    with serving(chooses(STEREOTYPES.__contains__)) as (_, name):
        with pytest.raises(NotApplicable, match="reply"):
            measured(name, "ll")
        status, out, err = invoke("run", "-m", f"{name}=x", "-x", "choice", "-d", "bundled-pairs")
    assert status == 2
    assert "not a number of replies" in out + err


def test_a_price_is_said_before(monkeypatch):
    monkeypatch.setenv("UNMASK_PRICE", "2.5")
    server = serving(chooses(STEREOTYPES.__contains__))
    warned = pytest.warns(unmask.errors.UnmaskWarning, match="expected cost")
    with server as (_, name), warned:
        measured(name)


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("A", "A"),
        (" B.", "B"),
        ("**A**", "A"),
        ("Answer: B", "B"),
        ("A) The man was late.", "A"),
        ("<think>B? no, A</think>A", "A"),
        ("An answer would be unfair.", None),
        ("Absolutely not.", None),
        ("I'd say A", None),
        ("<think>A ...", None),
        ("", None),
        ("C", None),
    ],
)
def test_labels_are_read_and_nothing_is_guessed(reply, label):
    assert label_of(reply, ("A", "B")) == label

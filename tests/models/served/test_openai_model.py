"""Models behind a server: the numbers of the model itself, and each failure in one sentence."""

import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
import torch

import unmask
from conftest import hears_interruptions, invoke, tiny
from data_lines import inter
from unmask.data.readers import stereoset
from unmask.errors import ModelError
from unmask.models.served import openai_client as http
from unmask.models.served.openai_model import _by_offsets, _placed, _walked, load_served

SETS = ("bundled-pairs", "kurita-career")


def completion(model, prompt, shifted=False):
    """As vLLM and llama-cpp-python answer with echo and logprobs."""
    tokenizer = model.codec.tokenizer
    made = tokenizer(prompt, return_offsets_mapping=True, add_special_tokens=False)
    ids = made["input_ids"]
    with torch.no_grad():
        logp = torch.log_softmax(model.net(torch.tensor([ids])).logits[0].double(), -1)
    values = [None, *(float(logp[i - 1, t]) for i, t in enumerate(ids) if i)]
    best = [None, *({"x": float(logp[i - 1].max())} for i in range(1, len(ids)))]
    if shifted:  # as llama-cpp-python does
        values = [None, *(float(logp[i, t]) for i, t in enumerate(ids) if i)]
        best = [None, *({"x": float(logp[i].max())} for i in range(1, len(ids)))]
    tokens = [prompt[a:b] for a, b in made["offset_mapping"]]
    marks = {
        "tokens": [*tokens, "!"],
        "token_logprobs": [*values, -0.1],
        "top_logprobs": [*best, {"!": -0.1}],
        "text_offset": [*(a for a, _ in made["offset_mapping"]), len(prompt)],
    }
    return {"choices": [{"text": prompt + "!", "logprobs": marks}], "system_fingerprint": "fp_1"}


class Handler(BaseHTTPRequestHandler):
    """Serves the tiny GPT-2; `server.faults` are statuses to give before it answers."""

    def log_message(self, *_):
        pass

    def reply(self, status, content, **heads):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for key, value in {"Content-Length": len(body), **heads}.items():
            self.send_header(key.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def refused(self):
        self.server.keys.append(self.headers.get("Authorization"))
        if self.server.need and self.headers.get("Authorization") != f"Bearer {self.server.need}":
            self.reply(401, {"error": {"message": "bad key"}})
            return True
        if self.server.faults:
            status = self.server.faults.pop(0)
            if status == "hang":
                time.sleep(2)
            else:
                self.reply(status, {"error": {"message": "not now"}}, Retry_After="0")
                return True
        return False

    def do_GET(self):
        if self.path.endswith("/models") and self.server.need is None:
            self.reply(200, self.server.models)
        elif not self.refused():
            found = self.path.endswith("/models")
            self.reply(200 if found else 404, self.server.models if found else {})

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        asked = json.loads(self.rfile.read(size))
        with self.server.lock:
            self.server.under_way += 1
            self.server.most = max(self.server.most, self.server.under_way)
        time.sleep(self.server.delay)
        with self.server.lock:
            self.server.under_way -= 1
        if self.refused():
            return
        if self.server.dislikes and self.server.dislikes in asked["prompt"]:
            self.reply(400, {"error": {"message": "too long"}})
            return
        if self.server.broken:
            self.server.broken -= 1
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
            return
        self.server.prompts.append(asked["prompt"])
        made = completion(tiny("gpt2"), asked["prompt"], self.server.shifted)
        if not self.server.echo:
            made["choices"][0] = {"text": "!", "logprobs": None}
        self.server.spoil(made, asked["prompt"])
        self.reply(200, made)


class Quiet(ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that is gone is no news."""


@contextmanager
def serving(**more):
    made = Quiet(("127.0.0.1", 0), Handler)
    usual = {
        "faults": [],
        "keys": [],
        "need": None,
        "echo": True,
        "shifted": False,
        "dislikes": "",
        "broken": 0,
        "delay": 0.0,
        "spoil": lambda made, prompt: None,
        "prompts": [],
        "under_way": 0,
        "most": 0,
        "lock": threading.Lock(),
        "models": {"data": [{"id": "small", "owned_by": "us", "max_model_len": 128}]},
    }
    for key, value in {**usual, **more}.items():
        setattr(made, key, value)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    try:
        yield made, f"http://127.0.0.1:{made.server_port}/v1#small"
    finally:
        made.shutdown()
        made.server_close()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(http.Server.__init__, "__defaults__", (8, 120.0, 0.01))
    monkeypatch.delenv(http.KEY_VARIABLE, raising=False)


def test_a_served_model_has_the_numbers_of_the_model_itself():
    with serving() as (there, name):
        found = unmask.run(f"{name}?start=<s>", None, SETS, limit=40)
        prompts = list(there.prompts)
    local = unmask.run(tiny("gpt2"), ["cps", "cat", "odds"], SETS, limit=40)
    assert [(r.measure, r.data) for r in found] == [(r.measure, r.data) for r in local]
    assert {r.measure for r in found} == {"cps", "cat", "odds"}
    for a, b in zip(found, local, strict=True):
        assert a.overall.value == pytest.approx(b.overall.value)
        assert np.allclose(a.items.score, b.items.score, atol=1e-9)
        assert a.accuracy.value == pytest.approx(b.accuracy.value)
    assert len(prompts) == len(set(prompts)) + 1  # each is sent once, but one to see if it changes
    facts = found[0].provenance["model"]
    assert (facts["model"], facts["fingerprint"], facts["weights"]) == ("small", "fp_1", None)
    assert facts["says"]["owned_by"] == "us"
    assert "weights cannot be verified" in " ".join(found[0].notes)


def test_continuations_are_scored_behind_their_context(tmp_path):
    data = stereoset.read_intersentence(inter(tmp_path))
    with serving() as (_, name):
        a = unmask.evaluate(f"{name}?start=<s>", "cat-continue", data)
    b = unmask.evaluate(tiny("gpt2"), "cat-continue", data)
    assert np.allclose(a.items.score, b.items.score)


def test_without_a_start_token_the_first_word_is_not_asked_for():
    with serving() as (_, name):
        found = unmask.run(name, ["ll", "lpbs"], SETS, limit=12)
    (ll,) = [r for r in found if r.measure == "ll"]
    assert "first token has no probability" in " ".join(ll.notes)
    # a template that begins with its target cannot be asked for it
    assert [r.measure for r in found] == ["ll"]
    assert any("lpbs" in n and "its first token has no probability" in n for n in found.notes)


def test_what_may_pass_is_tried_again_and_requests_run_side_by_side(monkeypatch):
    monkeypatch.setenv(http.REQUESTS_VARIABLE, "3")
    faults = [429, 503, 500, 502]
    with serving(faults=faults, delay=0.03) as (there, name):
        found = unmask.evaluate(name, "ll", "bundled-pairs", limit=20)
        assert not there.faults
        assert 2 <= there.most <= 3
    assert found.coverage.scored == 20


def test_a_request_that_takes_too_long_is_sent_again(monkeypatch):
    monkeypatch.setenv(http.TIMEOUT_VARIABLE, "1")
    with serving(faults=["hang"]) as (there, name):
        assert load_served(name).limit == 127
        assert not there.faults


def said(*names, **more):
    with serving(**more) as (_, name):
        return invoke("run", "-m", names[0] if names else name, "-x", "ll", "-d", "bundled-pairs")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"need": "secret"}, "UNMASK_API_KEY"),
        ({"echo": False}, "does not echo"),
        ({"shifted": True}, "are misaligned with their tokens"),
        ({"faults": [503] * 50}, "refused 6 times with 503: not now"),
        ({"faults": [404] * 50}, "404"),
        ({"faults": [400] * 50}, "refused with 400: not now"),
        ({"models": {"data": [{"id": "other"}]}}, "'small'"),
        ({"models": {"data": 3}}, "lists no models"),
        ({"models": []}, "a JSON object"),
        ({"models": b"<html>"}, "JSON"),
    ],
)
def test_each_failure_is_one_sentence(more, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, err = said(**more)
    assert status == 2
    assert words in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_an_address_without_a_server_and_wrong_addresses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("http://127.0.0.1:9/v1#x", "http://user:pw@127.0.0.1:9/v1#x", "http://#x"):
        began = time.monotonic()
        status, _, err = said(name)
        assert (status, err.count("\n")) == (2, 1)
        assert "pw" not in err
        assert time.monotonic() - began < 20
    with serving() as (_, name):
        status, _, err = invoke("run", "-m", name, "-x", "aul", "-d", "bundled-pairs")
        assert (status, "aul" in err) == (2, True)
        status, _, err = invoke("run", "-m", name, "-x", "w-seat", "-d", "weat-6")
        assert (status, "needs word vectors" in err) == (2, True)
        assert invoke("run", "-m", name, "--dtype", "float16")[0] == 2
    monkeypatch.setenv(http.REQUESTS_VARIABLE, "many")
    assert "UNMASK_REQUESTS" in said("http://127.0.0.1:9/v1#x")[2]


def test_a_key_is_sent_and_never_kept(tmp_path, monkeypatch):
    monkeypatch.setenv(http.KEY_VARIABLE, "secret-key-4711")
    with serving(need="secret-key-4711") as (there, name):
        args = ("-x", "ll", "-d", "bundled-pairs", "--limit", "4", "-o", tmp_path / "r")
        status, out, err = invoke("run", "-m", name, *args)
        assert status == 0, err
        assert set(there.keys) == {"Bearer secret-key-4711"}
    assert "4711" not in out + err
    for file in (tmp_path / "r").iterdir():
        assert b"4711" not in file.read_bytes()


def test_tokens_are_matched_with_the_text():
    assert _walked(["a", " b", "c"], "a b") == [(0, 1), (1, 3)]
    assert _walked(["<s>", "a", " b"], "a b") == [(0, 0), (0, 1), (1, 3)]
    assert _walked(["x", "y"], "a b") is None
    # a start token that is not spelt, or not told at all
    assert _placed({}, ["", "a", " b"], "<s>", "a b") == ([(0, 0), (0, 1), (1, 3)], 0)
    assert _placed({}, ["a", " b"], "<s>", "a b") == ([(0, 1), (1, 3)], 0)
    assert _placed({}, ["<s>", "a", " b"], "<s>", "a b") == ([(0, 3), (3, 4), (4, 6)], 3)
    marks = {"text_offset": [0, 1, 1, 2]}
    assert _by_offsets(marks, ["a", "", "\ufffd", "b"], "aéb") == [(0, 1), (1, 2), (1, 2), (2, 3)]
    assert _by_offsets({"text_offset": [0, 1]}, ["q", "r"], "ab") is None
    assert _by_offsets({}, ["a"], "ab") is None


def test_a_model_that_fails_on_the_way_costs_no_other(tmp_path, monkeypatch):
    with serving(faults=[]) as (there, name):
        there.faults = []
        kept = there.models

        def models():
            there.echo = False
            return kept

        monkeypatch.setattr(http.Server, "models", lambda self: models()["data"])
        args = ("-x", "ll,pll", "-d", "bundled-pairs", "--limit", "4", "-o", tmp_path / "r")
        status, out, err = invoke("run", "-m", "bundled", "-m", name, *args)
    assert status == 1
    assert f"1 model failed: {name}" in err
    assert "does not echo" in " ".join(out.split())
    assert {r.model for r in unmask.load(tmp_path / "r")} == {"bundled"}
    with pytest.raises(ModelError):
        unmask.evaluate(name, "ll", "bundled-pairs")


def marks(**more):
    """A fault in every answer."""

    def spoil(made, prompt):
        found = made["choices"][0]["logprobs"]
        for key, change in more.items():
            found[key] = change(found[key])

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        marks(token_logprobs=lambda v: ["abc"] * len(v)),
        marks(token_logprobs=lambda v: [{}] * len(v)),
        marks(token_logprobs=lambda v: [None] * len(v)),
        marks(token_logprobs=lambda v: [5.0] * len(v)),
        marks(top_logprobs=lambda v: {"a": 1}),
        marks(top_logprobs=lambda v: [{"a": None}] * len(v)),
        marks(tokens=lambda v: ["q"] * len(v), text_offset=lambda v: None),
        marks(tokens=lambda v: ["q"] * len(v), text_offset=lambda v: ["1"] * len(v)),
    ],
)
def test_odd_answers_are_one_sentence(spoil, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, err = said(spoil=spoil)
    assert (status, err.count("\n")) == (2, 1)


def test_an_answer_that_breaks_off_is_asked_for_again():
    with serving(broken=3) as (there, name):
        assert unmask.evaluate(name, "ll", "bundled-pairs", limit=4).coverage.scored == 4
        assert not there.broken
    with serving(broken=10_000) as (_, name), pytest.raises(ModelError, match="HTTP"):
        load_served(name)


def test_a_sentence_that_the_server_refuses_costs_its_item_alone(tmp_path):
    pairs = [("The man sang.", "The boy sang."), ("The dwarf sang.", "The elf sang.")]
    frame = pd.DataFrame(pairs * 2, columns=["stereotype", "antistereotype"])
    with serving(dislikes="dwarf") as (_, name):
        found = unmask.evaluate(name, "ll", frame)
    assert found.coverage.scored == 2
    assert "too long" in next(iter(found.coverage.reasons))


def test_tokens_without_a_spelling_do_not_mix_up_sentences():
    def spoil(made, prompt):
        found = made["choices"][0]["logprobs"]
        found["tokens"] = ["\ufffd" if ord(t[0]) > 127 else t for t in found["tokens"] if t]

    with serving(spoil=spoil) as (_, name):
        codec = load_served(name).codec
        one, two = (codec.encode(f"I am {word} here.") for word in ("\u00e9", "\u00e8"))
    if any("\ufffd" in t for t in codec.echoes["I am \u00e9 here."].tokens):
        assert one.ids != two.ids


def test_an_interruption_does_not_wait_for_a_server_that_hangs(tmp_path):
    with serving(faults=["hang"] * 100) as (server, name):
        code = f"import unmask; unmask.run({name!r}, 'll', 'bundled-pairs')"
        call = [sys.executable, "-c", code]
        made = subprocess.Popen(call, stderr=subprocess.DEVNULL, preexec_fn=hears_interruptions)
        while len(server.faults) == 100:  # until it waits for an answer
            time.sleep(0.1)
        began = time.monotonic()
        made.send_signal(signal.SIGINT)
        made.wait(timeout=10)
        assert time.monotonic() - began < 5


def test_a_server_cannot_make_us_wait_for_a_day(monkeypatch):
    """It asks for more than we would wait: that is said at once."""
    real = Handler.reply

    def reply(self, status, content, **heads):
        real(self, status, content, **({"Retry_After": "99999"} if heads else {}))

    monkeypatch.setattr(Handler, "reply", reply)
    began = time.monotonic()
    with serving(faults=[429] * 3) as (_, name), pytest.raises(ModelError, match="wait of 99999 s"):
        load_served(name)
    assert time.monotonic() - began < 5


def moved(step, top=True):
    """Log-probabilities that stand `step` places from where they belong."""

    def spoil(made, prompt):
        marks = made["choices"][0]["logprobs"]
        for key in ("token_logprobs", "top_logprobs"):
            values = marks[key][1:-1]
            fill = values[:1]
            turned = fill * step + values[:-step] if step > 0 else values[-step:] + fill * -step
            marks[key] = [None, *turned, marks[key][-1]]
        if not top:
            marks["top_logprobs"] = None

    return spoil


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("top", [True, False])
def test_log_probabilities_at_the_wrong_place_are_refused(step, top, tmp_path, monkeypatch):
    """Shifted to either side, and whether or not the server says what is most probable."""
    monkeypatch.chdir(tmp_path)
    status, _, err = said(spoil=moved(step, top))
    assert (status, err.count("\n")) == (2, 1)
    assert "are misaligned with their tokens" in err


def test_a_server_without_top_log_probabilities_is_taken():
    with serving(spoil=marks(top_logprobs=lambda v: None)) as (_, name):
        assert load_served(name).provenance["places checked"]


def test_values_above_the_best_and_values_that_change_are_refused():
    with (
        serving(spoil=marks(top_logprobs=lambda v: [{"x": -50.0}] * len(v))) as (_, name),
        pytest.raises(ModelError, match="greater log-probability than the most probable"),
    ):
        load_served(name)
    calls = []

    def noisy(made, prompt):
        calls.append(prompt)
        found = made["choices"][0]["logprobs"]
        again = 0.5 * (calls.count(prompt) - 1)
        found["token_logprobs"] = [v if v is None else v - again for v in found["token_logprobs"]]

    with serving(spoil=noisy) as (_, name), pytest.raises(ModelError, match="sent again"):
        load_served(name)


def test_a_first_character_of_several_tokens_keeps_all_of_them():
    """Its parts have no spelling; none of them is a start token."""
    tokens = ["\ufffd", "\ufffd", "\ufffd", " is", " late"]
    text = "\u4e16 is late"
    offsets = {"text_offset": [0, 0, 0, 1, 4]}
    spans, shift = _placed(offsets, tokens, "", text)
    assert (spans, shift) == ([(0, 1), (0, 1), (0, 1), (1, 4), (4, 9)], 0)
    offsets = {"text_offset": [0, 3, 3, 3, 4, 7]}
    spans, shift = _placed(offsets, ["<s>", *tokens], "<s>", text)
    assert (sum(b <= shift for _, b in spans), shift) == (1, 3)


def test_the_key_is_not_sent_on_to_another_server(monkeypatch):
    monkeypatch.setenv(http.KEY_VARIABLE, "secret-key-4711")
    with serving() as (other, elsewhere):
        target = elsewhere.partition("#")[0]

        def redirect(self):
            self.reply(302, b"", Location=f"{target}/models")

        with serving() as (_, name), monkeypatch.context() as patch:
            real = Handler.do_GET

            def get(self):
                own = self.server.server_port != other.server_port
                redirect(self) if own else real(self)

            patch.setattr(Handler, "do_GET", get)
            with pytest.raises(ModelError, match="are not followed") as error:
                load_served(name)
        assert other.keys == []
    assert "4711" not in str(error.value)


def test_a_redirect_within_one_server_is_followed(monkeypatch):
    real = Handler.do_GET

    def get(self):
        if self.path == "/v1/models":
            self.reply(302, b"", Location="/v2/models")
        else:
            real(self)

    monkeypatch.setattr(Handler, "do_GET", get)
    with serving() as (_, name):
        assert load_served(name).limit == 127


@pytest.mark.parametrize("key", ["secret\n4711", "secret 4711", "secret\u2028", "s\u00e9cret"])
def test_a_key_that_cannot_be_sent_is_never_printed(key, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(http.KEY_VARIABLE, key)
    status, out, err = said()
    assert (status, err.count("\n")) == (2, 1)
    assert "UNMASK_API_KEY contains" in err
    assert "4711" not in out + err
    assert "cret" not in out + err


def test_a_server_that_repeats_the_key_does_not_get_it_printed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(http.KEY_VARIABLE, "secret-key-4711")
    real = Handler.reply

    def reply(self, status, content, **heads):
        real(self, 418, {"error": {"message": "you sent secret-key-4711"}}, **heads)

    monkeypatch.setattr(Handler, "reply", reply)
    status, out, err = said()
    assert status == 2
    assert "you sent (the key)" in err
    assert "4711" not in out + err


def raw(*parts, pause=0.0):
    """An answer in pieces, with a pause between them."""

    def get(self):
        for part in parts:
            try:
                self.wfile.write(part)
            except OSError:
                return
            time.sleep(pause)

    return get


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("get", "words"),
    [
        (raw(OK + b"\r\n", b"[" * 100_000), "does not answer in JSON"),
        (raw(OK + b"\r\n" + b'{"data": ' + b"1" * 5000 + b"}"), "does not answer in JSON"),
        (raw(OK + b"Content-Length: 500\r\n\r\n", *[b" "] * 90, pause=0.1), "within 1 s"),
    ],
    ids=["deep", "digits", "drops"],
)
def test_odd_bodies_are_one_sentence(get, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Handler, "do_GET", get)
    monkeypatch.setattr(http, "TRIES", 1)
    monkeypatch.setenv(http.TIMEOUT_VARIABLE, "1")
    began = time.monotonic()
    status, _, err = said()
    assert (status, err.count("\n")) == (2, 1)
    assert words in err
    assert time.monotonic() - began < 6


def test_a_body_without_an_end_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(http, "LARGEST_RESPONSE", 2**20)
    monkeypatch.setattr(Handler, "do_GET", raw(OK + b"\r\n", *[b" " * 2**20] * 3))
    with serving() as (_, name), pytest.raises(ModelError, match="over 1 MB"):
        load_served(name)


def test_an_address_that_is_none_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("http://[::1#m", "http://localhost:99999/v1#m", "http://localhost:x/v1#m"):
        status, _, err = said(name)
        assert (status, err.count("\n")) == (2, 1), err
        assert "is not an address" in err

"""A server of language models that speaks the OpenAI completions protocol, over plain HTTP."""

import json
import os
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException, IncompleteRead, InvalidURL
from typing import Any
from urllib.parse import urlsplit

from unmask.errors import ModelError
from unmask.support.registry import unknown

KEY_VARIABLE = "UNMASK_API_KEY"  # an API key; it is sent in request headers only
REQUESTS_VARIABLE = "UNMASK_REQUESTS"  # how many requests may run in parallel
TIMEOUT_VARIABLE = "UNMASK_TIMEOUT"  # seconds that a request may take
RETRY_STATUSES = {408, 425, 429, 500, 502, 503, 504}
TRIES = 6
PROMPT_STATUSES = {400, 413, 414, 422}  # refusals of one prompt
LONGEST_PAUSE = 30.0  # seconds; if a server asks for a longer pause, the run stops
LARGEST_RESPONSE = 64 * 2**20  # bytes: a thousand times what a long sentence takes
FIRST_PAUSE = 0.5  # seconds; doubled with every retry


AN_ADDRESS = "give http://HOST:PORT/v1#MODEL"


class PromptRefused(ModelError):
    """A server refuses one prompt, but answers others."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server's address and request limits. `base` ends in `/v1`, without a slash."""

    base: str
    requests: int = 8
    timeout: float = 120.0
    pause: float = FIRST_PAUSE

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.base)
            _ = parts.port
        except ValueError as error:
            raise ModelError(f"{self.base!r} is not an address ({error}); {AN_ADDRESS}.") from None
        if parts.username or parts.password:
            raise ModelError(
                f"the address holds a password; put the key into {KEY_VARIABLE} instead."
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ModelError(f"{self.base!r} is not an address; {AN_ADDRESS}.")

    def models(self) -> list[Mapping[str, Any]]:
        """Return the records of the models that the server offers."""
        records = self._call("/models", None).get("data")
        if not isinstance(records, list) or not all(isinstance(m, dict) for m in records):
            raise ModelError(f"{self.base} lists no models; give the address up to /v1.")
        return records

    def model(self, name: str) -> Mapping[str, Any]:
        """Return the record of one model; without a name, of the only one."""
        by_name = {str(m["id"]): m for m in self.models() if m.get("id")}
        if not by_name:
            raise ModelError(f"{self.base} has no model loaded; load one first.")
        if not name and len(by_name) == 1:
            return next(iter(by_name.values()))
        if name not in by_name:
            message = unknown("model", name, by_name) if name else f"it holds {', '.join(by_name)}."
            raise ModelError(f"{self.base}: {message}")
        return by_name[name]

    def echoes(
        self,
        model: str,
        prompts: Sequence[str],
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[Any]:
        """The first choice of a completion that echoes each prompt, with log-probabilities."""
        return self.side_by_side(lambda p: self._echo(model, p), prompts, lambda k, r: progress(k))

    def side_by_side(
        self,
        ask: Callable[[Any], Any],
        prompts: Sequence[Any],
        done: Callable[[int, Any], None] = lambda count, reply: None,
    ) -> list[Any]:
        """Return the results of `ask` for all prompts, run in parallel; call `done` after each.

        If the server refuses a single prompt (too long, say), its result is a `PromptRefused`.
        """
        todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        replies: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        for k in range(len(prompts)):
            todo.put(k)
        over = threading.Event()
        for _ in range(min(self.requests, len(prompts))):
            job = (ask, prompts, todo, replies, over)
            # Not a pool: on an interruption, the command would wait for its threads.
            threading.Thread(target=self._worker, args=job, daemon=True).start()
        results: list[Any] = [None] * len(prompts)
        try:
            for count in range(1, len(prompts) + 1):
                k, reply = replies.get()
                if isinstance(reply, BaseException) and not isinstance(reply, PromptRefused):
                    raise reply
                results[k] = reply
                done(count, (k, reply))
        finally:
            over.set()
        return results

    def chat(self, model: str, message: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the server's reply to one message."""
        messages = [{"role": "user", "content": message}]
        body = {"model": model, "messages": messages, **settings}
        return self._call("/chat/completions", body)

    def _worker(
        self,
        ask: Callable[[Any], Any],
        prompts: Sequence[Any],
        todo: "queue.SimpleQueue[int]",
        done: "queue.SimpleQueue[tuple[int, Any]]",
        over: threading.Event,
    ) -> None:
        while not over.is_set():
            try:
                k = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((k, ask(prompts[k])))
            except BaseException as error:
                done.put((k, error))

    def _echo(self, model: str, prompt: str) -> Mapping[str, Any]:
        # One token is requested, since some servers take 0 for no limit.
        body = {"model": model, "prompt": prompt, "max_tokens": 1, "temperature": 0}
        reply = self._call("/completions", {**body, "logprobs": 1, "echo": True})
        try:
            choice = reply["choices"][0]
            marks = choice["logprobs"]
            complete = isinstance(marks["tokens"], list) and isinstance(
                marks["token_logprobs"], list
            )
        except (KeyError, IndexError, TypeError):
            complete = False
        if not complete or not _echoed(str(choice.get("text", "")), prompt):
            raise ModelError(
                f"{self.base} does not echo a prompt with its log-probabilities; use a server that "
                "does: vLLM, or another with echo and logprobs."
            )
        return {**choice, "fingerprint": reply.get("system_fingerprint")}

    def _call(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """Send a request; retry transient errors, each time after a longer pause."""
        for number in range(TRIES):
            try:
                return self._once(path, body)
            except urllib.error.HTTPError as error:
                message = self._refused(error)
                error.close()
                if error.code not in RETRY_STATUSES or number == TRIES - 1:
                    its_own = error.code in PROMPT_STATUSES and body is not None
                    raise (PromptRefused if its_own else ModelError)(message) from None
                pause = self._asked_pause(error.headers.get("Retry-After", ""))
            except (InvalidURL, UnicodeError) as error:
                raise ModelError(f"{self.base!r} is not an address ({error}).") from None
            except HTTPException as error:  # a truncated or invalid response
                if number == TRIES - 1:
                    problem = type(error).__name__
                    raise ModelError(
                        f"{self.base} did not return a valid HTTP response ({problem})."
                    ) from None
                pause = 0.0
            except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
                reason = getattr(error, "reason", error)
                late = isinstance(reason, TimeoutError) or "timed out" in str(reason)
                nobody = isinstance(reason, ConnectionRefusedError | OSError) and not late
                if (nobody and path == "/models") or number == TRIES - 1:
                    raise ModelError(self._silent(reason, late)) from None
                pause = 0.0
            time.sleep(max(pause, self.pause * 2**number))
        raise AssertionError

    def _asked_pause(self, text: str) -> float:
        """Return the pause that a server asks for, in seconds; refuse one that is too long."""
        pause = float(text) if text.replace(".", "", 1).isdecimal() and len(text) < 20 else 0.0
        if pause > LONGEST_PAUSE:
            raise ModelError(
                f"{self.base} asks for a wait of {pause:g} s before the next request; run the "
                "command "
                "again after that."
            )
        return pause

    def _once(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        heads = {"Content-Type": "application/json", "User-Agent": "unmask"}
        if key := _key():
            heads["Authorization"] = f"Bearer {key}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, heads)
        until = time.monotonic() + self.timeout
        with _OPENER.open(request, timeout=self.timeout) as answer:
            text = self._body(answer, until)
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise ModelError(
                f"{self.base} does not answer in JSON; give the address up to /v1."
            ) from None
        if not isinstance(content, dict):
            raise ModelError(
                f"{self.base} does not return a JSON object; give the address up to /v1."
            )
        return content

    def _body(self, answer: Any, until: float) -> bytes:
        """Return the body of a response; the timeout also applies if it arrives in small pieces."""
        parts, size = [], 0
        while part := answer.read1(2**20):
            parts.append(part)
            size += len(part)
            if size > LARGEST_RESPONSE:
                raise ModelError(
                    f"{self.base} sends a response over {LARGEST_RESPONSE >> 20} MB; use another "
                    "server."
                )
            if time.monotonic() > until:
                raise TimeoutError("timed out")
        if answer.length:  # it was truncated, which `read1` takes for the end
            raise IncompleteRead(b"", answer.length)
        return b"".join(parts)

    def _refused(self, error: urllib.error.HTTPError) -> str:
        """Return why a server refused, in one sentence, without the key that was sent to it."""
        if error.code in (401, 403):
            return f"{self.base} rejects the key ({error.code}); set a valid {KEY_VARIABLE}."
        if error.code == 404:
            return f"{self.base} has no such model or path (404); give http://HOST:PORT/v1#MODEL."
        message = error.read(2000).decode("utf-8", "replace")
        try:
            content = json.loads(message)
            inner = content.get("error", content)
            message = str(inner.get("message", inner) if isinstance(inner, dict) else inner)
        except (ValueError, AttributeError, RecursionError):
            pass
        if key := _key():
            message = message.replace(key, "(the key)")  # a server may repeat what it was sent
        tried = f" {TRIES} times" if error.code in RETRY_STATUSES else ""
        return f"{self.base} refused{tried} with {error.code}: {' '.join(message.split())[:150]}"

    def _silent(self, reason: Any, late: bool) -> str:
        if late:
            return (
                f"{self.base} did not answer within {self.timeout:g} s; raise {TIMEOUT_VARIABLE}."
            )
        return f"no server answers at {self.base} ({reason}); start it, or correct the address."


def _key() -> str:
    """Return the API key of requests; refuse one that cannot be sent without printing it.

    http.client would show such a key in its error message.
    """
    key = os.environ.get(KEY_VARIABLE, "")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError(
            f"{KEY_VARIABLE} contains a space, a line break or another character that is invalid "
            "in a key; set it to the key only."
        )
    return key


class _SameOrigin(urllib.request.HTTPRedirectHandler):
    """Follow redirects within one server only; another would receive the key and the sentences."""

    def redirect_request(
        self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str
    ) -> Any:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if (old.scheme, old.netloc) != (new.scheme, new.netloc):
            fp.close()
            raise ModelError(
                f"{old.scheme}://{old.netloc} redirects to {new.scheme}://{new.netloc}; redirects "
                "to another server are not followed: give that address if you trust it."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_SameOrigin)


def _echoed(text: str, prompt: str) -> bool:
    """Whether a text begins with the prompt, apart from a start token and the first space."""
    return text.startswith(prompt) or prompt.strip() in text


def server(base: str) -> Server:
    """Return a server at an address, with limits from the environment."""
    return Server(
        base.rstrip("/"), int(_number(REQUESTS_VARIABLE, 8)), _number(TIMEOUT_VARIABLE, 120)
    )


def _number(name: str, usual: float) -> float:
    text = os.environ.get(name, "")
    try:
        value = float(text) if text else usual
    except ValueError:
        value = 0.0
    if not 1 <= value < 1e9:
        raise ModelError(f"{name} is {text!r}; give a number of at least 1.")
    return value

"""A chat model on a server: the probability of each label at the start of its reply.

With `top_logprobs` one request is enough; a label beyond the likeliest tokens gets an upper bound.
Without them, several replies are sampled and read. A reply without a label counts as declined and
is not queried again. The server's responses are tested first, and refused if they would give wrong
numbers.
"""

import json
import math
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from unmask.errors import ModelError, NotApplicable, UnmaskWarning
from unmask.models.batches import Budget, Progress
from unmask.models.names import CHAT_MARK
from unmask.models.protocol import NO_LIMIT, Abilities
from unmask.models.served.openai_client import PromptRefused, Server
from unmask.models.served.openai_model import served_record
from unmask.queries import Encoded, Query, Readings, RowQueries, row_queries_of
from unmask.support.store import OUTPUTS, Store, digest
from unmask.types import Kind, Text

TOP = 20  # the number of likeliest tokens that a server returns
REPLIES = 5  # sampled for each request, unless the name says ?chat=K
PRICE_VARIABLE = "UNMASK_PRICE"  # price of a million tokens sent
CHARACTERS = 4  # approximate number in a token
LONGEST_REPLY, LONGEST_THOUGHT = 16, 2048  # tokens
TOLERANCE = 0.1  # accepted difference in probability between two identical requests
PROBE = "Which of these is a colour?\n\nA) {}\nB) {}\n\nReply with A or B only.\nAnswer:"
PROBES = (("red", "table"), ("table", "red"))
_THOUGHT = re.compile(r"<think>.*?</think>|<thinking>.*?</thinking>", re.DOTALL)
_OPEN = re.compile(r"<think(ing)?>")
_LABEL = re.compile(r"""^[\s"'*(\[`]*(?:[Aa]nswer\s*:?\s*)?["'*(\[`]*([A-D])(?![A-Za-z'\u2019])""")


def load_chat(name: str, progress: Any = lambda what, done, total: None) -> "ServedChat":
    """The chat model at `http://HOST/v1#MODEL?chat`, or `?chat=K` with K sampled replies."""
    server, record, _ = served_record(name)
    sampled = name.partition(CHAT_MARK)[2].removeprefix("=")
    if sampled and not (sampled.isdecimal() and 1 <= int(sampled) <= 1000):
        raise ModelError(
            f"{name!r}: {CHAT_MARK}={sampled} is not a number of replies; give 1 to 1000."
        )
    probed = _probed(server, str(record["id"]), int(sampled) if sampled else 0)
    return ServedChat(name, ChatServerCodec(name), probed, dict(record))


@dataclass(frozen=True, slots=True)
class ServerProbe:
    """A tested server; `samples` replies are read per request, 0 if it gives probabilities."""

    server: Server
    model: str
    samples: int
    thinks: bool
    fingerprint: str | None
    notes: tuple[str, ...]


def _probed(server: Server, model: str, samples: int) -> ServerProbe:
    notes: list[str] = []
    reply = server.chat(model, PROBE.format(*PROBES[0]), _settings(samples, False))
    fingerprint = reply.get("system_fingerprint")
    thinks = bool(_OPEN.match(_content(_choices(server, reply)[0]).lstrip()))
    if not samples:
        top = _top(reply)
        if top is None or thinks:
            samples = REPLIES
            reason = "it thinks before it answers" if thinks else "it gives no log-probabilities"
            notes.append(f"{server.base}: {reason}, so {samples} replies are sampled per request.")
        else:
            _check_top(server, top)
            _check_place(server, _content(_choices(server, reply)[0]), top)
    ask = partial(_ask, server, model, samples, thinks)
    answers = [ask((PROBE.format(*words), ("A", "B"))) for words in PROBES]
    if not samples:
        repeated = ask((PROBE.format(*PROBES[0]), ("A", "B")))
        both = zip(repeated, answers[0], strict=True)
        largest_gap = max(abs(math.exp(a.logp) - math.exp(b.logp)) for a, b in both)
        if largest_gap > TOLERANCE:
            raise ModelError(
                f"{server.base} returns different probabilities for a repeated request (by "
                f"{largest_gap:.2f}), so scores would be meaningless; check the server's settings."
            )
    (red, table), (table_first, also) = ([label.logp for label in answer] for answer in answers)
    right = red > table and also > table_first
    if not right:
        notes.append(
            f"{model} fails an obvious choice (is red or a table a colour?), so its choices may "
            "not reflect the content of the options."
        )
    return ServerProbe(server, model, samples, thinks, fingerprint, tuple(notes))


def _settings(samples: int, thinks: bool) -> dict[str, Any]:
    """Return the settings of a request besides its message."""
    if samples:
        length = LONGEST_THOUGHT if thinks else LONGEST_REPLY
        return {"max_tokens": length, "temperature": 1, "top_p": 1}
    return {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": TOP}


class Label(NamedTuple):
    """The log-probability of a label, or an upper bound if the server does not return it."""

    logp: float
    at_most: bool = False


def _ask(
    server: Server, model: str, samples: int, thinks: bool, prompt: tuple[str, Sequence[str]]
) -> list[Label]:
    """Return each label's log-probability, or the log of its share among sampled replies."""
    message, labels = prompt
    if not samples:
        reply = server.chat(model, message, _settings(0, thinks))
        top = _top(reply)
        if top is None:
            raise ModelError(f"{server.base} no longer returns log-probabilities; run again.")
        return _logp(server, top, labels)
    replies = [
        _content(_choices(server, server.chat(model, message, _settings(samples, thinks)))[0])
        for _ in range(samples)
    ]
    read = [label_of(text, labels) for text in replies]
    return [Label(math.log(max(read.count(k), 0.5) / samples)) for k in labels]


def _choices(server: Server, reply: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ModelError(
            f"{server.base} is not a chat completions endpoint; give the address up to /v1."
        )
    return choices


def _content(choice: Mapping[str, Any]) -> str:
    """Return the text of a reply; empty for a refusal or if there is none."""
    message = choice.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    return content if isinstance(content, str) else ""


def label_of(reply: str, labels: Sequence[str]) -> str | None:
    """Return the label that a reply gives after its reasoning, or None if it gives none."""
    text = _THOUGHT.sub("", reply)
    if _OPEN.search(text):  # the reasoning never ended
        return None
    match = _LABEL.match(text)
    return match[1] if match and match[1] in labels else None


def _top(reply: Mapping[str, Any]) -> list[tuple[str, float]] | None:
    """Return the likeliest tokens of the reply's first place, or None if the server gives none."""
    try:
        first = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        top = [(str(t["token"]), float(t["logprob"])) for t in first]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return top or None


def _check_top(server: Server, top: Sequence[tuple[str, float]]) -> None:
    """Refuse values that cannot be log-probabilities."""
    values = [v for _, v in top]
    total = sum(map(math.exp, values))
    if any(v > 1e-3 or math.isnan(v) for v in values) or total > 1.01:
        raise ModelError(
            f"{server.base} gives invalid log-probabilities (they sum to {total:.3g}); "
            f"sample replies instead: append {CHAT_MARK}={REPLIES} to the model's name."
        )
    if len(values) > 1 and len(set(values)) == 1:
        raise ModelError(
            f"{server.base} gives the same log-probability ({values[0]:g}) for all tokens; sample "
            f"replies instead: append {CHAT_MARK}={REPLIES} to the model's name."
        )


def _check_place(server: Server, content: str, top: Sequence[tuple[str, float]]) -> None:
    """Refuse log-probabilities that are misaligned: the reply must start with the likeliest token.

    Some servers return those of the token before.
    """
    likeliest = max(top, key=lambda t: t[1])[0].strip()
    reply = content.strip()
    if reply and not (likeliest and reply.startswith(likeliest)):
        raise ModelError(
            f"{server.base} replies {reply[:20]!r} where its likeliest token is {likeliest!r}: its "
            "log-probabilities are misaligned. Update the server, or sample replies: "
            f"append {CHAT_MARK}={REPLIES} to the model's name."
        )


def _logp(server: Server, top: Sequence[tuple[str, float]], labels: Sequence[str]) -> list[Label]:
    """Return each label's log-probability over its spellings, or an upper bound."""
    _check_top(server, top)
    total = sum(math.exp(v) for _, v in top)
    bound = min(min(v for _, v in top), math.log(max(1 - total, 1e-12)))
    answer = []
    for label in labels:
        spelt = [math.exp(v) for token, v in top if token.strip() == label]
        answer.append(Label(math.log(sum(spelt))) if sum(spelt) > 0 else Label(bound, True))
    return answer


@dataclass(frozen=True, slots=True)
class ServerChat:
    """The chat format of a server: messages are sent as they are, the template is the server's."""

    record: Mapping[str, Any] = field(default_factory=lambda: {"form": "chat", "by": "server"})
    notes: tuple[str, ...] = ()


class ChatServerCodec:
    """Requests and labels as numbers; the engine sends the texts themselves."""

    unknown: int | None = None
    reserved: frozenset[int] = frozenset()
    adds_start: bool = False
    refused: Mapping[str, str] = {}
    chat = ServerChat()

    def __init__(self, name: str) -> None:
        self.name = name
        self.messages: dict[str, int] = {}
        self.labels: dict[str, int] = {}

    def chat_prompts(self, messages: Sequence[str]) -> list[tuple[int, ...]]:
        """Return a number for each message."""
        return [(self.messages.setdefault(m, len(self.messages)),) for m in messages]

    def label_ids(self, labels: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Return a number for each label; the engine sums its spellings."""
        return {k: (self.labels.setdefault(k, len(self.labels)),) for k in labels}

    def spelt(self, ids: Any) -> list[str]:
        """Return the labels of some numbers."""
        names = [*self.labels]
        return [names[i] if i < len(names) else "" for i in ids]

    def encode_texts(
        self, texts: Sequence[Text], focuses: Sequence[tuple[str, str, str]]
    ) -> list[Encoded]:
        """Refused: a chat server can only be asked questions."""
        return self._refuse()

    def _refuse(self, *_: Any) -> NoReturn:
        raise NotApplicable(
            f"{self.name!r} is a chat server, which answers questions only; use 'choice', "
            "'choice-open', 'choice-triplet' or 'bbq'."
        )

    encode = pieces = token = encode_two = encode_after_paragraph = decode = _refuse

    @property
    def mask(self) -> str:
        """Refused: there is no mask token."""
        return self._refuse()


@dataclass(frozen=True, slots=True)
class ChatEngine:
    """Answers from parallel chat completions; they are cached in the store."""

    codec: ChatServerCodec
    probed: ServerProbe
    store: Store | None
    progress: Progress

    def ask(self, asks: Sequence[RowQueries | Query], attention: Sequence[bool]) -> Readings:
        """Return each requested label's log-probability; `attention` is 1 for an upper bound."""
        rows = row_queries_of(asks)
        missing: dict[int, set[int]] = {}
        for ask in rows:
            missing.setdefault(ask.row[0], set()).update(ask.gold)
        messages, labels = [*self.codec.messages], [*self.codec.labels]
        jobs = {
            number: (messages[number], tuple(labels[g] for g in sorted(golds)))
            for number, golds in missing.items()
        }
        answers = self._found(jobs)
        values: list[Label] = []
        for ask in rows:
            names = jobs[ask.row[0]][1]
            answer = answers[ask.row[0]]
            values += [answer[names.index(labels[g])] for g in ask.gold]
        logp, at_most = np.array(values, float).reshape(-1, 2).T
        return Readings(logp, np.zeros(len(values), bool), at_most, len(jobs))

    def _found(self, jobs: Mapping[int, tuple[str, tuple[str, ...]]]) -> dict[int, list[Label]]:
        """Return the answers to all jobs, cached or from the server."""
        keys = {number: self._key(*job) for number, job in jobs.items()}
        values = self.store.get(OUTPUTS, [*keys.values()]) if self.store is not None else {}
        results: dict[int, list[Label]] = {}
        for number, key in keys.items():
            if key in values:
                results[number] = [Label(*answer) for answer in json.loads(values[key])]
        new = [n for n in jobs if n not in results]
        self._announce([jobs[n][0] for n in new])
        total = len(jobs)

        def done(count: int, answer: tuple[int, Any]) -> None:
            k, labels = answer
            if isinstance(labels, PromptRefused):
                raise ModelError(f"{self.probed.server.base}: {labels}")
            if self.store is not None:
                self.store.put(OUTPUTS, [(keys[new[k]], json.dumps(labels).encode())])
            self.progress(total - len(new) + count, total)

        probe = self.probed
        ask = partial(_ask, probe.server, probe.model, probe.samples, probe.thinks)
        answers = probe.server.side_by_side(ask, [jobs[n] for n in new], done)
        return results | dict(zip(new, answers, strict=True))

    def _key(self, message: str, labels: Sequence[str]) -> bytes:
        probe = self.probed
        facts = (probe.server.base, probe.model, probe.fingerprint, probe.samples, probe.thinks)
        return digest(repr(("chat 2", facts, message, tuple(labels))).encode())

    def _announce(self, messages: Sequence[str]) -> None:
        """Report the number of requests and their cost, if a price is set."""
        price = os.environ.get(PRICE_VARIABLE, "")
        if not price or not messages:
            return
        try:
            cost = float(price)
        except ValueError:
            raise ModelError(
                f"{PRICE_VARIABLE} is {price!r}; give the price of a million tokens."
            ) from None
        requests = len(messages) * max(self.probed.samples, 1)
        tokens = sum(map(len, messages)) / CHARACTERS * max(self.probed.samples, 1)
        millions = tokens / 1e6
        warnings.warn(
            f"expected cost: {cost * millions:.2g} ({requests:,} requests, {millions:.2g} million "
            f"tokens at {cost:g} per million).",
            UnmaskWarning,
            stacklevel=2,
        )


@dataclass(frozen=True, slots=True)
class ServedChat:
    """A chat model on a server, with the interface of a model."""

    name: str
    codec: ChatServerCodec
    probed: ServerProbe
    record: Mapping[str, Any]
    kind: Kind = "causal"
    family: str = "served"

    @property
    def abilities(self) -> Abilities:
        """Questions only."""
        base = self.probed.server.base
        unseen = f"the weights cannot be verified: the model name is what {base} reports."
        return Abilities(streams=("reply",), limit=NO_LIMIT, remarks=(unseen, *self.probed.notes))

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The record of the model in results."""
        probe = self.probed
        return {
            "kind": "causal",
            "architecture": "served chat",
            "server": probe.server.base,
            "model": probe.model,
            "fingerprint": probe.fingerprint,
            "says": {k: v for k, v in self.record.items() if isinstance(v, str | int | float)},
            "source": "sampled" if probe.samples else "top",
            "samples": probe.samples,
            "temperature": 1 if probe.samples else 0,
            "weights": None,
            "dtype": "as served",
            "device": "server",
        }

    @property
    def samples(self) -> int:
        """The number of replies sampled per request; 0 if the server returns probabilities."""
        return self.probed.samples

    def budget(self, tokens: int | str) -> Budget:
        """Return the default budget: the server has its own."""
        return Budget()

    def vectors(self, **_: Any) -> NoReturn:
        """Refused: a chat server gives no vectors."""
        raise NotApplicable(f"{self.name!r} is a chat server, which gives no word vectors.")

    def engine(
        self,
        stream: str = "reply",
        *,
        budget: Budget | None = None,
        store: Store | None = None,
        progress: Progress = lambda rows, total: None,
    ) -> ChatEngine:
        """Answers from chat completions."""
        if stream != "reply":
            self.codec._refuse()
        return ChatEngine(self.codec, self.probed, store, progress)

    def finer(self) -> "list[ServedChat]":
        """No finer precision is available."""
        return []

    def close(self) -> None:
        """Do nothing: the server keeps running."""

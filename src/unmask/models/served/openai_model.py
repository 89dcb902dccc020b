"""A causal model on a server, which returns only tokens and their log-probabilities."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from unmask.errors import ModelError, NotApplicable
from unmask.models.batches import Budget
from unmask.models.names import CHAT_MARK
from unmask.models.protocol import NO_LIMIT, Abilities
from unmask.models.served.openai_client import PromptRefused, Server, server
from unmask.queries import LATER, Encoded, Query, Readings, RowQueries, row_queries_of
from unmask.text.roles import all_places
from unmask.types import Floats, Kind, Span, Text

START_MARK = "?start="
Progress = Callable[[str, int, int], None]


def is_served(name: str) -> bool:
    """Whether a model's name is the address of a server."""
    return name.startswith(("http://", "https://"))


def served_record(name: str) -> tuple[Server, Mapping[str, Any], str]:
    """Return the server, its record of the model, and the text before every sentence."""
    base, _, options = name.partition("#")
    model, _, start = options.partition(CHAT_MARK)[0].partition(START_MARK)
    server_ = server(base)
    return server_, server_.model(model), start


def load_served(name: str, progress: Progress = lambda what, done, total: None) -> "Served":
    """Load the model at `http://HOST:PORT/v1#MODEL`, or `...#MODEL?start=<s>`."""
    server, record, start = served_record(name)
    codec = ServedCodec(server, str(record["id"]), name, start, progress)
    sample = codec.encode("The server answers.")
    _check_places(codec)
    _check_constancy(codec)
    facts = {
        "kind": "causal",
        "architecture": "served",
        "server": server.base,
        "model": codec.model,
        "says": {k: v for k, v in record.items() if isinstance(v, str | int | float | bool)},
        "fingerprint": codec.fingerprint,
        "weights": None,  # not seen
        "start": start or None,
        "dtype": "as served",
        "places checked": True,
    }
    return Served(name, codec, _limit(record), facts, 0 in sample.specials)


# Pairs that differ at one place: the distribution there must not depend on the token there.
PROBES = (
    ("We saw the man", "We saw the sea"),
    ("She is old", "She is red"),
    ("It can be", "It can go"),
)
PROBE_TOLERANCE = 0.02  # in log-probability: batches and threads may change that much


def _check_places(codec: "ServedCodec") -> None:
    """Refuse a server whose log-probabilities are one place off.

    Two sentences share their beginning up to a place. Before it the log-probabilities must be
    equal, or they are one place early. At it they must differ, or they are one place late; the most
    probable token there must be the same.
    """
    echoes = [codec.echo(text) for pair in PROBES for text in pair]
    before, at, best = [0.0], [], [0.0]
    for first, second in zip(echoes[::2], echoes[1::2], strict=True):
        equal = [a == b for a, b in zip(first.tokens, second.tokens, strict=False)]
        place = equal.index(False) if False in equal else 0
        if not place:
            continue
        moved = np.abs(first.logp[: place + 1] - second.logp[: place + 1])
        before += moved[:-1][np.isfinite(moved[:-1])].tolist()
        at.append(float(moved[-1]))
        if np.isfinite(first.best[place]) and np.isfinite(second.best[place]):
            best.append(abs(first.best[place] - second.best[place]))
    problem = ""
    if max(before) > PROBE_TOLERANCE:
        problem = "a token's value depends on the next token, so values are one position too early"
    elif max(best) > PROBE_TOLERANCE:
        problem = "the most probable token at a position depends on the token given there"
    elif not at or max(at) < PROBE_TOLERANCE:
        problem = "a token's value does not depend on the token, so values are one position late"
    if problem:
        raise ModelError(
            f"the log-probabilities of {codec.server.base} are misaligned with their tokens: "
            f"{problem} (llama-cpp-python had this bug, issue 1983); update or replace the server."
        )


def _check_constancy(codec: "ServedCodec") -> None:
    """Refuse a server whose answers to the same question differ."""
    text = PROBES[0][0]
    (repeated,) = codec.server.echoes(codec.model, [codec.start + text])
    if isinstance(repeated, PromptRefused):
        raise ModelError(f"{codec.server.base}: {repeated}.")
    moved = np.abs(_read(repeated, codec.start, text).logp - codec.echo(text).logp)
    if not np.nanmax(moved, initial=0.0) <= PROBE_TOLERANCE:
        raise ModelError(
            f"{codec.server.base} returns different log-probabilities when the same sentence is "
            f"sent again (by {np.nanmax(moved):.2f}), so scores would be meaningless; check the "
            "server's settings."
        )


def _limit(record: Mapping[str, Any]) -> int:
    """Return the longest prompt, if the server reports it."""
    meta = record.get("meta")
    stated = [record.get("max_model_len"), meta.get("n_ctx") if isinstance(meta, dict) else None]
    return min((int(n) - 1 for n in stated if isinstance(n, int) and n > 1), default=NO_LIMIT)


@dataclass(frozen=True, slots=True)
class EchoedSentence:
    """A sentence as the server tokenises it: tokens, their characters, log-probabilities, hits.

    The first `before` tokens are the start text; the very first token has no probability (NaN).
    `best` is the log-probability of the most probable token, infinite if the server omits it.
    """

    tokens: tuple[str, ...]
    spans: tuple[Span, ...]
    logp: Floats
    best: Floats
    before: int


EMPTY_ECHO = EchoedSentence((), (), np.zeros(0), np.zeros(0), 0)


def _spelt(token: str) -> bool:
    """Whether a token has an unambiguous spelling."""
    return bool(token) and "\ufffd" not in token and not token.startswith("bytes:")


class ServedCodec:
    """A tokenizer that uses the server's tokens, numbered in order of appearance.

    Each sentence is sent once: the echo holds its tokens and their log-probabilities.
    """

    unknown: int | None = None
    reserved: frozenset[int] = frozenset()
    adds_start: bool = False  # it uses the tokens that the server echoes

    def __init__(
        self, server: Server, model: str, name: str, start: str, progress: Progress
    ) -> None:
        self.server, self.model, self.name, self.start, self.progress = (
            server,
            model,
            name,
            start,
            progress,
        )
        self.fingerprint: str | None = None
        self.echoes: dict[str, EchoedSentence] = {}
        self.refused: dict[str, str] = {}  # sentences that the server refused, and why
        self.numbers: dict[str, int] = {}
        self.answers: dict[tuple[int, ...], EchoedSentence] = {}

    def encode(self, string: str) -> Encoded:
        """Return the tokens of a string."""
        return self.encode_texts([Text(string)], [("", "", "")])[0]

    def encode_texts(
        self, texts: Sequence[Text], focuses: Sequence[tuple[str, str, str]], start: bool = True
    ) -> list[Encoded]:
        """Return the tokens of many texts; new ones are sent to the server in parallel."""
        new = list(dict.fromkeys(t.string for t in texts if t.string not in self.echoes))
        total = len(new)
        sent = self.server.echoes(
            self.model, [self.start + s for s in new], lambda n: self.progress(self.name, n, total)
        )
        for string, choice in zip(new, sent, strict=True):
            if isinstance(choice, PromptRefused):
                self.refused[string] = str(choice)
                self.echoes[string] = EMPTY_ECHO
                continue
            self.echoes[string] = echo = _read(choice, self.start, string)
            if not np.isfinite(echo.logp[1:]).all():
                self.refused[string] = "the server gives no probability for one of its tokens"
            self.fingerprint = self.fingerprint or choice.get("fingerprint")
        if new and len(self.refused) == len(self.echoes):
            raise ModelError(f"{self.server.base}: {self.refused[new[0]]}.")
        return [self._encoded(t, f) for t, f in zip(texts, focuses, strict=True)]

    def _encoded(self, text: Text, focus: tuple[str, str, str]) -> Encoded:
        echo = self.echoes[text.string]
        # Part of a character has no spelling: its sentence and place identify it.
        names = [t if _spelt(t) else f"{t}\0{text.string}\0{k}" for k, t in enumerate(echo.tokens)]
        ids = tuple([self.numbers.setdefault(t, len(self.numbers)) for t in names])
        self.answers[ids] = echo
        specials = frozenset(range(echo.before))
        roles = {
            name: all_places(echo.spans, specials, spans) for name, spans in text.spans.items()
        }
        return Encoded(ids, specials, roles, (), focus, text, echo.spans)

    def echo(self, string: str) -> EchoedSentence:
        """Return the server's echo of a string."""
        self.encode(string)
        return self.echoes[string]

    def spelt(self, ids: Iterable[int]) -> list[str]:
        """Return the server's spelling of each token."""
        names = list(self.numbers)
        return [names[i].partition("\0")[0] for i in ids]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some tokens."""
        return "".join(self.spelt(ids))

    def _refuse(self, *_: Any) -> NoReturn:
        raise NotApplicable(
            f"{self.name!r} is a served model, which tokenises whole sentences only; use "
            "'ll', 'cat', 'cat-continue' or 'lpbs'."
        )

    pieces = token = encode_two = encode_after_paragraph = _refuse

    @property
    def mask(self) -> str:
        """Refused: there is no mask token."""
        self._refuse()


def _read(choice: Mapping[str, Any], start: str, string: str) -> EchoedSentence:
    """Read the tokens of a prompt from its echo; an invalid response is one sentence."""
    try:
        echo = _parsed(choice, start, string)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        raise ModelError(
            f"the server's response does not follow the completions protocol ({error}); use a "
            "server that does."
        ) from error
    if (echo.logp > 1e-3).any():
        raise ModelError(
            "the server gives log-probabilities above 0, which is impossible; use another server."
        )
    if (echo.logp > echo.best + 1e-3).any():
        raise ModelError(
            "the server gives a token a greater log-probability than the most probable one has: "
            "its values are inconsistent; use another server."
        )
    return echo


def _parsed(choice: Mapping[str, Any], start: str, string: str) -> EchoedSentence:
    """Read the tokens of a prompt, without those that were generated after it."""
    marks = choice["logprobs"]
    tokens, logp = list(map(str, marks["tokens"])), list(marks["token_logprobs"])
    spans, shift = _placed(marks, tokens, start, string)
    if spans is None or len(logp) < len(spans):
        raise ModelError(
            f"the server's tokens do not make up the sentence {string[:40]!r}; it may normalise "
            "text, and its probabilities cannot be matched."
        )
    count = len(spans)
    before = sum(b <= shift for _, b in spans)
    top = (marks.get("top_logprobs") or [])[:count]
    best = [float(max(t.values())) if isinstance(t, dict) and t else np.inf for t in top]
    best += [np.inf] * (count - len(best))
    values = np.array([np.nan if v is None else float(v) for v in logp[:count]])
    moved = tuple((max(a - shift, 0), max(b - shift, 0)) for a, b in spans)
    return EchoedSentence(tuple(tokens[:count]), moved, values, np.array(best), before)


def _placed(
    marks: Mapping[str, Any], tokens: Sequence[str], start: str, string: str
) -> tuple[list[Span] | None, int]:
    """Return the characters of each token, and the length of the start (0 if it is left out)."""
    for text, shift in ((start + string, len(start)), (string, 0)):
        spans = _walked(tokens, text) or _by_offsets(marks, tokens, text)
        if spans is not None:
            return spans, shift
    return None, 0


def _walked(tokens: Sequence[str], text: str) -> list[Span] | None:
    """Return the characters of each token if their spellings add up to the text, else None.

    A first token that is not part of the text is a start token that the server added.
    """
    at, spans = 0, []
    for number, token in enumerate(tokens):
        if at == len(text):
            break
        if token and text.startswith(token, at):
            spans.append((at, at + len(token)))
            at += len(token)
        elif number == 0 and (not token or _spelt(token)):
            spans.append((0, 0))
        else:
            return None
    return spans if at == len(text) else None


def _by_offsets(marks: Mapping[str, Any], tokens: Sequence[str], text: str) -> list[Span] | None:
    """As `_walked`, from the server's offsets: parts of a character have no spelling."""
    offsets = marks.get("text_offset")
    if not isinstance(offsets, list) or len(offsets) < len(tokens):
        return None
    if not all(isinstance(o, int) for o in offsets):
        return None
    if any(a > b for a, b in pairwise(offsets)):
        return None
    ends = [*offsets[1:], len(text)]
    for k, token in enumerate(tokens):
        start = k == 0 and not token and all(map(_spelt, tokens[1:2]))
        if not _spelt(token) and not start:  # part of a character: each part spans all of it
            ends[k] = next((o for o in offsets[k:] if o > offsets[k]), len(text))
    spans = [(a, min(b, len(text))) for a, b in zip(offsets, ends, strict=False) if a < len(text)]
    fits = spans and all(
        not token.strip() or token == text[a:b] or "\ufffd" in token or token.startswith("bytes:")
        for token, (a, b) in zip(tokens, spans, strict=False)
    )
    return spans if fits else None


@dataclass(frozen=True, slots=True)
class ServedEngine:
    """Answers read from the echoes, which hold everything that is asked from left to right."""

    codec: ServedCodec

    def ask(self, asks: Sequence[RowQueries | Query], attention: Sequence[bool]) -> Readings:
        """Return the log-probability of each requested token; attention is unknown."""
        logp, hit = [], []
        rows: set[tuple[int, ...]] = set()
        for ask in row_queries_of(asks):
            echo = self.codec.answers.get(ask.row)
            left_to_right = ask.hidden == LATER or all(
                ask.hidden_at(k) == range(at, len(ask.row)) for k, at in enumerate(ask.at)
            )
            if echo is None or not left_to_right or tuple(ask.row[i] for i in ask.at) != ask.gold:
                self.codec._refuse()
            where = list(ask.at)
            logp.append(echo.logp[where])
            hit.append(echo.logp[where] >= echo.best[where] - 1e-6)
            rows.add(ask.row)
        values = np.concatenate(logp) if logp else np.zeros(0)
        if not np.isfinite(values).all():
            raise ModelError(
                "the server gives probabilities that are not numbers; check the server's log."
            )
        hits = np.concatenate(hit) if hit else np.zeros(0, bool)
        return Readings(values, hits.astype(bool), np.full(len(values), np.nan), len(rows))


@dataclass(frozen=True, slots=True)
class Served:
    """A causal model on a server, with the interface of a model."""

    name: str
    codec: ServedCodec
    limit: int
    provenance: Mapping[str, Any] = field(default_factory=dict)
    started: bool = False  # whether something precedes a sentence's first token
    kind: Kind = "causal"
    family: str = "served"

    @property
    def abilities(self) -> Abilities:
        """Queries from left to right; the precision is unknown and cannot be changed."""
        return Abilities(streams=("own",), limit=self.limit, remarks=self._remarks)

    @property
    def _remarks(self) -> tuple[str, ...]:
        """Return what a reader of its scores must know."""
        base = self.codec.server.base
        unseen = f"the weights cannot be verified: the model name is what {base} reports"
        first = "" if self.started else (
            "; the server adds no start token, so the first token has no probability "
            f"({START_MARK}<s> names a start token)"
        )  # fmt: skip
        return (f"{unseen}{first}.",)

    def budget(self, tokens: int | str) -> Budget:
        """Return the default budget: the server has its own."""
        return Budget()

    def vectors(self, **_: Any) -> NoReturn:
        """Refused: a server gives no vectors."""
        raise NotApplicable(
            f"{self.name!r} is a served model, which gives no word vectors; use 'll', 'cat', "
            "'cat-continue' or 'lpbs'."
        )

    def engine(self, stream: str = "own", **_: Any) -> ServedEngine:
        """Answers from echoes."""
        if stream != "own":
            self.codec._refuse()
        return ServedEngine(self.codec)

    def finer(self) -> "list[Served]":
        """No finer precision is available."""
        return []

    def close(self) -> None:
        """Do nothing: the server keeps running."""

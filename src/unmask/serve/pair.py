"""One pair of sentences under two measures, token by token."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from unmask import api
from unmask.errors import DataError
from unmask.flow.loading import loaded
from unmask.models.protocol import Model
from unmask.options import Options, named
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Result, half_character

LONGEST = 2_000  # characters of a sentence
LABELS = (STEREOTYPE, ANTISTEREOTYPE)
USUAL = {"causal": ("ll", "cps"), "": ("pll", "cps")}  # by kind of model


class Scorer:
    """A model that is loaded at the first pair, and the measures to score with."""

    def __init__(self, model: str | Model, measures: Sequence[str] = ()) -> None:
        self.name, self.measures = named(model), tuple(measures)
        self._model = None if isinstance(model, str) else model

    @property
    def model(self) -> Model:
        """The model, loaded once."""
        if self._model is None:
            self._model = loaded(self.name, Options())
        return self._model

    def score(self, pair: Mapping[str, Any]) -> dict[str, Any]:
        """Scores and shaded tokens of both sentences, for each measure."""
        texts = {label: _sentence(pair.get(label), label) for label in LABELS}
        if texts[STEREOTYPE] == texts[ANTISTEREOTYPE]:
            raise DataError("both sentences are the same; change the group's words in one.")
        measures = self.measures or USUAL.get(self.model.kind, USUAL[""])
        results = api.run([self.model], measures, pd.DataFrame([texts]), keep=("tokens",))
        return {"model": self.name, "measures": [_view(r) for r in results]}


def _sentence(text: Any, label: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"the sentence '{label}' is empty; write one.")
    if half_character(text):
        raise DataError(
            f"the sentence '{label}' has an invalid character (a lone surrogate); write it again."
        )
    if len(text) > LONGEST:
        raise DataError(
            f"the sentence '{label}' has {len(text)} characters; give at most {LONGEST}."
        )
    return " ".join(text.split())


def _view(result: Result) -> dict[str, Any]:
    rows = {row["label"]: row for row in result.items.to_dict("records")}
    scores = {label: _number(rows[label]["score"]) for label in LABELS}
    reason = next((str(r["reason"]) for r in rows.values() if isinstance(r["reason"], str)), "")
    tokens = result.artifacts["tokens"]
    return {
        "measure": result.measure,
        "reason": reason,
        "scores": scores,
        "sentences": {k: _pieces(rows[k]["sentence"], tokens[tokens.label == k]) for k in LABELS},
    }


def _number(value: float) -> float | None:
    return None if value is None or math.isnan(value) else round(float(value), 4)


def _pieces(sentence: str, tokens: pd.DataFrame) -> list[dict[str, Any]]:
    """Split a sentence into pieces with the log-probabilities of their tokens, if queried."""
    pieces: list[dict[str, Any]] = []
    at = 0
    for start, end, logp in sorted(zip(tokens.start, tokens.end, tokens.logp, strict=True)):
        if start < at or end <= start:
            continue
        if start > at:
            pieces.append({"text": sentence[at:start], "logp": None})
        pieces.append({"text": sentence[start:end], "logp": _number(logp)})
        at = int(end)
    if at < len(sentence):
        pieces.append({"text": sentence[at:], "logp": None})
    return pieces

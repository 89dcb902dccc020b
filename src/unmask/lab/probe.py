"""The manipulation check: the log odds of the groups that a model has learned for each word.

They are read from frames that no measure scores: the group's words given the attribute, and for
causal models, which see no later word, also the attribute given the group's words. The planted and
the learned log odds estimate the same t_w, up to a constant.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from unmask.lab.world import TOPICS, Frame, World, phrase
from unmask.models.protocol import Model
from unmask.queries import Encoded, RowQueries
from unmask.types import Floats, Text

FRAMES = 2  # probe frames per core


def learned(model: Model, world: World) -> pd.DataFrame:
    """One row for each attribute word: topic, side, planted t and learned log odds, centred."""
    parts = []
    for name in TOPICS:
        topic = world.topics[name]
        values = np.mean([_read(model, world, name, form) for form in ("name", "term")], axis=0)
        parts.append(
            pd.DataFrame(
                {
                    "topic": name,
                    "word": topic.attributes,
                    "side": topic.side,
                    "planted": topic.t,
                    "frequency": topic.joint.sum(0),
                    "learned": values - values.mean(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def theta(words: pd.DataFrame, column: str = "learned") -> float:
    """Return the log odds ratio between sides A and B from a column of log odds."""
    means = words.groupby("side")[column].mean()
    return float(means["A"] - means["B"])


def frames_of(world: World, topic: str, causal: bool) -> dict[str, list[Frame]]:
    """Probe frames by what is asked for there: the `group`, the `attribute`.

    A causal model is asked for the last slot, a masked one for the group.
    """
    frames: dict[str, list[Frame]] = {"group": [], "attribute": []}
    counts: dict[str, int] = {}
    for frame in world.frames["probe"]:
        both = frame.topic == topic and "{g}" in frame.core and "{a}" in frame.core
        if not both or counts.get(frame.core, 0) >= FRAMES:
            continue
        counts[frame.core] = counts.get(frame.core, 0) + 1
        group_last = frame.core.index("{g}") > frame.core.index("{a}")
        for question in frames:
            if (question == "group") == (group_last or not causal):
                frames[question].append(frame)
    return frames


def _read(model: Model, world: World, topic: str, form: str) -> Floats:
    """The log odds of x against y at each attribute, in the mean over frames and directions."""
    causal = model.kind == "causal"
    subject = world.topics[topic]
    # The number of hidden places tells a masked model how many pieces to expect: it is fixed.
    members = [
        [w for w in subject.members[g][form] if causal or len(model.codec.pieces(w)) == 1]
        for g in range(2)
    ]
    engine = model.engine(budget=model.budget("auto"))
    values = []
    for question, frames in frames_of(world, topic, causal).items():
        for frame in frames:
            table = _table(
                model, engine, frame, form, [*members[0], *members[1]], subject.attributes, question
            )
            x, y = table[: len(members[0])], table[len(members[0]) :]
            if question == "group":
                values.append(logsumexp(x, 0) - logsumexp(y, 0))
            else:
                weights = [
                    np.array([subject.members[g][form][w] for w in members[g]]) for g in range(2)
                ]
                values.append(
                    logsumexp(x, 0, b=weights[0][:, None]) - logsumexp(y, 0, b=weights[1][:, None])
                )
    return np.mean([f - f.mean() for f in values], axis=0)


def _table(
    model: Model,
    engine: Any,
    frame: Frame,
    form: str,
    group: Sequence[str],
    attributes: Sequence[str],
    question: str,
) -> Floats:
    """log p of the asked word given the other [group words, attributes], pieces left to right."""
    asks = []
    for g in group:
        for a in attributes:
            encoded = _encoded(model, _marked(frame, form, g, a))
            at = encoded.roles[question]
            hidden = tuple(frozenset(at[k:]) for k in range(len(at)))
            if model.kind == "causal":
                hidden = tuple(range(i, len(encoded.ids)) for i in at)  # type: ignore[misc]
            asks.append(RowQueries(encoded.ids, at, tuple(encoded.ids[i] for i in at), hidden))
    logp = engine.ask(asks, [False] * len(asks)).logp
    ends = np.cumsum([len(a.at) for a in asks])
    sums = np.add.reduceat(logp, np.concatenate([[0], ends[:-1]]))
    return np.asarray(sums.reshape(len(group), len(attributes)))


def _marked(frame: Frame, form: str, group: str, attribute: str) -> Text:
    """A filled frame with the places of its group word and its attribute."""
    string = frame.filled(phrase(form, "{g}"), "{a}")
    spans = {}
    for mark, word, name in sorted(
        (("{g}", group, "group"), ("{a}", attribute, "attribute")), key=lambda m: string.index(m[0])
    ):
        at = string.index(mark)
        string = string.replace(mark, word, 1)
        spans[name] = ((at, at + len(word)),)
    return Text(string, spans)


def _encoded(model: Model, text: Text) -> Encoded:
    """A text in the model's tokens."""
    return model.codec.encode_texts([text], [("", "", "")])[0]

"""Chat models that answer by a rule: what a measure must make of them is known."""

import re
from dataclasses import dataclass, field

import numpy as np

from unmask.models.batches import Budget
from unmask.models.protocol import Abilities
from unmask.models.served.chat_model import ChatServerCodec
from unmask.queries import Readings

OPTION = re.compile(r"^([A-D])\) (.*)$", re.MULTILINE)


def options(message):
    """The options of a request by their letter."""
    return dict(OPTION.findall(message))


@dataclass
class Answerer:
    """A chat model whose `rule` gives the probability of each letter, from the request."""

    rule: object
    name: str = "answerer"
    kind: str = "causal"
    family: str = "answerer"
    samples: int = 0
    asked: list = field(default_factory=list)

    def __post_init__(self):
        self.codec = ChatServerCodec(self.name)

    @property
    def abilities(self):
        return Abilities(streams=("reply",))

    @property
    def provenance(self):
        return {"kind": "causal", "device": "cpu", "weights": None}

    def budget(self, tokens):
        return Budget()

    def finer(self):
        return []

    def close(self):
        pass

    def engine(self, stream="reply", **_):
        return self

    def ask(self, asks, attention):
        messages, labels = [*self.codec.messages], [*self.codec.labels]
        values = []
        for ask in asks:
            message = messages[ask.row[0]]
            self.asked.append(message)
            chances = self.rule(message)
            values += [np.log(max(chances.get(labels[g], 0.0), 1e-9)) for g in ask.gold]
        logp = np.array(values)
        return Readings(logp, np.zeros(len(logp), bool), np.full(len(logp), np.nan), len(asks))


def chooses(wanted, surely=0.9):
    """A rule that takes the option for which `wanted(text)` holds, at whatever place."""

    def rule(message):
        given = options(message)
        picked = [k for k, text in given.items() if wanted(text)]
        rest = (1 - surely) / max(len(given) - len(picked), 1)
        return {k: surely / len(picked) if k in picked else rest for k in given}

    return rule


def always(letter, surely=0.9):
    """A rule that takes one letter, whatever stands there."""

    def rule(message):
        given = options(message)
        return {k: surely if k == letter else (1 - surely) / (len(given) - 1) for k in given}

    return rule

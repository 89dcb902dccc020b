"""Check whether a measure, a data set or a model is complete, with the tests that ours pass."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from unmask.data.card import Card
from unmask.errors import ModelError, NotApplicable, UnmaskError
from unmask.measures import MEASURES, Association, Likelihood, Measure
from unmask.models.protocol import Abilities, Model
from unmask.queries import EACH, LATER, RowQueries, check_readings
from unmask.reports.cite import entries, references
from unmask.support.registry import unknown
from unmask.text.contexts import TEMPLATES, Mention, VectorRequest, WordTest
from unmask.types import Dataset, Floats, Kind, Stimuli, Text


def check_measure(row: Measure) -> None:
    """Raise an error that names what a row lacks: valid citations, plans for its priors.

    The other fields are checked when the row is created.
    """
    if not isinstance(row, Likelihood | Association):
        raise UnmaskError(f"{row!r:.60} is not a measure; make a Likelihood or an Association.")
    lacks = _unresolved(row.cite, row.bibtex)
    if isinstance(row, Likelihood):
        unplanned = [kind for kind in row.prior if kind not in row.plans]
        lacks += [f"a plan for {kind}, which has a prior" for kind in unplanned]
    if row.variant_of and row.variant_of not in MEASURES:
        lacks.append(f"a measure {row.variant_of!r} that it is a variant of")
    _complain(row.name, lacks)


def check_data(data: Dataset | Stimuli | WordTest | Card) -> None:
    """Raise an error that names what is wrong with data: ids, citations, forms of words.

    Labels, shapes and sets are checked when the records are created.
    """
    if isinstance(data, Card):
        _complain(data.name, _unresolved(data.cite, ""))
    elif isinstance(data, Dataset):
        unique = len({item.id for item in data.items}) == len(data.items)
        _complain(data.name, [] if unique else ["ids that are unique"])
    elif not isinstance(data, WordTest | Stimuli):
        raise UnmaskError(
            f"{data!r:.60} is not data; give a Dataset, Stimuli, a WordTest or a Card."
        )
    else:
        test = data.stimuli if isinstance(data, WordTest) else data
        odd = sorted({f for f in test.forms.values() if f not in TEMPLATES})
        lacks = [f"templates for the form {form!r}" for form in odd]
        _complain(test.name, lacks + _unresolved((test.source,), "", allowed=("user",)))


SENTENCES = (
    "The nurse was late.",
    "The engineer said that she was tired, and went home with a heavy old book under his arm.",
    "The nurse was kind to us when we came here two years ago.",
)
SAME = 1e-3  # nats within which two answers count as equal


def check_model(model: Model) -> None:
    """Raise an error that names what a model lacks or does wrong; see `unmask.Model`.

    Its fields are checked, and its abilities are tried on a few sentences. Queries must be answered
    with log-probabilities, in order and the same each time. Probabilities of several tokens at one
    place must sum to at most 1. A causal model must not see later tokens. Each word must have one
    finite vector.
    """
    name = str(getattr(model, "name", model))
    if isinstance(model, type):
        raise UnmaskError(f"{name!r:.60} is a class; give an instance.")
    fields = ("name", "kind", "family", "abilities", "provenance", "budget", "engine", "vectors")
    _complain(name, [f for f in (*fields, "finer", "close") if not hasattr(model, f)])
    if not isinstance(model.abilities, Abilities):
        raise UnmaskError(f"the abilities of {name!r} must be an unmask.Abilities.")
    if model.kind not in get_args(Kind):
        raise UnmaskError(f"{name!r}: {unknown('kind', str(model.kind), get_args(Kind))}")
    if not (model.abilities.streams or model.abilities.pools):
        raise UnmaskError(f"the abilities of {name!r} are empty; declare streams or pools.")
    if not isinstance(model.name, str) or not isinstance(model.provenance, Mapping):
        raise UnmaskError(f"{name!r}: its name must be text, and its provenance a mapping.")
    try:
        if model.abilities.streams:
            _check_outputs(model)
        if model.abilities.pools:
            _check_vectors(model)
    except UnmaskError:
        raise
    except Exception as error:  # a model of others may fail in any way
        problem = f"{type(error).__name__}: {error}"
        raise UnmaskError(f"{name!r} fails when it is queried ({problem}).") from error


def _check_outputs(model: Model) -> None:
    """Query each token of two sentences, in the way of the model's kind."""
    texts = [Text(sentence) for sentence in SENTENCES]
    encoded = model.codec.encode_texts(texts, [("", "", "")] * len(texts))
    asks = []
    for sentence in encoded:
        places = tuple(i for i in sentence.content if i > 0)
        hidden = LATER if model.kind == "causal" else EACH
        gold = tuple(sentence.ids[i] for i in places)
        asks.append(RowQueries(sentence.ids, places, gold, hidden))
    engine = model.engine(model.abilities.streams[0], budget=model.budget("auto"))

    def answers(batch: Sequence[RowQueries]) -> list[Floats]:
        counts = [len(ask.at) for ask in batch]
        readings = engine.ask(batch, [False] * len(batch))
        check_readings(readings, sum(counts))
        return np.split(np.asarray(readings.logp, float), np.cumsum(counts)[:-1])

    first = answers(asks)
    repeated = answers(asks)
    reversed_order = answers(asks[::-1])[::-1]
    one_by_one = [answers([ask])[0] for ask in asks]
    variants = {
        "repeated": repeated,
        "sent in another order": reversed_order,
        "sent one by one": one_by_one,
    }
    for name, second in variants.items():
        if not all(np.allclose(a, b, atol=SAME) for a, b in zip(first, second, strict=True)):
            raise UnmaskError(
                f"{model.name!r} returns different values when the same queries are {name}; "
                "make it "
                "deterministic."
            )
    if model.kind == "causal":
        _check_ahead(model, asks, first)
    _check_sum(model, asks[0], {gold for ask in asks for gold in ask.gold}, engine)


def _check_ahead(model: Model, asks: Sequence[RowQueries], answers: Sequence[Floats]) -> None:
    """Check that tokens before a difference have equal probabilities, whatever follows."""
    first, second = asks[0], asks[2]
    first_difference = next(
        (i for i, (a, b) in enumerate(zip(first.row, second.row, strict=False)) if a != b),
        len(first.row),
    )
    before = [k for k, at in enumerate(first.at) if at < first_difference]
    if not np.allclose(answers[0][before], answers[2][before], atol=SAME):
        raise UnmaskError(
            f"{model.name!r} is causal but sees later tokens: the same words get different "
            "probabilities when the rest of the sentence changes; hide the later tokens."
        )


def _check_sum(model: Model, ask: RowQueries, tokens: set[int], engine: Any) -> None:
    """Check that probabilities at one place sum to at most 1, with one likeliest token."""
    row, at, golds = ask.row, ask.at[-1], tuple(sorted(tokens))
    hidden = range(at, len(row)) if model.kind == "causal" else frozenset((at,))
    try:
        queries = [RowQueries(row, (at,) * len(golds), golds, (hidden,))]
        readings = engine.ask(queries, [False])
    except (ModelError, NotApplicable):  # a server knows only the tokens of its own sentences
        return
    total = float(np.exp(readings.logp).sum())
    if total > 1 + SAME:
        raise UnmaskError(
            f"{model.name!r} gives probabilities that sum to {total:.2f} over {len(golds)} tokens "
            "at one position; return log-probabilities over its vocabulary."
        )
    if readings.hit.sum() > 1:
        raise UnmaskError(
            f"{model.name!r} marks {readings.hit.sum()} tokens as the likeliest at one position; "
            "set 'hit' only where no other token of the vocabulary is as likely."
        )


def _check_vectors(model: Model) -> None:
    """Embed a word in each of two sentences."""
    engine = model.vectors(budget=model.budget("auto"))
    mentions = [Mention(s, (4, s.index(" ", 4))) for s in SENTENCES]
    words = [m.text[slice(*m.span)] for m in mentions]
    if not {*words} <= engine.has(words):
        return  # a file of vectors need not have them
    pool = model.abilities.pools[0]
    vectors = np.asarray(engine.embed([VectorRequest(m, pool) for m in mentions]))
    if vectors.ndim != 2 or len(vectors) != len(words) or not np.isfinite(vectors).all():
        raise UnmaskError(
            f"{model.name!r} gives vectors of the shape {vectors.shape} for {len(words)} words; "
            "give one finite vector for each."
        )


def _unresolved(cite: tuple[str, ...], bibtex: str, allowed: tuple[str, ...] = ()) -> list[str]:
    keys = {*references(), *(key for key, _ in entries(bibtex)), *allowed}
    if not cite:
        return ["a citation"]
    return [f"a bibliography entry for {key!r}" for key in cite if key not in keys]


def _complain(name: str, lacks: list[str]) -> None:
    if lacks:
        raise UnmaskError(f"{name!r} is not complete: it lacks {', '.join(lacks)}.")

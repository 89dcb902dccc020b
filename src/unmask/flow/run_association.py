"""The association loop: words to contexts to vectors, vectors to effect sizes."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.verdict import contradiction, undecided
from unmask.data.wordsets import check_sizes
from unmask.errors import DataError, NotApplicable
from unmask.flow.effect import ByWord, Effect, cells, effect, stacked
from unmask.flow.items_table import facts, provenance
from unmask.flow.progress import Failed, bar
from unmask.measures.association import Association
from unmask.models.protocol import Model, Vectors
from unmask.options import Options, Resampling, Spec
from unmask.stats.vectors import unit
from unmask.support.wording import counted
from unmask.text.contexts import (
    SOURCES,
    Contexts,
    Mention,
    Source,
    VectorRequest,
    WordTest,
    read_by_husse2022,
    read_by_tan2019,
)
from unmask.types import Coverage, Floats, Result, Stimuli

BINS = 40
MIN_WORDS = 2  # words that a set must keep
ByValue = Mapping[str, Mapping[str, float]]  # set, word: a number


@dataclass(frozen=True, slots=True)
class WordsUsed:
    """One measure on one test: the words used, their contexts, and the words left out."""

    measure: Association
    test: WordTest
    sets: dict[str, tuple[str, ...]]
    contexts: Contexts
    source: str
    lost: dict[str, str]
    pool: str
    layer: int | None = None
    remarks: tuple[str, ...] = ()

    def wanted(self) -> list[VectorRequest]:
        """What to embed, in the order of sets, words and contexts."""
        return [
            self._wanted(mention, label)
            for label, words in self.sets.items()
            for w in words
            for mention in self.contexts[w]
        ]

    def _wanted(self, mention: Mention, label: str) -> VectorRequest:
        pool = self.pool
        if self.measure.encode == "tan2019":
            mention = read_by_tan2019(mention, self.test.stimuli.sets[label])
        if self.measure.encode == "husse2022" and pool.startswith("word-"):
            mention = read_by_husse2022(mention, self.test.stimuli.sets[label])
            # Of several words the release takes the mean, whatever pieces were asked for.
            pool = "word-mean" if " " in mention.text[slice(*mention.span)] else pool
        return VectorRequest(mention, pool, self.measure.encode, self.layer)


def run(
    model: Model, specs: Mapping[int, Spec], options: Options, failed: Failed
) -> Iterator[Callable[[], Mapping[int, Callable[[], Result]]]]:
    """Yield functions that give the results of association measures, by the index of their spec.

    A spec that cannot be prepared or scored is reported to `failed`, and the rest continues.
    """
    engine: Vectors = model.vectors(
        budget=model.budget(options.tokens), store=options.store, progress=bar(model, options)
    )
    words = {w for s in specs.values() for ws in s.data.stimuli.sets.values() for w in ws}
    vocabulary = engine.has(words)
    notes = model.abilities.remarks
    by_spec: dict[int, WordsUsed] = {}
    for index, spec in specs.items():
        try:
            by_spec[index] = replace(prepare(model, spec, vocabulary, options.seed), remarks=notes)
        except (DataError, NotApplicable) as error:
            failed(spec, error)
    if not by_spec:
        return
    embedded = embed_all(engine, list(by_spec.values()))
    for (index, words_used), vectors in zip(by_spec.items(), embedded, strict=True):
        make = partial(score, model, specs[index], words_used, vectors, options)
        yield partial(dict, {index: make})


def prepare(model: Model, spec: Spec, vocabulary: set[str], seed: int = 0) -> WordsUsed:
    """Choose the words that can be met; a set that falls below two words is an error."""
    measure, test = spec.measure, spec.data
    usual = measure.pool_for(model.kind)
    _check(model, spec)
    source = _source(spec)
    mentions = source.of(test.stimuli)
    lost: dict[str, str] = {}
    sets = {}
    for label, words in test.stimuli.sets.items():
        for w in words:
            if w not in mentions:
                lost[w] = "no context"
            elif w not in vocabulary:
                lost[w] = "not in the vectors" if model.kind == "static" else "unknown to the model"
        sets[label] = tuple(w for w in words if w not in lost)
        if len(sets[label]) < _least(measure, test, label):
            raise DataError(_too_few(test.name, label, words, lost))
    if measure.paired:
        sets = _whole_pairs(sets, getattr(test.stimuli, measure.paired), lost)
    if measure.subsample:
        sets = _equal(sets, list(test.stimuli.targets), seed)
    elif measure.statistic is None:
        check_sizes(test.stimuli)
    return WordsUsed(
        measure, test, sets, mentions, source.name, lost, spec.pool or usual, spec.layer
    )


def _least(measure: Association, test: WordTest, label: str) -> int:
    """The words that a set must keep: CEAT also takes target sets that have one word by design.

    Its samples then vary with the sentences of that word alone; there is no interval over words.
    """
    single = measure.samples and len(test.stimuli.targets.get(label, ())) == 1
    return 1 if single else MIN_WORDS


def _whole_pairs(
    sets: dict[str, tuple[str, ...]], pairs: Mapping[str, tuple[str, ...]], lost: dict[str, str]
) -> dict[str, tuple[str, ...]]:
    """Sets that are pairs by their order, without the partners of words that had to go."""
    if len({len(words) for words in pairs.values()}) > 1:
        sizes = ", ".join(f"{label} has {len(words)}" for label, words in pairs.items())
        raise DataError(f"the words must be paired, but {sizes}; give sets of equal size.")
    complete = [p for p in zip(*pairs.values(), strict=True) if not any(w in lost for w in p)]
    if len(complete) < MIN_WORDS:
        raise DataError(f"{len(complete)} pairs are left; {MIN_WORDS} are needed.")
    survivors = dict(zip(pairs, zip(*complete, strict=True), strict=True))
    for label, words in pairs.items():
        gone = (w for w in words if w not in lost and w not in survivors[label])
        lost |= dict.fromkeys(gone, "its partner is missing")
    return {label: survivors.get(label, words) for label, words in sets.items()}


def _check(model: Model, spec: Spec) -> None:
    """Raise if the model lacks the pooling or layer, and name those that it has."""
    choices: dict[str, tuple[Any, ...]]
    choices = {"pool": model.abilities.pools, "layer": model.abilities.layers}
    for option, allowed in choices.items():
        value = getattr(spec, option)
        if value is None or value in allowed:
            continue
        if not allowed:
            raise NotApplicable(
                f"{model.name!r} has no {option}s to choose from; leave out {option}."
            )
        allowed_text = f"{allowed[0]} to {allowed[-1]}" if option == "layer" else ", ".join(allowed)
        raise NotApplicable(f"{model.name!r} has no {option} {value!r}; it has {allowed_text}.")


def _source(spec: Spec) -> Source:
    """The contexts that are asked for, those of the test's own file, or the measure's usual."""
    if spec.contexts is not None and spec.data.source is not None:
        raise NotApplicable(
            f"{spec.data.name!r} brings its own sentences; leave out the contexts for it."
        )
    return spec.contexts or spec.data.source or SOURCES[spec.measure.contexts]


def _too_few(
    test: str, label: str, words: Sequence[str], lost: Mapping[str, str], most: int = 5
) -> str:
    """Which words a set lacks, the first few by name."""
    gone = [w for w in words if w in lost]
    if not gone:
        return f"{test}: {label} has only {len(words)} of the {MIN_WORDS} words required."
    named = ", ".join(gone[:most])
    named += f" and {len(gone) - most} more" if len(gone) > most else ""
    scored = f"{len(words) - len(gone)} of its {len(words)} words scored (without {named})"
    return f"{test}: {label} has only {scored}; at least {MIN_WORDS} are required."


def _equal(
    sets: dict[str, tuple[str, ...]], targets: Sequence[str], seed: int
) -> dict[str, tuple[str, ...]]:
    """Cut the larger target set to the size of the smaller, at random."""
    size = min(len(sets[t]) for t in targets)
    rng = np.random.default_rng(seed)
    subsets = dict(sets)
    for t in targets:
        keep = sorted(rng.choice(len(sets[t]), size, replace=False))
        subsets[t] = tuple(sets[t][i] for i in keep)
    return subsets


def embed_all(engine: Vectors, words: Sequence[WordsUsed]) -> Iterator[Floats]:
    """The vectors of each test; each distinct sentence of all tests is encoded once."""
    requests = (w for a in words for w in a.wanted())
    distinct = {w: i for i, w in enumerate(dict.fromkeys(requests))}
    vectors = engine.embed(list(distinct))
    for a in words:
        yield vectors[[distinct[w] for w in a.wanted()]]


def score(
    model: Model, spec: Spec, words_used: WordsUsed, vectors: Floats, options: Options
) -> Result:
    """The effect size with its interval and test, and the association of every word."""
    by_word, too_long = _split(words_used, vectors)
    words_used = replace(
        words_used,
        lost={**words_used.lost, **too_long},
        sets={label: tuple(words) for label, words in by_word.items()},
    )
    resampling = options.resampling
    count = len(words_used.test.stimuli.targets)
    effects = effect(words_used.measure, by_word, resampling, _frames(words_used), count)
    behind = {"samples": effects.drawn, "sentences": effects.sentences}
    reasons = pd.Series(words_used.lost, dtype=object).value_counts()
    return Result(
        spec=spec.in_names(),
        compared=words_used.measure.compared,
        overall=effects.overall,
        by_category=effects.categories,
        extras=effects.beside,
        accuracy=None,
        coverage=Coverage(
            items=sum(len(words) for words in words_used.test.stimuli.sets.values()),
            scored=sum(map(len, words_used.sets.values())),
            reasons={str(k): int(v) for k, v in reasons.items()},
            lost=dict(words_used.lost),
        ),
        settings=_settings(model, words_used, len(vectors), resampling) | _behind(by_word, effects),
        provenance=provenance(model, words_used.measure, words_used.test),
        verdicts=undecided((), "association", options.least)
        if words_used.measure.statistic is None
        else {},
        items=_frame(model, words_used, by_word, effects.without),
        notes=_notes(words_used) + contradiction(effects.overall),
        shown=tuple(effects.beside),
        artifacts={k: v for k, v in behind.items() if v is not None and k in options.keep},
    )


def _frames(words: WordsUsed) -> dict[str, dict[str, list[str]]]:
    """The sentences of the target words, without the word: the template of each."""
    return {
        label: {w: [_around(m) for m in words.contexts[w]] for w in words.sets[label]}
        for label in words.test.stimuli.targets
    }


def _around(mention: Mention) -> str:
    start, end = mention.span
    before, after = mention.text[:start], mention.text[end:]
    return f"{before.removesuffix('a ').removesuffix('an ')}|{after}"


def _behind(by_word: ByWord, effects: Effect) -> dict[str, Any]:
    """Details of an effect size: the four mean associations, and CEAT's effects in bins."""
    if len(by_word) != 4:
        return {"sets": list(by_word)}
    cosines, (n, _, p, _) = cells(by_word)
    parts = (cosines[:n, :p], cosines[:n, p:], cosines[n:, :p], cosines[n:, p:])
    means = dict(zip(("X-A", "X-B", "Y-A", "Y-B"), (float(c.mean()) for c in parts), strict=True))
    details: dict[str, Any] = {"sets": list(by_word), "means": means}
    if effects.drawn is not None:
        counts, edges = np.histogram(effects.drawn, bins=BINS)
        details["effects"] = {"counts": counts.tolist(), "edges": edges.tolist()}
    return details


def _notes(words: WordsUsed) -> tuple[str, ...]:
    missing = words.test.about.get("sentences_without_their_word", 0)
    note = (f"{counted(missing, 'sentence')} in the file without any word of the test; left out.",)
    notes = (*words.test.about.get("notes", ()), *_overlaps(words.test.stimuli))
    return notes + (note if missing else ()) + words.remarks


def _overlaps(test: Stimuli) -> tuple[str, ...]:
    """A note on words that two sets of a test share: they pull both ways."""
    return tuple(
        f"{test.name}: {first} and {second} share {', '.join(shared[:3])}"
        f"{' and more' if len(shared) > 3 else ''}, which count in both sets."
        for (first, a), (second, b) in combinations(test.sets.items(), 2)
        if (shared := [w for w in a if w in set(b)])
    )


def _settings(model: Model, words: WordsUsed, sentences: int, resampling: Resampling) -> Any:
    settings: dict[str, Any] = {
        "seed": resampling.seed,
        "random": "attributes"
        if words.measure.samples or words.measure.statistic
        else resampling.random,
        "contexts": words.source,
        "pool": words.pool,
        "encode": words.measure.encode,
        "sentences": sentences,
    }
    settings |= {"paired": words.measure.paired} if words.measure.paired else {}
    if model.abilities.layers:
        settings["layer"] = "usual" if words.layer is None else words.layer
    settings |= {"samples": words.measure.samples} if words.measure.samples else {}
    return settings | ({"deviation": words.measure.deviation} if words.measure.deviation else {})


def _split(
    words_used: WordsUsed, vectors: Floats
) -> tuple[dict[str, dict[str, Floats]], dict[str, str]]:
    """Vectors by set and word [contexts, d], and the words that lost all their sentences.

    Single sentences that could not be encoded are left out.
    """
    embeddings: dict[str, dict[str, Floats]] = {}
    lost: dict[str, str] = {}
    start = 0
    for label, words in words_used.sets.items():
        embeddings[label] = {}
        for w in words:
            count = len(words_used.contexts[w])
            part = vectors[start : start + count]
            start += count
            part = part[np.isfinite(part).all(1)]
            if len(part):
                embeddings[label][w] = part
            else:
                lost[w] = "no sentence fits into the model"
        if len(embeddings[label]) < _least(words_used.measure, words_used.test, label):
            raise DataError(_too_few(words_used.test.name, label, words, lost))
    return embeddings, lost


def _frame(model: Model, words: WordsUsed, by_word: ByWord, without: ByValue) -> pd.DataFrame:
    """One row for each word: its mean association, and the effect size without the word."""
    attributes = [k for k in by_word if k in words.test.stimuli.attributes]
    means = [unit(stacked(by_word[k])[0]).mean(0) for k in attributes]
    axis = means[0] - means[1] if len(means) > 1 else means[0]
    rows = [
        {
            **facts(model.name, words.measure.name, words.test.name, w, label, w),
            "label": side,
            "sentence": words.contexts[w][0].text,
            "score": float((unit(vectors) @ axis).mean()),
            "contexts": len(vectors),
            "without": without.get(label, {}).get(w, math.nan),
        }
        for side, label in zip(words.test.stimuli.roles, by_word, strict=True)
        for w, vectors in by_word[label].items()
    ]
    return pd.DataFrame(rows)

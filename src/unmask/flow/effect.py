"""From vectors by word to the effect size, and what each word does to it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from unmask.measures.association import Association
from unmask.options import Resampling
from unmask.stats.ceat import Samples, ceat_samples, combined, draw_indices, random_effects
from unmask.stats.clustering import Variance
from unmask.stats.effects import (
    Words,
    associations,
    attribute_variance,
    by_words,
    effect_estimate,
    effect_size,
    template_variance,
)
from unmask.stats.over_words import over_words, without_each
from unmask.stats.permutation import permutation, with_replacement
from unmask.stats.vectors import unit
from unmask.stats.word_statistics import Statistic
from unmask.text.inflection import lexemes
from unmask.types import EMPTY, Estimate, Floats

ByWord = Mapping[str, Mapping[str, Floats]]  # set, word: vectors [contexts, d]


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect size, its value without each word by set and word, and CEAT's drawn effects.

    `sentences` are the associations of X's and of Y's, where no samples are drawn of them.
    `beside` are further statistics, `categories` those of further attribute sets.
    """

    overall: Estimate
    without: Mapping[str, Mapping[str, float]]
    drawn: Floats | None = None
    sentences: tuple[Floats, Floats] | None = None
    beside: Mapping[str, Estimate] = field(default_factory=dict)
    categories: Mapping[str, Estimate] = field(default_factory=dict)


Frames = Mapping[str, Mapping[str, Sequence[str]]]  # set, word: the template of each context


def effect(
    measure: Association,
    by_word: ByWord,
    resampling: Resampling,
    frames: Frames = EMPTY,
    targets: int = 2,
) -> Effect:
    """The measure's effect size on the vectors of X, Y, A and B, or its statistic on any sets.

    `frames` are the templates of the target words, where they have some; the first
    sets, as many as `targets`, are the targets.
    """
    if measure.test == "random-effects":
        return _sampled(measure, by_word, resampling)
    if measure.statistic is not None:
        return _statistic(measure, by_word, resampling, targets)
    return _plain(measure, by_word, resampling, frames)


def stacked(words: Mapping[str, Floats]) -> tuple[Floats, list[str]]:
    """All vectors of a set, and the word of each."""
    names = [w for w, v in words.items() for _ in v]
    return np.concatenate(list(words.values())), names


def _plain(measure: Association, by_word: ByWord, resampling: Resampling, frames: Frames) -> Effect:
    """d over all sentences; p over words, or over sentences where that is what was published."""
    (x, xs), (y, ys), (a, _), (b, _) = (stacked(words) for words in by_word.values())
    scores = associations(x, a, b), associations(y, a, b)
    words = by_words(*scores, *(_lexemes(names) for names in (xs, ys)))
    test = None
    if measure.published_p and resampling.splits:
        permutation_test = permutation if measure.ddof else with_replacement
        test = permutation_test(*scores, sided=measure.sided, resampling=resampling)
    attributes = _attributes(by_word) if resampling.random == "attributes" else None
    overall = effect_estimate(
        words,
        sided=measure.sided,
        attributes=attributes,
        templates=_templates(by_word, scores, frames),
        test=test,
        resampling=resampling,
    )
    overall = overall if test is None else _marked(overall, "p")
    parts = (*_by_form(by_word, words.without()), *_without_attributes(by_word, len(x)))
    if not measure.ddof:
        size = len(x) + len(y)
        scale = math.sqrt(size / (size - 1))
        overall, parts = scaled(overall, scale), tuple(scale * p for p in parts)  # type: ignore[assignment]
    return Effect(overall, _named(by_word, parts), sentences=scores)


def _statistic(
    measure: Association, by_word: ByWord, resampling: Resampling, targets: int
) -> Effect:
    """A statistic of the words' mean vectors, with its interval over the words of all sets."""
    assert measure.statistic is not None
    labels = list(by_word)
    sets = [np.stack([v.mean(0) for v in words.values()]) for words in by_word.values()]
    sets = [unit(s) for s in sets] if measure.normalised else sets
    first = measure.each
    groups = [[k] for k in range(targets, len(sets))] if first else [range(targets, len(sets))]
    estimates: dict[str, Estimate] = {}
    without: dict[str, dict[str, float]] = {}
    for attributes in groups:
        places = [*range(targets), *attributes]
        overall, parts = _over_words(
            measure, measure.statistic, sets, targets, attributes, resampling
        )
        estimates[labels[attributes[0]]] = overall
        for place, values in zip(places, parts, strict=True):
            named = dict(zip(by_word[labels[place]], values.tolist(), strict=True))
            without.setdefault(labels[place], named)
    beside = {
        name: _over_words(measure, statistic, sets, targets, groups[0], resampling)[0]
        for name, statistic in (measure.beside if len(groups[0]) == 2 else {}).items()
    }
    overall = next(iter(estimates.values()))
    categories = estimates if first and len(estimates) > 1 else {}
    return Effect(overall, without, beside=beside, categories=categories)


def _over_words(
    measure: Association,
    statistic: Statistic,
    sets: Sequence[Floats],
    targets: int,
    attributes: Sequence[int],
    resampling: Resampling,
) -> tuple[Estimate, list[Floats]]:
    sides = [sets[k] for k in range(targets)], [sets[k] for k in attributes]
    paired = {"targets": range(targets), "attributes": range(targets, targets + len(sides[1]))}
    without = without_each(statistic, *sides, measure.paired)
    estimate = over_words(
        statistic(*sides),
        without,
        ideal=measure.ideal,
        tested=measure.tested,
        within=measure.within if statistic is measure.statistic else (-math.inf, math.inf),
        paired=paired.get(measure.paired, range(0)),
        resampling=resampling,
    )
    return estimate, without


def scaled(estimate: Estimate, by: float) -> Estimate:
    """An estimate in another unit; its ideal is 0."""
    inner = estimate.more.get("inner")
    more = {**estimate.more, "inner": inner and [by * v for v in inner]}
    more["mde"] = by * estimate.more["mde"]
    value, low, high, se = (
        by * v for v in (estimate.value, estimate.low, estimate.high, estimate.se)
    )
    return replace(estimate, value=value, low=low, high=high, se=se, more=more)


def _templates(by_word: ByWord, scores: tuple[Floats, Floats], frames: Frames) -> Variance | None:
    """The variance that other templates would add; None unless the words of a set share theirs."""
    tables, names = [], []
    for label, values in zip(list(by_word)[:2], scores, strict=True):
        rows = [tuple(frames.get(label, {}).get(w, ())) for w in by_word[label]]
        if len(set(rows)) != 1 or len(set(rows[0])) != len(rows[0]) or not rows[0]:
            return None
        if len(rows) * len(rows[0]) != len(values):
            return None
        tables.append(values.reshape(len(rows), len(rows[0])))
        names.append(rows[0])
    return template_variance(tables[0], tables[1], paired=names[0] == names[1])


def _sampled(measure: Association, by_word: ByWord, resampling: Resampling) -> Effect:
    """The combined effect size of samples of contexts (CEAT)."""
    rng, count = np.random.default_rng(resampling.seed), measure.samples
    units = [[unit(v).astype(np.float32) for v in words.values()] for words in by_word.values()]
    draws = [draw_indices([len(v) for v in words], count, rng, measure.reuse) for words in units]
    samples, n = _merged(ceat_samples(units, draws), by_word)
    several = min(n, len(samples.words) - n) > 1
    overall = combined(samples, n, _attributes(by_word) if several else None, resampling)
    words = Words(samples.words[:n], samples.words[n:], overall.value)
    missing = np.full(n, np.nan), np.full(len(samples.words) - n, np.nan)
    without = _by_form(by_word, words.without() if several else missing)
    parts = (*without, *_attributes_alone(by_word, words))
    if measure.published_p:
        overall = _marked(random_effects(samples, measure.sided, resampling), "interval and p")
    return Effect(overall, _named(by_word, parts), samples.effects)


def _lexemes(names: list[str]) -> list[str]:
    """Replace each form by the word that it is a form of."""
    of = lexemes(names)
    return [of[name] for name in names]


def _by_form(by_word: ByWord, parts: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Repeat the values of X's and Y's words for each form of a word."""
    form_values = []
    for words, values in zip(list(by_word.values())[:2], parts, strict=True):
        of = _lexemes(list(words))
        places = {w: i for i, w in enumerate(dict.fromkeys(of))}
        form_values.append(values[[places[w] for w in of]])
    return form_values[0], form_values[1]


def _merged(samples: Samples, by_word: ByWord) -> tuple[Samples, int]:
    """Samples with the forms of one word in one row, and the number of X's words."""
    counts, rows, start = [], [], 0
    for words in list(by_word.values())[:2]:
        of = _lexemes(list(words))
        places = {w: i for i, w in enumerate(dict.fromkeys(of))}
        table = np.zeros((len(places), samples.words.shape[1]))
        np.add.at(table, [places[w] for w in of], samples.words[start : start + len(of)])
        start += len(of)
        counts.append(len(places))
        rows.append(table)
    return replace(samples, words=np.concatenate(rows)), counts[0]


def _marked(estimate: Estimate, note: str) -> Estimate:
    """Record which parts of an estimate are as published."""
    return replace(estimate, more={**estimate.more, "published": note})


def _named(by_word: ByWord, parts: tuple[Floats, ...]) -> dict[str, dict[str, float]]:
    return {
        label: dict(zip(words, values.tolist(), strict=True))
        for (label, words), values in zip(by_word.items(), parts, strict=True)
    }


# ---------------------------------------------------------------- attribute words


def cells(by_word: ByWord) -> tuple[Floats, tuple[int, int, int, int]]:
    """Mean cosine of each target word with each attribute word, and the sizes of the sets."""
    means = [np.stack([unit(v).mean(0) for v in words.values()]) for words in by_word.values()]
    n, m, p, q = map(len, means)
    return np.concatenate(means[:2]) @ np.concatenate(means[2:]).T, (n, m, p, q)


def _attributes(by_word: ByWord) -> Variance:
    return attribute_variance(*cells(by_word))


def _without_attributes(by_word: ByWord, n: int) -> tuple[Floats, Floats]:
    """d without each word of A, and of B; the first n sentences are X's."""
    x, y, a, b = by_word.values()
    targets = unit(np.concatenate([stacked(x)[0], stacked(y)[0]]))
    sums = [np.stack([unit(v).sum(0) for v in words.values()]) for words in (a, b)]
    counts = [np.array([len(v) for v in words.values()]) for words in (a, b)]
    full = [targets @ (s.sum(0) / c.sum()) for s, c in zip(sums, counts, strict=True)]
    effects = []
    for k, sign in ((0, 1.0), (1, -1.0)):
        remaining = (sums[k].sum(0) - sums[k]) / (counts[k].sum() - counts[k])[:, None]
        scores = sign * (targets @ remaining.T - full[1 - k][:, None])
        effects.append(np.array([effect_size(s[:n], s[n:]) for s in scores.T]))
    return effects[0], effects[1]


def _attributes_alone(by_word: ByWord, words: Words) -> tuple[Floats, Floats]:
    """CEAT's value without each word of A, and of B; the spread of the samples is kept."""
    cosines, (n, _, p, _) = cells(by_word)
    by_attribute = cosines[:n].mean(0) - cosines[n:].mean(0)
    effects = []
    for part, sign in ((by_attribute[:p], 1.0), (by_attribute[p:], -1.0)):
        others = (part.sum() - part) / (len(part) - 1)
        effects.append(words.value + sign * (others - part.mean()) / words.spread)
    return effects[0], effects[1]

"""The likelihood flow: items to queries, answers to sentence scores, scores to estimates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from unmask.errors import DataError, NotApplicable
from unmask.measures.likelihood import LIKELIHOOD, Likelihood
from unmask.stats.association import Samples, effect_estimate, random_effects
from unmask.stats.intervals import bootstrap, first
from unmask.stats.preference import Ties, summarise
from unmask.text.roles import with_pair_roles
from unmask.types import (
    Codec,
    Contrast,
    Dataset,
    Encoded,
    Estimate,
    Floats,
    Kind,
    LogProbs,
    Query,
    Readings,
    Result,
    Text,
)

LOW_ACCURACY = 10.0
Cache: TypeAlias = dict[tuple[Any, str, str], dict[str, Encoded]]


class TextCodec(Codec, Protocol):
    """A codec that also turns character spans into roles."""

    def encode_text(self, text: Text, focus: tuple[str, str, str] = ...) -> Encoded:
        """Ids with a role for each span."""
        ...

    def encode_two(self, first: str, second: str) -> Encoded:
        """Ids of two segments, the places of the second under the role `second`."""
        ...


class SentenceModel(Protocol):
    """What the flow needs of a model; `models.load.Model` is one, tests pass fakes."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def kind(self) -> Kind:
        """What it can answer."""
        ...

    @property
    def family(self) -> str:
        """Its architecture's short name."""
        ...

    @property
    def codec(self) -> TextCodec:
        """Its tokenizer."""
        ...

    @property
    def limit(self) -> int:
        """The longest row it takes, in tokens."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What it is, for the record."""
        ...


@dataclass(frozen=True, slots=True)
class Planned:
    """The queries of one measure on one data set, and where each sentence's answers will be.

    `parts[item][label]` are the slices of the value's and the prior's queries; an item that
    cannot be asked has a reason instead.
    """

    measure: Likelihood
    data: Dataset
    queries: list[Query]
    parts: dict[str, dict[str, tuple[slice, slice]]]
    reasons: dict[str, str]


def check(measure: Likelihood, data: Dataset, kind: Kind) -> None:
    """Refuse a measure on a model or on data that it does not fit."""
    measure.plan_for(kind)
    if data.shape not in measure.shapes:
        fit = [m.name for m in LIKELIHOOD.values() if data.shape in m.shapes and kind in m.plans]
        raise NotApplicable(
            f"{measure.name!r} needs {' or '.join(measure.shapes)}, and {data.name!r} has "
            f"{data.shape}; measures that fit it: {', '.join(fit)}."
        )


def plan(
    model: SentenceModel, measure: Likelihood, data: Dataset, cache: Cache | None = None
) -> Planned:
    """All queries of a measure on a data set; measures that share a `cache` encode it once."""
    check(measure, data, model.kind)
    cache = {} if cache is None else cache
    ask, prior = measure.plan_for(model.kind), measure.prior.get(model.kind)
    queries: list[Query] = []
    parts: dict[str, dict[str, tuple[slice, slice]]] = {}
    reasons: dict[str, str] = {}
    for item in data.items:
        key = (measure.text, f"{data.name} {measure.stream == 'next'}", item.id)
        if key not in cache:
            cache[key] = encode(model, measure, item)
        encoded = cache[key]
        if reason := _obstacle(encoded, measure, model.limit):
            reasons[item.id] = reason
            continue
        asked = {}
        for label, sentence in encoded.items():
            value = ask(sentence, model.codec)
            before = prior(sentence, model.codec) if prior else []
            middle = len(queries) + len(value)
            asked[label] = (slice(len(queries), middle), slice(middle, middle + len(before)))
            queries += value + before
        if any(s.start == s.stop for s, _ in asked.values()) and measure.empty == "unscored":
            del queries[min(s.start for s, _ in asked.values()) :]
            reasons[item.id] = "nothing to ask in one of its sentences (empty difference)"
            continue
        parts[item.id] = asked
    if len(parts) + len(reasons) != len(data.items):
        raise DataError(f"{data.name!r} has two items with the same id; make the ids unique.")
    return Planned(measure, data, queries, parts, reasons)


def encode(model: SentenceModel, measure: Likelihood, item: Contrast) -> dict[str, Encoded]:
    """The sentences of an item as the measure wants them, with roles."""
    out = {}
    for label, text in item.texts.items():
        string = measure.text(text.string, model.family)
        spans = {k: tuple(s for s in v if s[1] <= len(string)) for k, v in text.spans.items()}
        if measure.stream == "next":
            (a, b), (c, d) = spans["context"][0], spans["continuation"][0]
            out[label] = model.codec.encode_two(string[a:b], string[c:d])
            continue
        shown = Text(string, spans)
        out[label] = model.codec.encode_text(shown, _focus(shown, item))
    return out if measure.stream == "next" else with_pair_roles(out)


def _focus(text: Text, item: Contrast) -> tuple[str, str, str]:
    """The text before, of and after the word that the item is about."""
    for role in ("word", "target"):
        if spans := text.spans.get(role):
            start, end = spans[0]
            word = text.string[start:end]
            if context := item.meta.get("context"):
                before, _, after = context.partition("BLANK")
                return before, word, after
            return text.string[:start], word, text.string[end:]
    return "", "", ""


def _obstacle(encoded: Mapping[str, Encoded], measure: Likelihood, limit: int) -> str:
    """Why an item cannot be asked, or nothing."""
    if max(len(e.ids) for e in encoded.values()) > limit:
        return f"longer than the model's {limit} tokens"
    for role in measure.needs:
        if not all(e.roles.get(role) for e in encoded.values()):
            return f"the place of its {role} is not marked"
        if any(
            e.roles[role] != tuple(range(e.roles[role][0], e.roles[role][-1] + 1))
            for e in encoded.values()
        ):
            return f"its {role} is in more than one place"
    return ""


def ask(engines: Mapping[str, LogProbs], planned: Sequence[Planned]) -> list[Readings]:
    """Answer the queries of all measures together, so that each distinct row is run once."""
    out: dict[int, Readings] = {}
    for stream in sorted({p.measure.stream for p in planned}):
        chosen = [i for i, p in enumerate(planned) if p.measure.stream == stream]
        queries = [q for i in chosen for q in planned[i].queries]
        wanted = [planned[i].measure.attention for i in chosen for _ in planned[i].queries]
        readings = engines[stream].ask(queries, wanted)
        start = 0
        for i in chosen:
            out[i] = readings[start : start + len(planned[i].queries)]
            start += len(planned[i].queries)
    return [out[i] for i in range(len(planned))]


def score(model: SentenceModel, planned: Planned, readings: Readings, seed: int) -> Result:
    """Sentence scores, then the estimates and all that explains them."""
    measure, data = planned.measure, planned.data
    if not planned.parts:
        reasons = ", ".join(sorted(set(planned.reasons.values())))
        raise DataError(f"no item of {data.name!r} could be scored by {measure.name!r}: {reasons}.")
    frame = sentence_frame(model, planned, readings)
    settings: dict[str, Any] = {
        "seed": seed,
        "ties": measure.ties,
        "decimals": measure.decimals,
        "average": measure.average,
        "cluster": data.cluster,
        "stream": measure.stream,
        "queries": len(planned.queries),
    }
    settings |= {"deviation": measure.deviation} if measure.deviation else {}
    accuracy = None if measure.stream == "next" else _accuracy(frame, seed)
    compared = _log_odds if measure.compare == "log-odds" else _preferences
    overall, categories, extras, ties = compared(frame, data, measure, seed)
    reasons = pd.Series(planned.reasons, dtype=object).value_counts()
    coverage = {
        "items": len(data.items),
        "scored": len(planned.parts),
        "ties": ties,
        "reasons": {str(k): int(v) for k, v in reasons.items()},
    }
    if accuracy is not None and measure.compare == "preference" and measure.name != "all-masked":
        settings["notes"] = _warn(accuracy)
    return Result(
        model=model.name,
        measure=measure.name,
        data=data.name,
        overall=overall,
        by_category=categories,
        extras=extras,
        accuracy=accuracy,
        coverage=coverage,
        settings=settings,
        provenance={"model": dict(model.provenance), "data": dict(data.about)},
        items=frame,
    )


def _warn(accuracy: Estimate) -> list[str]:
    if accuracy.value >= LOW_ACCURACY:
        return []
    return [
        f"the model predicts only {accuracy.value:.1f} % of the tokens asked for: where it does "
        "not know the words, preferring one sentence over the other means little."
    ]


def sentence_frame(model: SentenceModel, planned: Planned, readings: Readings) -> pd.DataFrame:
    """One row for each sentence: its score, prior, tokens asked for and tokens hit."""
    rows = []
    for item in planned.data.items:
        asked = planned.parts.get(item.id)
        for label, text in item.texts.items():
            row = {
                "model": model.name,
                "data": planned.data.name,
                "measure": planned.measure.name,
                "item": item.id,
                "category": item.category,
                "cluster": item.cluster,
                "label": label,
                "sentence": text.string,
                "score": np.nan,
                "prior": np.nan,
                "tokens": 0,
                "hits": 0,
                "flags": "; ".join(item.meta.get("flags", ())),
            }
            if asked is not None:
                value, prior = asked[label]
                here = readings[value]
                row["score"] = planned.measure.score(here, model.kind)
                row["tokens"], row["hits"] = len(here.logp), int(here.hit.sum())
                if planned.measure.prior:
                    row["prior"] = float(readings[prior].logp.sum())
            else:
                row["reason"] = planned.reasons[item.id]
            rows.append(row)
    frame = pd.DataFrame(rows)
    return frame if "reason" in frame else frame.assign(reason=None)


def _accuracy(frame: pd.DataFrame, seed: int) -> Estimate | None:
    """Token prediction accuracy in per cent, resampled over items."""
    by_item = frame.groupby("item", sort=False)[["hits", "tokens"]].sum()
    by_item = by_item[by_item.tokens > 0]
    if not len(by_item):
        return None
    return bootstrap(
        by_item.to_numpy(float),
        np.arange(len(by_item)),
        lambda means: 100 * means[:, 0] / means[:, 1],
        draws=2000,
        seed=seed,
    )


_Compared = tuple[Estimate, dict[str, Estimate], dict[str, Estimate], int]


def _preferences(frame: pd.DataFrame, data: Dataset, measure: Likelihood, seed: int) -> _Compared:
    return preferences(
        frame.assign(score=measure.rounded(frame.score.to_numpy(float))),
        ties=measure.ties,
        macro=measure.average == "macro",
        seed=seed,
    )


def preferences(frame: pd.DataFrame, *, ties: Ties, macro: bool, seed: int) -> _Compared:
    """Share of items whose stereotypical sentence scores higher, over all and by category.

    For triplets lms and icat come with it, by category as `lms:CATEGORY`.
    """
    scored = frame[frame.reason.isna()]
    wide = scored.pivot(index="item", columns="label", values="score")
    facts = scored.drop_duplicates("item").set_index("item").loc[wide.index]

    def estimates(chosen: pd.Series) -> dict[str, Estimate]:
        scores = {str(k): wide.loc[chosen, k].to_numpy(float) for k in wide.columns}
        clusters = facts.cluster[chosen].tolist()
        return summarise(scores, clusters, ties=ties, macro=macro, seed=seed)

    extras = estimates(pd.Series(True, index=wide.index))
    overall = extras.pop("score")
    categories = {}
    for name in sorted(facts.category.unique()):
        found = estimates(facts.category == name)
        categories[name] = found.pop("score")
        extras |= {f"{key}:{name}": value for key, value in found.items()}
    count = int((wide["stereotype"] == wide["antistereotype"]).sum())
    return overall, categories, extras, count


def _log_odds(frame: pd.DataFrame, data: Dataset, measure: Likelihood, seed: int) -> _Compared:
    """Effect size between the two attribute sets of the log-odds of the two target sides."""
    sides = {item.id: (item.meta["side"], item.category, item.cluster) for item in data.items}
    scored = frame[frame.reason.isna()]
    values: dict[str, float] = {}
    for item, rows in scored.groupby("item", sort=False):
        values[str(item)] = log_odds(
            rows.label.tolist(), rows.score.to_numpy(float), rows.prior.to_numpy(float)
        )
    halves: dict[str, tuple[list[float], list[str]]] = {"A": ([], []), "B": ([], [])}
    extras: dict[str, Estimate] = {}
    for item, value in values.items():
        side, _, word = sides[item]
        halves[side][0].append(value)
        halves[side][1].append(word)
    names = {side: category for side, category, _ in sides.values()}
    (a, a_words), (b, b_words) = halves["A"], halves["B"]
    if measure.samples:
        overall = _sampled((a, a_words), (b, b_words), measure.samples, seed)
    else:
        overall = effect_estimate(
            np.array(a), np.array(b), a_words, b_words, sided="two", seed=seed
        )
    for side, (scores, words) in halves.items():
        extras[f"log_odds:{names[side]}"] = bootstrap(
            np.array(scores), words, first, ideal=0.0, seed=seed
        )
    return overall, {}, extras, 0


def _sampled(
    a: tuple[list[float], list[str]], b: tuple[list[float], list[str]], samples: int, seed: int
) -> Estimate:
    """Random effects over samples that draw one of each word's scores."""
    rng = np.random.default_rng(seed)
    halves = []
    for scores, words in (a, b):
        by_word = pd.Series(scores).groupby(words).agg(list)
        drawn = [rng.choice(np.array(options), samples) for options in by_word]
        halves.append(np.stack(drawn, axis=1))
    spread = np.concatenate(halves, axis=1).std(axis=1, ddof=1)
    effects = (halves[0].mean(1) - halves[1].mean(1)) / spread
    return random_effects(Samples(effects, spread**2))


def log_odds(labels: Sequence[str], values: Floats, priors: Floats) -> float:
    """log of summed probabilities of side x less side y, each less its prior."""
    x = np.array([label.startswith("x:") for label in labels])
    priors = np.nan_to_num(priors)
    value = logsumexp(values[x]) - logsumexp(values[~x])
    return float(value - (logsumexp(priors[x]) - logsumexp(priors[~x])))

"""Scores to results: the estimates of a measure on a data set, and all that explains them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from unmask.answer.scales import SCALES
from unmask.answer.verdict import contradiction, undecided
from unmask.data.questionnaire import is_control
from unmask.errors import DataError
from unmask.flow.choices import extras_of, replied, without_declined
from unmask.flow.group_comparisons import VALUED
from unmask.flow.item_comparisons import ItemComparison, mean_difference, valued_columns
from unmask.flow.items_table import Layout, SentenceFacts, provenance, sentence_rows
from unmask.flow.sentence_scores import Scored, joined_frames
from unmask.measures.likelihood import Likelihood
from unmask.measures.plans import IN_SIGHT
from unmask.measures.reduce import MARGINS, PROBABILITIES
from unmask.models.protocol import Model
from unmask.options import Options, Resampling, Spec
from unmask.queries import Ints
from unmask.stats import log_odds
from unmask.stats.clustering import Variance
from unmask.stats.effects import by_words, template_variance
from unmask.stats.intervals import ratio
from unmask.stats.preference import Preferences, Ties
from unmask.support.wording import counted
from unmask.text.contexts import Mention, VectorRequest
from unmask.text.inflection import lexemes
from unmask.types import (
    ANTISTEREOTYPE,
    EMPTY,
    STEREOTYPE,
    UNRELATED,
    Coverage,
    Dataset,
    Estimate,
    Floats,
    Kind,
    Result,
    ScaleName,
)

LOW_ACCURACY = 10.0  # per cent of the tokens asked for
MANY_UNKNOWN = 5.0  # per cent of the tokens


class Estimates(NamedTuple):
    """The estimates from comparing sentence scores, and what a result records about them.

    `drawn` has the drawn effects, if any; `judged` says whether a verdict can be given.
    """

    overall: Estimate
    by_category: Mapping[str, Estimate]
    extras: Mapping[str, Estimate]
    ties: int
    drawn: Floats | None = None
    judged: bool = True
    settings: Mapping[str, Any] = EMPTY
    notes: tuple[str, ...] = ()


def result(
    model: Model,
    spec: Spec,
    scored: Scored,
    options: Options,
    about: SentenceFacts | None = None,
) -> Result:
    """The estimates of a spec and all that explains them; `about` what is known of its data."""
    measure, data, resampling = spec.measure, spec.data, options.resampling
    if len(scored.reasons) == len(data.items):
        reasons = ", ".join(sorted(set(scored.reasons.values())))
        raise DataError(f"no item of {data.name!r} could be scored by {measure.name!r}: {reasons}.")
    frame = sentence_frame(model, measure, data, scored, about)
    if not frame.reason.isna().any():
        raise DataError(f"no item of {data.name!r} has a finite score by {measure.name!r}.")
    accuracy = accuracy_of(frame, resampling, about, scored.gold) if measure.accuracy else None
    rounded = frame.assign(score=measure.rounded(frame.score.to_numpy(float), model.kind))
    if measure.compare in VALUED:
        frames = (
            (sentence_vectors(model, data, measure, options),)
            if measure.pool
            else scored.token_frames
        )
        comparison = VALUED[measure.compare](rounded, measure, model.kind, resampling, frames)
        estimates, frame = of_items(comparison, rounded), valued_columns(frame, comparison)
    elif measure.question is not None:
        samples = int(getattr(model, "samples", 0))
        estimates, frame = _choices(rounded, scored, measure, data, resampling, samples)
    else:
        prefer = partial(_preferences, about=about)
        comparers: dict[str, Callable[..., Estimates]]
        comparers = {"odds": _odds, "log-odds": _log_odds, "preference": prefer, "factor": prefer}
        estimates = comparers[measure.compare](rounded, data, measure, model.kind, resampling)
        notes = tied(estimates.ties, measure.ties)
        estimates = estimates._replace(settings=_sets(data), notes=notes)
    lost = frame.reason.notna().to_numpy()
    unscored = frame[lost].drop_duplicates("item") if lost.any() else frame.iloc[:0]
    counts_by_reason = unscored.reason.value_counts()
    return Result(
        spec=spec.in_names(),
        compared=measure.compared,
        overall=estimates.overall,
        by_category=estimates.by_category,
        extras=estimates.extras,
        accuracy=accuracy,
        coverage=Coverage(
            items=len(data.items),
            scored=len(data.items) - len(unscored),
            ties=estimates.ties,
            reasons={str(k): int(v) for k, v in counts_by_reason.items()},
        ),
        settings=_settings(measure, data, scored, model.kind, resampling)
        | {"decimals": measure.decimals_for(model.kind)}
        | _chat(model, measure)
        | dict(estimates.settings),
        provenance=provenance(model, measure, data),
        items=frame,
        notes=estimates.notes
        + model.abilities.remarks
        + _chat_notes(model, measure)
        + tuple(data.about.get("notes", ()))
        + _unknown(scored)
        + contradiction(estimates.overall)
        + (log_odds.left_out(frame) if _pieces_decide(measure, model.kind) else ())
        + (() if measure.baseline else low_accuracy(accuracy, measure)),
        shown=_main_extras(measure, estimates),
        verdicts={} if is_control(data.name) else _verdicts(measure, estimates, options),
        artifacts=_artifacts(scored, estimates.drawn, options),
    )


def _choices(
    frame: pd.DataFrame,
    scored: Scored,
    measure: Likelihood,
    data: Dataset,
    resampling: Resampling,
    samples: int,
) -> tuple[Estimates, pd.DataFrame]:
    """What a chat model chooses, and the frame with its replies."""
    replies = replied(frame, scored.token_frames, measure, data, samples)
    extras, notes = extras_of(replies, measure, resampling)
    estimates = preferences(replies.frame, ties=measure.ties, macro=False, resampling=resampling)
    notes += tied(estimates.ties, measure.ties)
    return without_declined(estimates, extras)._replace(notes=notes), replies.frame


def _chat(model: Model, measure: Likelihood) -> dict[str, Any]:
    """How a chat model was asked: the template's frame, labels, orders and wordings."""
    codec: Any = model.codec
    if measure.request:
        return {"chat": {**codec.chat.record, "request": measure.request}}
    if measure.question is None:
        return {}
    question = measure.question
    protocol = {"wordings": list(question.wordings), "orders": question.orders}
    return {"chat": {**codec.chat.record, **protocol}}


def _chat_notes(model: Model, measure: Likelihood) -> tuple[str, ...]:
    codec: Any = model.codec
    return codec.chat.notes if measure.request or measure.question is not None else ()


def sentence_vectors(
    model: Model, data: Dataset, measure: Likelihood, options: Options
) -> pd.DataFrame:
    """A vector for each sentence, in the order of items and labels [sentences, d]."""
    engine = model.vectors(budget=model.budget(options.tokens), store=options.store)
    texts = [text.string for item in data.items for text in item.texts.values()]
    requests = [VectorRequest(Mention(t, (0, len(t))), measure.pool) for t in texts]
    return pd.DataFrame(engine.embed(requests))


def of_items(comparison: ItemComparison, frame: pd.DataFrame) -> Estimates:
    """The estimates of a comparison by values of items."""
    settings: dict[str, Any] = {"random": "attributes"}
    if comparison.statistic:
        settings = {"statistic": comparison.statistic}
    settings |= {"sets": list(comparison.sets)} if comparison.sets else {}
    return Estimates(
        comparison.overall,
        comparison.by_category,
        comparison.extras,
        _equal_pairs(frame),
        judged=comparison.judged,
        settings=settings,
        notes=comparison.notes,
    )


def _equal_pairs(frame: pd.DataFrame) -> int:
    """How many items have the same score for their stereotype and their antistereotype."""
    first, second = (
        frame[frame.label == name].drop_duplicates("item").set_index("item").score
        for name in (STEREOTYPE, ANTISTEREOTYPE)
    )
    if not len(first) or not len(second):
        return 0
    first, second = first.align(second, join="inner")
    return int((first == second).sum())


def _verdicts(measure: Likelihood, estimates: Estimates, options: Options) -> dict[str, Any]:
    """Undecided verdicts by category; none for a baseline or for a value that is not judged."""
    if measure.baseline or not estimates.judged:
        return {}
    categories = [k for k, v in estimates.by_category.items() if v.ideal is not None]
    return undecided(categories, measure.compared, options.least)


def _main_extras(measure: Likelihood, estimates: Estimates) -> tuple[str, ...]:
    """The extras that belong beside the score."""
    return tuple(name for name in measure.shows if name in estimates.extras)


def _artifacts(scored: Scored, drawn: Floats | None, options: Options) -> dict[str, Any]:
    artifacts: dict[str, Any] = {}
    if "tokens" in options.keep:  # a row may need them too
        artifacts["tokens"] = joined_frames(scored.token_frames)
    if "samples" in options.keep and drawn is not None:
        artifacts["samples"] = drawn
    return artifacts


def _settings(
    measure: Likelihood, data: Dataset, scored: Scored, kind: Kind, resampling: Resampling
) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "seed": resampling.seed,
        "ties": measure.ties,
        "average": measure.average,
        "cluster": data.cluster,
        "stream": measure.stream,
        "queries": scored.queries,
        "rows": scored.rows,
    }
    settings |= {"samples": measure.samples} if measure.samples else {}
    settings |= {"in_sight": True} if measure.plans[kind] in IN_SIGHT else {}
    if _pieces_decide(measure, kind):
        settings["by_pieces"] = True
    if measure.compare == "preference" and measure.reduce_for(kind) in MARGINS:
        settings["margin"] = MARGINS[measure.reduce_for(kind)]
        settings["probabilities"] = measure.reduce_for(kind) in PROBABILITIES
    settings |= {"recheck": scored.checked} if scored.checked else {}
    settings |= {"products": scored.products} if scored.products else {}
    return settings | ({"deviation": measure.deviation} if measure.deviation else {})


def _sets(data: Dataset) -> dict[str, Any]:
    """The names of a template test's sides and attribute sets, as those of a word test."""
    by_side = {i.group: i.category for i in data.items}
    if data.shape != "templates" or not {"A", "B"} <= by_side.keys():
        return {}
    words = {side: dict.fromkeys(_words(data, side)) for side in "xy"}
    sides = data.about.get("sides") or [", ".join(list(w)[:3]) for w in words.values()]
    return {"sets": [*sides, by_side["A"], by_side["B"]]}


def _words(data: Dataset, side: str) -> list[str]:
    """The target words of a side, as they first stand."""
    labels = (label for item in data.items for label in item.texts)
    return [label[2:] for label in labels if label.startswith(f"{side}:")]


def _unknown(scored: Scored) -> tuple[str, ...]:
    share = 100 * scored.unknown / max(scored.content, 1)
    if share < MANY_UNKNOWN:
        return ()
    return (f"{share:.0f} % of the tokens are unknown to the tokenizer.",)


def tied(ties: int, rule: Ties) -> tuple[str, ...]:
    """A note on ties and how they count."""
    rules = {"strict": "as not stereotypical", "half": "a half", "drop": "not at all"}
    if not ties:
        return ()
    items = counted(ties, "item is a tie", "items are ties")
    return (f"{items}, which count{'s' if ties == 1 else ''} {rules[rule]}.",)


def low_accuracy(accuracy: Estimate | None, measure: Likelihood) -> tuple[str, ...]:
    """A note where a model predicts hardly any of the tokens that a measure asks for."""
    preference = measure.compare == "preference"
    if accuracy is None or accuracy.value >= LOW_ACCURACY or not preference:
        return ()
    return (
        f"the model predicts only {accuracy.value:.1f} % of the queried tokens, so its preference "
        "for one sentence over the other means little.",
    )


def sentence_frame(
    model: Model,
    measure: Likelihood,
    data: Dataset,
    scored: Scored,
    about: SentenceFacts | None = None,
) -> pd.DataFrame:
    """One row for each sentence: its score, prior, tokens asked for and tokens hit."""
    columns = {
        "score": scored.score,
        "prior": scored.prior,
        "tokens": scored.tokens,
        "hits": scored.hits,
        "reason": _reasons(data, scored.reasons),
    }
    frame = sentence_rows(model.name, measure.name, data, columns, about)
    if measure.empty == "kept":  # published code counts a NaN as lost
        return frame
    not_finite = frame.reason.isna().to_numpy() & ~np.isfinite(frame["score"].to_numpy(float))
    if not_finite.any():
        items = frame["item"]
        frame.loc[items.isin(items[not_finite]), "reason"] = "a score is not finite"
    return frame


def _reasons(data: Dataset, reasons: Mapping[str, str]) -> list[str | None]:
    """For each sentence why its item could not be asked, or None."""
    if not reasons:
        return [None] * sum(len(item.texts) for item in data.items)
    return [reasons.get(item.id) for item in data.items for _ in item.texts]


def _templates(data: Dataset, values: Mapping[str, float]) -> Variance | None:
    """The variance that other templates would add; None unless every word is in all of them."""
    halves = []
    for side in ("A", "B"):
        items = [i for i in data.items if i.group == side and i.id in values and i.template]
        facts = [(i.cluster, i.template, values[i.id]) for i in items]
        table = pd.DataFrame(facts, columns=["word", "template", "value"])
        halves.append(table.pivot_table(index="word", columns="template", values="value"))
    if any(t.empty or t.isna().to_numpy().any() for t in halves):
        return None
    paired = list(halves[0].columns) == list(halves[1].columns)
    first, second = (t.to_numpy(float) for t in halves)
    return template_variance(first, second, paired=paired)


def accuracy_of(
    items: pd.DataFrame,
    resampling: Resampling,
    about: SentenceFacts | None = None,
    gold: Ints | None = None,
) -> Estimate | None:
    """Token prediction accuracy in per cent, over clusters, from an items table.

    The unrelated sentence of a triplet does not count. With `gold`, the tokens that were asked
    for, `more["constant"]` is what always predicting the most frequent of them would give.
    """
    cluster, design = (SentenceFacts(items) if about is None else about).clusters
    related = items.label.to_numpy(object) != UNRELATED
    counts = (related * np.nan_to_num(items[k].to_numpy(float)) for k in ("tokens", "hits"))
    tries, hits = (np.bincount(cluster, weights=count).astype(float) for count in counts)
    positives = tries > 0
    if not positives.any():
        return None
    estimate = ratio(hits[positives], tries[positives], design.chosen(positives), resampling)
    if gold is None or not len(gold):
        return estimate
    times = np.bincount(gold)
    constant = 100 * float(times.max()) / len(gold)
    distinct = int(np.count_nonzero(times))
    return replace(estimate, more={**estimate.more, "constant": constant, "distinct": distinct})


def _preferences(
    frame: pd.DataFrame,
    data: Dataset,
    measure: Likelihood,
    kind: Kind,
    resampling: Resampling,
    about: SentenceFacts | None = None,
) -> Estimates:
    settings = {
        "ties": measure.ties,
        "average": measure.average,
        "probabilities": measure.reduce_for(kind) in PROBABILITIES,
    }
    estimates = estimates_of(frame, measure.compared, settings, resampling, about)
    if "likelihood_diff" in measure.shows:
        mean = mean_difference(frame, resampling)
        return estimates._replace(extras={**estimates.extras, "likelihood_diff": mean})
    return estimates


def estimates_of(
    items: pd.DataFrame,
    scale: ScaleName,
    settings: Mapping[str, Any],
    resampling: Resampling,
    about: SentenceFacts | None = None,
) -> Estimates:
    """The estimates of an items table of pairs, by the settings of a result.

    Scores are rounded only if the settings have `decimals`.
    """
    decimals = settings.get("decimals")
    if decimals is not None:
        items = items.assign(score=items.score.round(int(decimals)))
    estimates = preferences(
        items,
        ties=settings.get("ties", "strict"),
        macro=settings.get("average") == "macro",
        probabilities=bool(settings.get("probabilities")),
        resampling=resampling,
        about=about,
    )
    return estimates if SCALES[scale].share else as_factors(estimates)


def as_factors(estimates: Estimates) -> Estimates:
    """Preferences whose number is the mean margin, with the share of pairs beside it."""
    extras = dict(estimates.extras)
    if "margin" not in extras:
        raise DataError("no item has a finite margin; the model's scores are broken.")
    categories = {}
    for name, share in estimates.by_category.items():
        if (margin := extras.pop(f"margin:{name}", None)) is not None:
            categories[name] = _in_nats(margin)
            extras[f"score:{name}"] = share
    overall = _in_nats(extras.pop("margin"))
    return Estimates(overall, categories, {**extras, "score": estimates.overall}, estimates.ties)


def _in_nats(margin: Estimate) -> Estimate:
    """Convert the minimum detectable effect of a mean margin from points to nats."""
    if "mde" not in margin.more:
        return margin
    nats = margin.more["spread"] * float(ndtri(0.5 + margin.more["mde"] / 100))
    return replace(margin, more={**margin.more, "mde": nats})


def preferences(
    frame: pd.DataFrame,
    *,
    ties: Ties,
    macro: bool,
    resampling: Resampling,
    probabilities: bool = False,
    about: SentenceFacts | None = None,
) -> Estimates:
    """Share of items whose stereotypical sentence scores higher, over all and by category.

    Scores are log-probabilities, or `probabilities`; `about` is what is known of these rows.

    For triplets lms and icat come with it, by category as `lms:CATEGORY`.
    """
    rows = frame.reason.isna().to_numpy()
    layout = Layout.of(frame, rows) if about is None else about.layout(rows)
    table = layout.table(frame["score"].to_numpy()[rows])
    model = Preferences(
        table,
        layout.design,
        ties=ties,
        macro=macro,
        probabilities=probabilities,
        resampling=resampling,
    )
    extras = model.estimates()
    overall = extras.pop("score")
    categories = {}
    for name, mask in layout.categories.items():
        if not (mask & model.mask).any():  # all are dropped ties
            continue
        in_category = model.estimates(mask)
        categories[name] = in_category.pop("score")
        extras |= {f"{key}:{name}": value for key, value in in_category.items()}
    count = int((table[STEREOTYPE] == table[ANTISTEREOTYPE]).sum())
    return Estimates(overall, categories, extras, count)


def _halves(data: Dataset, values: Mapping[str, float]) -> dict[str, log_odds.Half]:
    """The log-odds of both attribute sets, and the words they are of; A first."""
    halves: dict[str, log_odds.Half] = {}
    for side in ("A", "B"):
        items = [i for i in data.items if i.group == side]
        subset = [i for i in items if i.id in values]
        of = lexemes(i.cluster for i in subset)
        scores = np.array([values[i.id] for i in subset])
        halves[items[-1].category] = (scores, [of[i.cluster] for i in subset])
    return halves


def _log_odds(
    frame: pd.DataFrame, data: Dataset, measure: Likelihood, kind: Kind, resampling: Resampling
) -> Estimates:
    """Effect size between the two attribute sets of the log-odds of the two target sides."""
    by_piece = _pieces_decide(measure, kind)
    values = (log_odds.by_pieces if by_piece else log_odds.by_item)(frame)
    overall, means, drawn = log_odds.summarise(
        _halves(data, values),
        samples=measure.samples,
        published=measure.published_p,
        templates=_templates(data, values),
        resampling=resampling,
    )
    extras = {f"log_odds:{name}": mean for name, mean in means.items()}
    ratio = _ratio(frame, data, measure, kind, resampling)
    return Estimates(overall, {}, extras | {"odds": ratio}, 0, drawn)


def _odds(
    frame: pd.DataFrame, data: Dataset, measure: Likelihood, kind: Kind, resampling: Resampling
) -> Estimates:
    """The odds ratio between two attribute sets, in its logarithm; the effect size beside it."""
    estimates = _log_odds(frame, data, measure, kind, resampling)
    extras = {**estimates.extras, "effect_size": estimates.overall}
    return estimates._replace(overall=extras.pop("odds"), extras=extras)


def _ratio(
    frame: pd.DataFrame, data: Dataset, measure: Likelihood, kind: Kind, resampling: Resampling
) -> Estimate:
    """The odds ratio from log-odds without a prior, which would be similar for both sets."""
    plain = frame.assign(prior=np.nan)
    values = (log_odds.by_pieces if _by_pieces(measure, kind) else log_odds.by_item)(plain)
    (a, a_words), (b, b_words) = _halves(data, values).values()
    words = by_words(a, b, a_words, b_words)
    return log_odds.odds_ratio(words, _templates(data, values), resampling)


def _pieces_decide(measure: Likelihood, kind: Kind) -> bool:
    return measure.compare == "odds" and _by_pieces(measure, kind)


def _by_pieces(measure: Likelihood, kind: Kind) -> bool:
    """Whether only words with equally many tokens are compared, as for masked models."""
    return kind != "causal" and not measure.variant_of

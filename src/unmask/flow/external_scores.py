"""Bring your own scores: sentence scores made elsewhere, with unmask's results and statistics."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from unmask.answer.answer import with_verdicts
from unmask.answer.fitness import assessed
from unmask.answer.verdict import undecided
from unmask.data import catalogue
from unmask.data.readers import harness
from unmask.data.readers.table import read_json, read_table
from unmask.errors import DataError, NotApplicable
from unmask.flow.estimates import Estimates, estimates_of, of_items, tied
from unmask.flow.group_comparisons import VALUED
from unmask.flow.item_comparisons import valued_columns
from unmask.flow.items_table import data_facts, sentence_rows
from unmask.measures import Likelihood, find
from unmask.measures.reduce import LOWER_IS_LIKELIER, PROBABILITIES
from unmask.options import Resampling, Spec, Threshold
from unmask.queries import LOGP_TOLERANCE
from unmask.stats.intervals import DEFAULTS
from unmask.stats.preference import Ties
from unmask.support.wording import counted
from unmask.types import (
    ANTISTEREOTYPE,
    STEREOTYPE,
    UNRELATED,
    Contrast,
    Coverage,
    Dataset,
    Kind,
    Result,
    ScaleName,
)

_CROWS = {"stereotype": "sent_more", "antistereotype": "sent_less"}


def score_file(
    path: Path,
    data: str,
    *,
    name: str | None = None,
    measure: str | None = None,
    cluster: str | None = None,
    resampling: Resampling = DEFAULTS,
    least: Threshold = Threshold(),
) -> Result:
    """A result from a file of sentence scores.

    JSON as the StereoSet authors' predictions (`{"intrasentence": [{"id", "score"}]}`), or CSV,
    JSON lines or parquet with `id` and `score`. A sentence's id is the data set's own, or
    `ITEM/LABEL` (for CrowS-Pairs also `ITEM/sent_more`). Triplets are averaged over target terms.
    Scores of CrowS-Pairs that lm-evaluation-harness logged, or that its authors' metric.py wrote,
    are matched by their sentences. A log of inspect's StereoSet has choices: an item counts if the
    stereotype or the antistereotype was chosen, by most epochs if there are several. The scores are
    compared as those of `measure` are, such as `lmb@barikeri2021` for perplexities; without it as a
    preference.
    """
    dataset = catalogue.sentences(data, cluster=cluster)
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}; give a file of sentence scores.")
    choices = harness.is_inspect(path)
    if choices:
        dataset = _without_filler(dataset)
    scores, rows = _from_choices(path, dataset) if choices else read_scores(path, dataset)
    frame = _frame(dataset, scores, name or path.stem)
    _check_found(frame, dataset, scores, path)
    if measure is None and not {STEREOTYPE, ANTISTEREOTYPE} <= {*dataset.items[0].texts}:
        raise DataError(
            f"{data!r} has no pairs ({dataset.shape}), so scores alone show no preference; name "
            "the measure that produced the scores with -x."
        )
    row = None if measure is None else _row(measure, dataset)
    rule: Ties = "drop" if choices else "half" if row is None else row.ties
    result = _result(path, dataset, frame, row, rule, rows, resampling, least)
    return with_verdicts(assessed([result]))[0]


def _result(
    path: Path,
    dataset: Dataset,
    frame: pd.DataFrame,
    row: Likelihood | None,
    rule: Ties,
    rows: int,
    resampling: Resampling,
    least: Threshold,
) -> Result:
    """Build a result from the scores in a frame, compared as by `row` or as shares of pairs.

    `rows` scores of the file do not belong to the data.
    """
    missing = frame.loc[frame.reason.notna(), "item"].nunique()
    scored = len(dataset.items) - missing
    if row is not None:
        _check_range(frame, row, next(iter(row.kinds)), path)
        frame = frame.assign(measure=row.name)
    if row is not None and row.compare in VALUED:
        estimates, frame = _by_value(frame, row, resampling)
        shown = row.shows
    else:
        estimates = _by_preference(frame, row, rule, dataset, resampling)
        if estimates.ties == scored:
            raise DataError(
                f"all {scored} scored items in {path} are ties, so there is no preference to "
                "measure; check how the scores were computed."
            )
        shown = ("lms", "deviation", "icat")
    compared: ScaleName = "preference" if row is None else row.compared
    judged = [k for k, v in estimates.by_category.items() if v.ideal is not None]
    return Result(
        spec=Spec(str(frame.model.iloc[0]), row.name if row else "scores", dataset.name),
        compared=compared,
        overall=estimates.overall,
        by_category=estimates.by_category,
        extras=estimates.extras,
        accuracy=None,
        coverage=Coverage(
            items=len(dataset.items),
            scored=scored,
            ties=estimates.ties,
            reasons=_reasons(frame),
            unused=rows,
        ),
        settings={"seed": resampling.seed, "cluster": dataset.cluster, **estimates.settings},
        notes=(
            *dataset.about.get("notes", ()),
            *_foreign(rows, dataset.name),
            *estimates.notes,
            *_losses(frame),
        ),
        provenance={
            "file": path.name,
            "data": data_facts(dataset),
            "measure": {"cite": list(row.cite) if row else []},
        },
        items=frame,
        shown=tuple(k for k in shown if k in estimates.extras),
        verdicts=undecided(judged, compared, least) if estimates.judged else {},
    )


def _by_preference(
    frame: pd.DataFrame,
    row: Likelihood | None,
    rule: Ties,
    dataset: Dataset,
    resampling: Resampling,
) -> Estimates:
    """The estimates of scores that are compared as shares of pairs, or as factors."""
    average = "macro" if dataset.shape == "triplets" else "micro"
    settings: dict[str, Any] = {"ties": rule, "decimals": None, "average": average}
    if row is not None:
        settings |= {"decimals": row.decimals, "average": row.average}
        settings["probabilities"] = row.reduce_for(next(iter(row.kinds))) in PROBABILITIES
    compared: ScaleName = "preference" if row is None else row.compared
    estimates = estimates_of(frame, compared, settings, resampling)
    return estimates._replace(settings=settings, notes=tied(estimates.ties, rule))


def _by_value(
    frame: pd.DataFrame, row: Likelihood, resampling: Resampling
) -> tuple[Estimates, pd.DataFrame]:
    """The estimates of a measure with a number of its own, and the items with their values."""
    frame = frame.assign(prior=math.nan)
    comparison = VALUED[row.compare](frame, row, next(iter(row.kinds)), resampling, ())
    estimates = of_items(comparison, frame)
    settings = {"decimals": None, **estimates.settings}
    return estimates._replace(settings=settings), valued_columns(frame, comparison)


def _row(name: str, data: Dataset) -> Likelihood:
    """The measure whose scores a file has; one that needs more than scores is refused."""
    row = find(name)
    if not isinstance(row, Likelihood) or row.answers or data.shape not in row.shapes:
        raise NotApplicable(
            f"{name!r} cannot be computed from one score per sentence of {data.name!r} "
            f"({data.shape}); leave -x out to score a preference, or use 'lmb' or 'gest' for pairs."
        )
    if row.prior or row.compare not in {*VALUED, "preference", "factor"}:
        raise NotApplicable(
            f"{name!r} needs priors, which a file of scores does not contain; leave -x out."
        )
    return row


def _check_range(frame: pd.DataFrame, row: Likelihood, kind: Kind, path: Path) -> None:
    """Raise if a score is outside the range that the measure can have."""
    scores = frame.loc[frame.reason.isna(), "score"]
    reduce = row.reduce_for(kind)
    if reduce in LOWER_IS_LIKELIER:
        invalid, allowed = (
            scores[(scores < 1) & (scores != 0)],
            "perplexities, which are at least 1",
        )
    elif reduce in PROBABILITIES:
        invalid, allowed = (
            scores[(scores < 0) | (scores > 1)],
            "probabilities, which are from 0 to 1",
        )
    elif row.compare == "sides":  # a difference of two scores is enough
        return
    else:
        invalid = scores[scores > LOGP_TOLERANCE]
        allowed = "means or sums of log-probabilities, which are at most 0"
    if len(invalid):
        raise DataError(
            f"{path} has {len(invalid):,} scores such as {invalid.iloc[0]:g}, but {row.name!r} "
            f"takes {allowed}; reverse the sign of losses, or leave -x out."
        )


def _check_found(
    frame: pd.DataFrame, data: Dataset, scores: Mapping[str, float], path: Path
) -> None:
    """Refuse a file in which no item has a finite score, with the reason."""
    if frame.reason.isna().any():
        return
    if (frame.reason == "a score is not finite").any():
        raise DataError(
            f"no item of {data.name!r} has finite scores in {path}; check how they were computed."
        )
    if not scores:
        raise DataError(f"no answer in {path} could be read; check the log.")
    example = next(iter(_ids(data.items[0]).values()))
    raise DataError(
        f"no id in {path} belongs to {data.name!r}: the ids of the data look like {example!r}, "
        f"those in the file like {next(iter(scores))!r}."
    )


def _losses(frame: pd.DataFrame) -> tuple[str, ...]:
    """A note on scores that look like losses, which would reverse every preference."""
    scores = frame.loc[frame.reason.isna(), "score"]
    if not (scores >= 0).all() or not (scores > 1).any():
        return ()
    return (
        "all scores are positive and some exceed 1, so they may be losses. Higher scores are "
        "treated as more likely; reverse the sign of losses.",
    )


def _foreign(count: int, name: str) -> tuple[str, ...]:
    """A note on scores in the file that match no item."""
    return (
        (
            f"{counted(count, 'score', 'scores')} in the file for items that are not in "
            f"{name}; not used.",
        )
        if count
        else ()
    )


def _reasons(frame: pd.DataFrame) -> dict[str, int]:
    """Why items could not be scored, with how many."""
    by_item = frame[frame.reason.notna()].drop_duplicates("item")
    return {str(k): int(v) for k, v in by_item.reason.value_counts().items()}


def _without_filler(data: Dataset) -> Dataset:
    """Turn triplets into pairs: a choice gives no score to the unrelated sentence."""
    labels = (STEREOTYPE, ANTISTEREOTYPE)
    items = (
        replace(i, texts={k: i.texts[k] for k in labels if k in i.texts}, meta=_pair_ids(i.meta))
        for i in data.items
    )
    return replace(data, shape="pairs", items=tuple(items))


def _pair_ids(meta: Mapping[str, Any]) -> dict[str, Any]:
    ids = {k: v for k, v in meta.get("ids", {}).items() if k != UNRELATED}
    return {**meta, "ids": ids} if ids else dict(meta)


def _from_choices(path: Path, data: Dataset) -> tuple[dict[str, float], int]:
    """How often each sentence was chosen, by its id; and the items that are not of the data."""
    shares = harness.inspect_shares(path)
    ids = {item.id for item in data.items}
    if not shares.keys() & ids:
        raise DataError(f"no sample in {path} is from {data.name!r}; name its data set with -d.")
    return {
        name: shares[item.id].get(label, 0.0)
        for item in data.items
        if shares.get(item.id)
        for label, name in _ids(item).items()
    }, len(shares.keys() - ids)


def _by_sentences(
    path: Path, rows: list[dict[str, Any]], data: Dataset
) -> tuple[dict[str, float], int]:
    """Scores by id of pairs that are found by their sentences; how many are not of the data."""
    pairs = harness.sentence_pairs(rows, path)
    scores: dict[str, float] = {}
    matched = set()
    for item in data.items:
        first, second = (item.texts[k].string.strip() for k in (STEREOTYPE, ANTISTEREOTYPE))
        ids = [_ids(item)[k] for k in (STEREOTYPE, ANTISTEREOTYPE)]
        scores |= dict(zip(ids, pairs.get((first, second), ()), strict=False))
        matched.add((first, second))
    if not scores:
        raise DataError(f"no sentence in {path} is from {data.name!r}; name its data set with -d.")
    return scores, len(pairs.keys() - matched)


def read_scores(path: Path, data: Dataset) -> tuple[dict[str, float], int]:
    """Read sentence scores by id (a harness' by sentence), and count those outside the data."""
    rows = _rows(path)
    if harness.has_sentences(rows):
        return _by_sentences(path, rows, data)
    scores: dict[str, float] = {}
    for number, row in enumerate(rows, 1):
        name = str(row["id"])
        if name in scores:
            raise DataError(
                f"{path} has the id {name!r} twice; keep one row of each sentence, with ids "
                f"such as {next(iter(_ids(data.items[0]).values()))!r}."
            )
        try:
            scores[name] = float(row["score"])
        except (TypeError, ValueError, OverflowError) as error:
            reason = str(error)[:60]
            raise DataError(
                f"{path}, row {number} has a score that is not a number ({reason}); fix that row."
            ) from error
    if not scores:
        raise DataError(f"{path} has no scores in it; give a file with 'id' and 'score'.")
    ids = {i for item in data.items for i in _ids(item).values()}
    ids |= {i for item in data.items for i in _ids(item, _CROWS).values()}
    return scores, len(scores.keys() - ids)


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix != ".json":
        rows = read_table(path, [])
        return rows if harness.has_sentences(rows) else read_table(path, ["id", "score"])
    if not path.read_bytes().strip():
        raise DataError(f"{path} is empty; give a file with 'id' and 'score'.")
    content = read_json(path)
    lists = content.values() if isinstance(content, dict) else [content]
    rows = [row for part in lists if isinstance(part, list) for row in part]
    if not all(isinstance(r, dict) and {"id", "score"} <= r.keys() for r in rows):
        excerpt = json.dumps(rows[0])[:60] if rows else "nothing"
        raise DataError(f"{path} should hold rows with 'id' and 'score'; it holds {excerpt}.")
    return rows


def _ids(item: Contrast, names: Mapping[str, str] | None = None) -> dict[str, str]:
    """The id of each of an item's sentences, by label."""
    if "ids" in item.meta:
        return dict(item.meta["ids"])
    return {label: f"{item.id}/{(names or {}).get(label, label)}" for label in item.texts}


def _frame(data: Dataset, scores: Mapping[str, float], name: str) -> pd.DataFrame:
    column: list[float | None] = []
    reasons: list[str | None] = []
    for item in data.items:
        ids, crows_ids = _ids(item), _ids(item, _CROWS)
        values = [scores.get(ids[k], scores.get(crows_ids[k])) for k in item.texts]
        finite = all(math.isfinite(v) for v in values if v is not None)
        reason = None if finite else "a score is not finite"
        reasons += ["no score in the file" if None in values else reason] * len(values)
        column += values
    return sentence_rows(name, "scores", data, {"score": column, "reason": reasons})

"""Unmasking the Mask (Kaneko and Bollegala 2022): its claims."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from unmask.answer.items import Items
from unmask.stats.agreement import auc_difference
from unmask.stats.clustering import codes
from unmask.studies import frequency
from unmask.studies.papers.claims import (
    ABSENT,
    FAILS,
    HOLDS,
    OPEN,
    SEVERAL,
    SURE,
    Claim,
    Finding,
    PrintedClaim,
    jackknifed,
    positive,
    stated,
)
from unmask.studies.papers.kaneko2022_tables import (
    ALL_PLACES,
    AS_RELEASED,
    MAJORITY,
    SHUFFLED,
    TABLE5,
    KanekoRun,
)
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Estimate, Floats, Result

MASKS = "the claim is about measures that a causal model does not have"


def _sums(parts: Sequence[pd.DataFrame]) -> Floats:
    """Sum the columns of item tables by cluster [clusters, columns]."""
    clusters = parts[0].cluster
    joined = pd.concat([p.drop(columns="cluster") for p in parts], axis=1).fillna(0.0)
    values, cluster = joined.to_numpy(float), codes(clusters.loc[joined.index].to_numpy(str))
    columns = (values[:, k] for k in range(values.shape[1]))
    return np.stack([np.bincount(cluster, weights=column) for column in columns], 1)


def _hits(result: Result) -> pd.DataFrame:
    by = result.items.groupby("item", sort=False)
    sums = {"hits": by.hits.sum(), "tokens": by.tokens.sum()}
    return pd.DataFrame({**sums, "cluster": by.cluster.first().astype(str)})


def _wins(result: Result) -> pd.DataFrame:
    table = Items(result).scores()
    first = result.items.drop_duplicates("item").set_index("item")
    won = (table[STEREOTYPE] > table[ANTISTEREOTYPE]).astype(float)
    return pd.DataFrame(
        {"won": won, "n": 1.0, "cluster": first.cluster.loc[table.index].astype(str)}
    )


def _shares(sums: Floats) -> Floats:
    """The second share less the first, in points: columns are hits and tries of both."""
    return np.asarray(100 * (sums[..., 2] / sums[..., 3] - sums[..., 0] / sums[..., 1]))


def _more(first: Result | None, second: Result | None, read: Any) -> Estimate | None:
    """How much higher the share of the second is, clusters left out in turn."""
    if first is None or second is None:
        return None
    left, right = read(first), read(second)
    shared = left.index.intersection(right.index)
    return jackknifed(_sums([left.loc[shared], right.loc[shared]]), _shares)


def _rise(table: str, first: int, second: int) -> Any:
    """Build the paper's side of a claim that the second of two printed numbers is higher."""

    def paper(run: KanekoRun) -> PrintedClaim:
        values = run.values[table]
        text = "; ".join(f"{m} {v[first]:.2f} to {v[second]:.2f}" for m, v in values.items())
        return stated(text, [v[second] - v[first] for v in values.values()])

    return paper


def _accuracy(old: str, data: str) -> Any:
    def check(run: KanekoRun, model: str) -> Finding:
        if run.causal(model):
            return Finding(MASKS, ABSENT)
        before, new = (run.results.get((model, AS_RELEASED[m], data)) for m in (old, "aul"))
        return positive(_more(before, new, _hits), "higher by", "points")

    return check


def _low_sss(run: KanekoRun, model: str) -> Finding:
    if run.causal(model):
        return Finding(MASKS, ABSENT)
    sss = _sums([_hits(run.results[model, AS_RELEASED["sss"], "stereoset"])])
    cps = _sums([_hits(run.results[model, AS_RELEASED["cps"], "crows-pairs"])])
    padded = [np.pad(sss, ((0, 0), (0, 2))), np.pad(cps, ((0, 0), (2, 0)))]  # no item is in both
    return positive(jackknifed(np.concatenate(padded), _shares), "lower by", "points")


def _drops(place: int) -> Any:
    """How far the accuracy falls in the paper's Table 4."""

    def paper(run: KanekoRun) -> PrintedClaim:
        drops = {m: v[place] for m, v in run.values["table4_drops"].items()}
        return stated("; ".join(f"{m} {v:.2f}" for m, v in drops.items()), drops.values())

    return paper


def _dropped(data: str, control: str) -> Any:
    def check(run: KanekoRun, model: str) -> Finding:
        causal = run.causal(model)
        plain = run.results.get((model, "ll" if causal else ALL_PLACES, data))
        tokens = control == "shuffled" and not causal
        key = (SHUFFLED, data) if tokens else ("ll" if causal else ALL_PLACES, f"{data}:{control}")
        return positive(_more(run.results.get((model, *key)), plain, _hits), "drops by", "points")

    return check


def _sides(run: KanekoRun, model: str, measures: Sequence[str]) -> Floats:
    """Preferences and items by cluster: of each measure for both sides of CrowS-Pairs."""
    columns = []
    for measure in measures:
        result = run.results[model, measure, "crows-pairs:direction"]
        part = _wins(result)[["won", "n", "cluster"]]
        sides = result.items.drop_duplicates("item").set_index("item").category
        for side in frequency.SIDES:
            weight = (sides.loc[part.index] == side).astype(float)
            columns.append(part.assign(won=part.won * weight, n=part.n * weight))
    return _sums(columns)


def _gap(measure: str) -> Any:
    def check(run: KanekoRun, model: str) -> Finding:
        if run.causal(model):
            return Finding(MASKS, ABSENT)
        sums = _sides(run, model, ("all-masked", measure))
        gaps = _gaps(sums.sum(0))
        finding = positive(jackknifed(sums, _smaller), "smaller by", "points")
        return replace(finding, here=f"{gaps[0]:.1f} to {gaps[1]:.1f}, {finding.here}")

    return check


def _stated_gap(place: int) -> Any:
    def paper(run: KanekoRun) -> PrintedClaim:
        values = run.values["table3"]
        text = "; ".join(f"{m} {v[2]:.2f} to {v[3 * place + 2]:.2f}" for m, v in values.items())
        return stated(text, [v[2] - v[3 * place + 2] for v in values.values()])

    return paper


def _one_side(side: int, sign: int) -> tuple[Any, Any]:
    """With all tokens masked one side has a higher (or lower) score than by AUL."""

    def paper(run: KanekoRun) -> PrintedClaim:
        values = run.values["table3"]
        text = "; ".join(f"{m} {v[side]:.2f}, AUL {v[3 + side]:.2f}" for m, v in values.items())
        return stated(text, [sign * (v[side] - v[3 + side]) for v in values.values()])

    def check(run: KanekoRun, model: str) -> Finding:
        if run.causal(model):
            return Finding(MASKS, ABSENT)
        sums = _sides(run, model, ("all-masked", "aul"))
        sums = sums[:, [2 * side, 2 * side + 1, 4 + 2 * side, 5 + 2 * side]]
        word = "higher by" if sign > 0 else "lower by"
        return positive(jackknifed(sums, lambda s: -sign * _shares(s)), word, "points")

    return paper, check


def _gaps(sums: Floats) -> tuple[Floats, Floats]:
    share = [sums[..., 2 * k] / sums[..., 2 * k + 1] for k in range(4)]
    return 100 * np.abs(share[0] - share[1]), 100 * np.abs(share[2] - share[3])


def _smaller(sums: Floats) -> Floats:
    old, new = _gaps(sums)
    return np.asarray(old - new)


def _farther(sums: Floats) -> Floats:
    """How much farther from 50 the second share is than the first, in points."""
    first, second = (100 * sums[..., 2 * k] / sums[..., 2 * k + 1] for k in (0, 1))
    return np.asarray(np.abs(second - 50) - np.abs(first - 50))


def _overestimates(old: str, new: str, data: str) -> tuple[Any, Any]:
    place = 0 if data == "crows-pairs" else 3
    beside = place + ("aul", "aula").index(new) + 1

    def paper(run: KanekoRun) -> PrintedClaim:
        values = run.values["table5"]
        text = "; ".join(
            f"{m} {v[place]:.2f}, {new.upper()} {v[beside]:.2f}" for m, v in values.items()
        )
        return stated(text, [abs(v[place] - 50) - abs(v[beside] - 50) for v in values.values()])

    def check(run: KanekoRun, model: str) -> Finding:
        if run.causal(model):
            return Finding(MASKS, ABSENT)
        left, right = (_wins(run.results[model, m, data]) for m in (new, old))
        shared = left.index.intersection(right.index)
        estimate = jackknifed(_sums([left.loc[shared], right.loc[shared]]), _farther)
        return positive(estimate, "farther from 50 by", "points")

    return paper, check


def _stated_scores(run: KanekoRun) -> PrintedClaim:
    values = [v for row in run.values["table5"].values() for v in row]
    text = f"{sum(v > 50 for v in values)} of {len(values)} scores are above 50 "
    return stated(f"{text}({min(values):.2f} to {max(values):.2f})", [v - 50 for v in values])


def _all_biased(run: KanekoRun, model: str) -> Finding:
    by_data = {d: ["ll"] for d in TABLE5} if run.causal(model) else TABLE5
    scores = [run.results[model, m, d].overall for d, measures in by_data.items() for m in measures]
    above, below = sum(e.low > 50 for e in scores), sum(e.high < 50 for e in scores)
    word = HOLDS if above == len(scores) else FAILS if below else OPEN
    text = f"{above} of {len(scores)} intervals lie above 50"
    return Finding(text + (f", {below} below" if below else ""), word)


def _pictured(run: KanekoRun) -> PrintedClaim:
    return PrintedClaim("only a figure of BERT's curves; the text states a higher agreement")


def _area_gap(run: KanekoRun, model: str, old: str, new: str) -> Estimate:
    """How much greater the second measure's area is."""
    left, right = (
        Items(run.results[model, m, "crows-pairs"]).margins().dropna() for m in (old, new)
    )
    shared = sorted(set(left.index) & set(right.index))
    items = run.results[model, new, "crows-pairs"].items
    clusters = items.drop_duplicates("item").set_index("item").cluster.loc[shared]
    labels = np.array([float(run.agreement[i] >= MAJORITY) for i in shared])
    scores = (left.loc[shared].to_numpy(), right.loc[shared].to_numpy())
    return auc_difference(labels, *scores, clusters.to_numpy(str))


def _agrees(new: str, old: str) -> Any:
    def check(run: KanekoRun, model: str) -> Finding:
        if run.causal(model):
            return Finding(MASKS, ABSENT)
        return positive(_area_gap(run, model, old, new), "area greater by")

    return check


def _not_always(run: KanekoRun, model: str) -> Finding:
    """CPS has a smaller area than SSS on some model."""
    masked = [m for m in run.models if not run.causal(m)]
    if len(masked) < 2:
        return Finding("at least two models are needed", SEVERAL)
    gaps = [_area_gap(run, m, "sss", "cps") for m in masked]
    smaller, greater = sum(g.high < 0 for g in gaps), sum(g.low > 0 for g in gaps)
    word = HOLDS if smaller else FAILS if greater == len(gaps) else OPEN
    return Finding(f"greater in {greater}, smaller in {smaller} of {len(gaps)} models", word)


def _stated_ranks(run: KanekoRun) -> PrintedClaim:
    values = list(run.values["table2"].values())
    printed = frequency.overall_p(frequency.printed_strata())
    lower = sum(a < d for a, d in values)
    text = f"lower mean ranks in {lower} of {len(values)} bias types; p of its order {printed:.3f}"
    return PrintedClaim(text, OPEN if printed >= SURE else HOLDS)


def _frequent(run: KanekoRun, model: str) -> Finding:
    if run.counts is None:
        return Finding("no corpus was given (--corpus)", "needs a corpus")
    p = frequency.overall_p(frequency.strata(run.counts))
    ranks = frequency.ranks(run.counts)
    higher = int((ranks.advantaged < ranks.disadvantaged).sum())
    most = 2 * higher > len(ranks)
    word = OPEN if p >= SURE else HOLDS if most else FAILS
    return Finding(f"lower mean ranks in {higher} of {len(ranks)} bias types", word, p)


ACCURACY = "Token Prediction Accuracy, Table 1"
FREQUENCY, MEANING = "Word Frequency and Social Biases", "Meaningful Associations and AUL, Table 4"
SCORES, PEOPLE = "Biases in MLMs, Table 5", "Biases in MLMs, Figure 1"
CLAIMS = (
    Claim(
        "AUL predicts its queried tokens correctly more often than CPS does",
        ACCURACY,
        _rise("table1", 0, 1),
        _accuracy("cps", "crows-pairs"),
    ),
    Claim(
        "AUL predicts its queried tokens correctly more often than SSS does",
        ACCURACY,
        _rise("table1", 2, 3),
        _accuracy("sss", "stereoset"),
    ),
    Claim(
        "SSS's accuracy is the lowest: below that of CPS",
        ACCURACY,
        _rise("table1", 2, 0),
        _low_sss,
    ),
    Claim(
        "Words of advantaged groups are more frequent",
        f"{FREQUENCY}, Table 2",
        _stated_ranks,
        _frequent,
    ),
    Claim(
        "With all tokens masked, advantaged groups have higher scores than under AUL",
        f"{FREQUENCY}, Table 3",
        *_one_side(0, 1),
    ),
    Claim(
        "With all tokens masked, disadvantaged groups have lower scores than under AUL",
        f"{FREQUENCY}, Table 3",
        *_one_side(1, -1),
    ),
    Claim(
        "Advantaged and disadvantaged groups differ less under AUL than with all tokens masked",
        f"{FREQUENCY}, Table 3",
        _stated_gap(1),
        _gap("aul"),
    ),
    Claim(
        "Advantaged and disadvantaged groups differ less under AULA than with all tokens masked",
        f"{FREQUENCY}, Table 3",
        _stated_gap(2),
        _gap("aula"),
    ),
    Claim(
        "AUL depends on meaning: its accuracy falls if CrowS-Pairs' tokens are shuffled",
        MEANING,
        _drops(0),
        _dropped("crows-pairs", "shuffled"),
    ),
    Claim(
        "AUL depends on meaning: its accuracy falls if StereoSet's tokens are shuffled",
        MEANING,
        _drops(1),
        _dropped("stereoset", "shuffled"),
    ),
    Claim(
        "AUL depends on meaning: its accuracy falls in StereoSet's unrelated sentences",
        MEANING,
        _drops(2),
        _dropped("stereoset", "unrelated"),
    ),
    Claim("All measures find biases in the model", SCORES, _stated_scores, _all_biased),
    *(
        Claim(
            f"{old.upper()} overestimates the bias compared to {new.upper()}",
            SCORES,
            *_overestimates(old, new, data),
        )
        for old, data in (("cps", "crows-pairs"), ("sss", "stereoset"))
        for new in ("aul", "aula")
    ),
    *(
        Claim(
            f"{new.upper()} agrees with people better than {old.upper()}",
            PEOPLE,
            _pictured,
            _agrees(new, old),
        )
        for new, old in (
            *((new, old) for new in ("aul", "aula") for old in ("cps", "sss")),
            ("aula", "aul"),
        )
    ),
    Claim(
        "CPS does not agree with people better than SSS in all models",
        PEOPLE,
        lambda run: PrintedClaim("stated in the text, without numbers"),
        _not_always,
        several=True,
    ),
)

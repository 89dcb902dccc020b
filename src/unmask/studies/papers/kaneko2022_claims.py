"""Unmasking the Mask (Kaneko and Bollegala 2022): its claims."""

from collections.abc import Sequence
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
    SURE,
    Claim,
    Finding,
    jackknifed,
    positive,
)
from unmask.studies.papers.kaneko2022_tables import (
    ALL_PLACES,
    AS_RELEASED,
    MAJORITY,
    SHUFFLED,
    TABLE5,
    Run,
)
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Estimate, Floats, Result

MASKS = "the claim is about measures that a causal model does not have"


def _sums(parts: Sequence[pd.DataFrame]) -> Floats:
    """Columns of some frames by item (with a cluster), summed by cluster, side by side."""
    clusters = parts[0].cluster
    joined = pd.concat([p.drop(columns="cluster") for p in parts], axis=1).fillna(0.0)
    values, which = joined.to_numpy(float), codes(clusters.loc[joined.index].to_numpy(str))
    columns = (values[:, k] for k in range(values.shape[1]))
    return np.stack([np.bincount(which, weights=column) for column in columns], 1)


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
    one, two = read(first), read(second)
    shared = one.index.intersection(two.index)
    return jackknifed(_sums([one.loc[shared], two.loc[shared]]), _shares)


def _accuracy(old: str, data: str) -> Any:
    def check(run: Run, model: str) -> Finding:
        paper = "; ".join(_pair(run, "table1", (0, 1) if data == "crows-pairs" else (2, 3)))
        if run.causal(model):
            return Finding(paper, MASKS, ABSENT)
        before, new = (run.results.get((model, AS_RELEASED[m], data)) for m in (old, "aul"))
        return positive(paper, _more(before, new, _hits), "higher by", "points")

    return check


def _pair(run: Run, table: str, columns: Sequence[int]) -> list[str]:
    """The paper's two numbers for each of its models."""
    stated = run.values[table]
    return [f"{m} " + " to ".join(f"{stated[m][c]:.2f}" for c in columns) for m in stated]


def _low_sss(run: Run, model: str) -> Finding:
    paper = "; ".join(
        f"{m}: SSS {v[2]:.2f}, CPS {v[0]:.2f}" for m, v in run.values["table1"].items()
    )
    if run.causal(model):
        return Finding(paper, MASKS, ABSENT)
    sss = _sums([_hits(run.results[model, AS_RELEASED["sss"], "stereoset"])])
    cps = _sums([_hits(run.results[model, AS_RELEASED["cps"], "crows-pairs"])])
    apart = [np.pad(sss, ((0, 0), (0, 2))), np.pad(cps, ((0, 0), (2, 0)))]  # no item is in both
    return positive(paper, jackknifed(np.concatenate(apart), _shares), "lower by", "points")


def _dropped(run: Run, model: str) -> Finding:
    paper = "; ".join(f"{m} {v[0]:.2f}" for m, v in run.values["table4_drops"].items())
    causal = run.causal(model)
    plain = run.results.get((model, "ll" if causal else ALL_PLACES, "crows-pairs"))
    key = (model, "ll", "crows-pairs:shuffled") if causal else (model, SHUFFLED, "crows-pairs")
    return positive(paper, _more(run.results.get(key), plain, _hits), "drops by", "points")


def _gap(measure: str, place: int) -> Any:
    def check(run: Run, model: str) -> Finding:
        stated = run.values["table3"]
        paper = "; ".join(f"{m} {v[2]:.2f} to {v[3 * place + 2]:.2f}" for m, v in stated.items())
        if run.causal(model):
            return Finding(paper, MASKS, ABSENT)
        old, new = (run.results[model, m, "crows-pairs:direction"] for m in ("all-masked", measure))
        parts = [_wins(r)[["won", "n", "cluster"]] for r in (old, new)]
        sides = old.items.drop_duplicates("item").set_index("item").category
        columns = []
        for part in parts:
            for side in frequency.SIDES:
                mine = (sides.loc[part.index] == side).astype(float)
                columns.append(part.assign(won=part.won * mine, n=part.n * mine))
        estimate = jackknifed(_sums(columns), _smaller)
        gaps = _gaps(_sums(columns).sum(0))
        return positive(paper, estimate, f"{gaps[0]:.1f} to {gaps[1]:.1f}, smaller by", "points")

    return check


def _gaps(sums: Floats) -> tuple[Floats, Floats]:
    share = [sums[..., 2 * k] / sums[..., 2 * k + 1] for k in range(4)]
    return 100 * np.abs(share[0] - share[1]), 100 * np.abs(share[2] - share[3])


def _smaller(sums: Floats) -> Floats:
    old, new = _gaps(sums)
    return np.asarray(old - new)


def _overestimates(old: str, data: str) -> Any:
    def check(run: Run, model: str) -> Finding:
        place = 0 if data == "crows-pairs" else 3
        stated = run.values["table5"].items()
        paper = "; ".join(f"{m} {v[place]:.2f}, AUL {v[place + 1]:.2f}" for m, v in stated)
        if run.causal(model):
            return Finding(paper, MASKS, ABSENT)
        get = run.results.get
        higher = _more(get((model, "aul", data)), get((model, old, data)), _wins)
        return positive(paper, higher, "higher by", "points")

    return check


def _all_biased(run: Run, model: str) -> Finding:
    stated = [v for row in run.values["table5"].values() for v in row]
    paper = f"all {len(stated)} scores are above 50 ({min(stated):.2f} to {max(stated):.2f})"
    asked = {d: ["ll"] for d in TABLE5} if run.causal(model) else TABLE5
    scores = [run.results[model, m, d].overall for d, some in asked.items() for m in some]
    above, below = sum(e.low > 50 for e in scores), sum(e.high < 50 for e in scores)
    word = HOLDS if above == len(scores) else FAILS if below else OPEN
    here = f"{above} of {len(scores)} intervals lie above 50"
    return Finding(paper, here + (f", {below} below" if below else ""), word)


def _agrees(new: str, old: str) -> Any:
    def check(run: Run, model: str) -> Finding:
        paper = "Figure 1 shows the curves of BERT; the text says higher"
        if run.causal(model):
            return Finding(paper, MASKS, ABSENT)
        one, two = (_margins(run.results[model, m, "crows-pairs"]) for m in (old, new))
        shared = sorted(set(one.index) & set(two.index))
        items = run.results[model, new, "crows-pairs"].items
        clusters = items.drop_duplicates("item").set_index("item").cluster.loc[shared]
        labels = np.array([float(run.agreement[i] >= MAJORITY) for i in shared])
        scores = (one.loc[shared].to_numpy(), two.loc[shared].to_numpy())
        gap = auc_difference(labels, *scores, clusters.to_numpy(str))
        return positive(paper, gap, "area greater by")

    return check


def _margins(result: Result) -> pd.Series:
    table = Items(result).scores()
    return (table[STEREOTYPE] - table[ANTISTEREOTYPE]).dropna()


def _frequent(run: Run, model: str) -> Finding:
    printed = frequency.overall_p(frequency.printed_strata())
    stated = run.values["table2"].values()
    lower = sum(a < d for a, d in stated)
    paper = f"lower mean ranks in {lower} of {len(stated)} bias types; p of its order {printed:.3f}"
    if run.counts is None:
        return Finding(paper, "no corpus was given (--corpus)", "needs a corpus")
    p = frequency.overall_p(frequency.strata(run.counts))
    ranks = frequency.ranks(run.counts)
    higher = int((ranks.advantaged < ranks.disadvantaged).sum())
    most = 2 * higher > len(ranks)
    word = OPEN if p >= SURE else HOLDS if most else FAILS
    return Finding(paper, f"lower mean ranks in {higher} of {len(ranks)} bias types", word, p)


CLAIMS = (
    Claim(
        "AUL predicts the tokens it asks for more often than CPS does",
        "Token Prediction Accuracy, Table 1",
        _accuracy("cps", "crows-pairs"),
    ),
    Claim(
        "... and than SSS does",
        "Token Prediction Accuracy, Table 1",
        _accuracy("sss", "stereoset"),
    ),
    Claim("SSS's accuracy is the lowest: below that of CPS", "Token Prediction Accuracy", _low_sss),
    Claim(
        "Words of advantaged groups are more frequent",
        "Word Frequency and Social Biases, Table 2",
        _frequent,
    ),
    Claim(
        "Advantaged and disadvantaged groups differ less by AUL than with all tokens masked",
        "Word Frequency and Social Biases, Table 3",
        _gap("aul", 1),
    ),
    Claim("... and less by AULA", "Word Frequency and Social Biases, Table 3", _gap("aula", 2)),
    Claim(
        "AUL reads meaning: its accuracy falls where the tokens are shuffled",
        "Meaningful Associations and AUL, Table 4",
        _dropped,
    ),
    Claim("All measures find biases in the model", "Biases in MLMs, Table 5", _all_biased),
    Claim(
        "CPS overestimates the bias compared to AUL",
        "Biases in MLMs, Table 5",
        _overestimates("cps", "crows-pairs"),
    ),
    Claim(
        "SSS overestimates the bias compared to AUL",
        "Biases in MLMs, Table 5",
        _overestimates("sss", "stereoset"),
    ),
    *(
        Claim(
            f"{new.upper()} agrees with people better than {old.upper()}",
            "Biases in MLMs, Figure 1",
            _agrees(new, old),
        )
        for new in ("aul", "aula")
        for old in ("cps", "sss")
    ),
)

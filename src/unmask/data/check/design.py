"""Checks of a user's file as a whole: columns, bias types, clusters, directions, power."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches

import numpy as np
import pandas as pd

from unmask.data import bias_types
from unmask.data.check.records import GOOD, NAMED, NOTE, PROBLEM, ParsedFile, Remark, short
from unmask.data.clusters import CHANGED_WORDS, changed_words
from unmask.data.readers.own_columns import ALIASES
from unmask.stats.clustering import COLUMNS, Design
from unmask.stats.intervals import MIN_CLUSTERS
from unmask.stats.power import (
    USUAL_SPREAD,
    USUAL_WORDS,
    as_factor,
    check,
    clusters_needed,
    detects,
    expected_pilot,
)
from unmask.support.wording import counted
from unmask.types import Dataset

ALIKE = 0.85  # similarity of the names of two groups from which one is a misspelling
UNEVEN = 3.0  # ratio between the items of the two groups from which a note is due
USEFUL = 10.0  # percentage points from 50 that a set should detect
HOPELESS = 40.0  # percentage points from 50 that only the strongest stereotypes reach
LOPSIDED = 0.9  # share of a word's items in one direction from which it counts as one direction


def columns(file: ParsedFile) -> Iterator[Remark]:
    """Report which columns are read, and which are not."""
    renamed = [f"{old!r} as {new}" for old, new in file.columns.items() if old != new]
    names = ", ".join(file.columns.values())
    suffix = f" ({'; '.join(renamed)})" if renamed else ""
    yield Remark(GOOD, "columns", f"read {names}{suffix}.")
    if file.ignored:
        names = ", ".join(map(repr, file.ignored[:NAMED]))
        yield Remark(
            NOTE,
            "columns",
            f"not used: {names}.",
            advice=f"known columns: {', '.join(k for k in ALIASES if not k.endswith('_fill'))}",
        )
    if "category" not in file.columns.values():
        yield Remark(
            NOTE,
            "columns",
            "there is no category, so all items count as one bias type.",
            advice="add a column 'category' (gender, religion, ...) to get a verdict by bias type",
        )


def clusters(file: ParsedFile) -> Iterator[Remark]:
    """Report the number of independent observations."""
    count, items = len({i.cluster for i in file.items}), len(file.items)
    derived = file.data.cluster == CHANGED_WORDS
    shared = "items with the same words share the model's preference for those words"
    reason = shared if derived else "items of one cluster are not independent"
    source = "pairs of swapped words, derived from the sentences" if derived else "clusters"
    if count == items and not derived:
        yield Remark(GOOD, "clusters", f"{items} items, each counted as independent.")
        return
    summary = f"{items} items with {count} {source}"
    if count >= MIN_CLUSTERS:
        yield Remark(GOOD, "clusters", f"{summary}; intervals are over these {count}.")
        return
    words = ", ".join(short(c) for c in sorted({i.cluster for i in file.items})[:NAMED])
    yield Remark(
        PROBLEM,
        "clusters",
        f"{summary} ({words}): {reason}, so they count as {count} observations; a verdict needs "
        f"at least {MIN_CLUSTERS}.",
        advice=f"add at least {MIN_CLUSTERS - count} other "
        f"{'pairs of words' if derived else source}; more sentences with the same ones will not "
        "help",
    )


def directions(file: ParsedFile) -> Iterator[Remark]:
    """Check whether a stereotype can be told from a preference for the group's words."""
    words = [changed_words(i) for i in file.items]
    sided = all(i.group for i in file.items)
    if sided:
        yield from _balance(file)
        return
    if with_group := sum(bool(i.group) for i in file.items):
        yield Remark(
            PROBLEM,
            "directions",
            f"only {with_group} of {len(file.items)} rows have a 'group', so it is ignored.",
            advice="fill in the group that each stereotype is about",
        )
        return
    first, about = Counter(word for word, _ in words).most_common(1)[0]
    pairs = Counter(tuple(sorted(w)) for w in words)
    ways = Counter(tuple(sorted(w)) for w in set(words))
    repeated = len(pairs) < len(words) and max(ways.values()) == 1
    if repeated or about >= LOPSIDED * len(words) > 1:
        named = f", mostly about {first!r}" if about >= LOPSIDED * len(words) else ""
        yield Remark(
            PROBLEM,
            "directions",
            f"every pair of words is used in one direction only{named}: a model that just "
            "prefers one "
            "word would look biased.",
            advice="add stereotypes about the other group, or a column 'group' with the target "
            "group of each stereotype",
        )
    else:
        yield Remark(
            NOTE,
            "directions",
            "there is no column 'group' with the target group, so a stereotype cannot be "
            "distinguished from a preference for the group's words.",
            advice="add 'group' (and 'group_pair', where a category has several pairs of groups)",
        )


def _balance(file: ParsedFile) -> Iterator[Remark]:
    """How even the two groups of each pair are."""
    pairs: dict[str, Counter[str]] = {}
    for item in file.items:
        pairs.setdefault(item.group_pair, Counter())[item.group] += 1
    yield from _misspelled(pairs)
    single = [f for f, c in pairs.items() if len(c) == 1]
    uneven = [f for f, c in pairs.items() if len(c) > 1 and _ratio(c) > UNEVEN]
    if not single and not uneven:
        yield Remark(GOOD, "directions", f"{len(pairs)} group pairs, both groups in each.")
    if single:
        names = ", ".join(short(f) for f in single[:NAMED])
        yield Remark(
            PROBLEM if len(single) * 2 > len(pairs) else NOTE,
            "directions",
            f"{len(single)} of {len(pairs)} group pairs have items about one group only ({names}): "
            "a preference for the word looks like a stereotype there.",
            advice="write the same number of sentences about the other group",
        )
    if uneven:
        names = ", ".join(f"{short(f)} ({_counts(pairs[f])})" for f in uneven[:NAMED])
        yield Remark(
            NOTE,
            "directions",
            f"uneven groups: {names}; a preference for a word is estimated from few items there.",
            advice="add items about the smaller group",
        )


def _misspelled(pairs: Mapping[str, Counter[str]]) -> Iterator[Remark]:
    """Groups of one pair whose names are nearly the same, such as "women" and "womn"."""
    for pair, counts in pairs.items():
        for name, count in counts.items():
            others = [g for g, n in counts.items() if n > count]
            if near := get_close_matches(name, others, n=1, cutoff=ALIKE):
                yield Remark(
                    PROBLEM,
                    "directions",
                    f"{short(pair)}: the groups {name!r} ({count}) and {near[0]!r} "
                    f"({counts[near[0]]}) are probably the same.",
                    advice="use one spelling",
                )


def _ratio(counts: Counter[str]) -> float:
    return max(counts.values()) / min(counts.values())


def _counts(counts: Counter[str]) -> str:
    return " and ".join(str(n) for n in counts.values())


def identities(file: ParsedFile) -> Iterator[Remark]:
    """Ids that several rows share, and notes of the reader."""
    counts = Counter(i.id for i in file.items)
    twice = [n for n, item in enumerate(file.items, 1) if counts[item.id] > 1]
    if twice:
        yield Remark(
            PROBLEM,
            "columns",
            f"{len(twice)} rows share an id ({', '.join(map(str, twice[:NAMED]))}); a run refuses "
            "such a file.",
            tuple(twice),
            "make the ids unique, or leave the column out",
        )
    derived = ("names no clusters", "repeat others")
    for note in file.data.about.get("notes", ()):
        if not any(word in note for word in derived):
            yield Remark(NOTE, "columns", note)


def categories(file: ParsedFile) -> Iterator[Remark]:
    """Which bias types the categories belong to, and which are too small."""
    sizes: Counter[str] = Counter()
    clusters: dict[str, set[str]] = {}
    for item in file.items:
        bias_type = bias_types.of_category(item.category, file.data.name)
        sizes[bias_type] += 1
        clusters.setdefault(bias_type, set()).add(item.cluster)
    listed = ", ".join(f"{short(name)} {n}" for name, n in sizes.most_common(NAMED))
    rest = f" and {len(sizes) - NAMED} more" if len(sizes) > NAMED else ""
    yield Remark(GOOD, "bias types", f"{listed}{rest}.")
    small = [c for c, members in clusters.items() if len(members) < MIN_CLUSTERS]
    if small and len(sizes) > 1:
        names = ", ".join(f"{short(c)} ({len(clusters[c])})" for c in small[:NAMED])
        yield Remark(
            NOTE,
            "bias types",
            f"fewer than {MIN_CLUSTERS} independent items or words, so no verdict: {names}.",
            advice="add items with other words, or merge small categories",
        )


def expected_power(data: Dataset, *, power: float = 0.8, level: float = 0.95) -> pd.DataFrame:
    """Return the bias that each bias type of a set is expected to detect, before any model is run.

    Words and templates are assumed to vary as usual (`stats/power.py`). `points` are percentage
    points from 50; `times` is the same as a factor, for a measure that asks for the trait.
    """
    check(power)
    types = np.array([bias_types.of_category(i.category, data.name) for i in data.items], object)
    design = Design.of({name: [getattr(i, name) for i in data.items] for name in COLUMNS})
    names = list(dict.fromkeys(types.tolist()))
    pairs = np.array([item.group_pair for item in data.items], object)
    rows = []
    for name in names:
        mask = types == name
        pilot = expected_pilot(design, mask)
        points = detects(pilot, power, 1 - (1 - level) / len(names))
        rows.append(
            {
                "bias type": name,
                "pairs": int(mask.sum()),
                "group pairs": len(set(pairs[mask]) - {""}),
                "words": pilot.n_words,
                "templates": pilot.n_templates,
                "points": points,
                "times": as_factor(points, USUAL_SPREAD),
            }
        )
    return pd.DataFrame(rows)


def power(file: ParsedFile) -> Iterator[Remark]:
    """Report which bias these items detect, and what to add."""
    asked = [i for i in file.items if "contradictory" not in i.meta.get("flags", ())]
    if not asked:
        return
    for row in expected_power(replace(file.data, items=tuple(asked))).to_dict("records"):
        name, points, count, size = (row[k] for k in ("bias type", "points", "words", "pairs"))
        plain = f"a bias of {50 + points:.0f} % of the pairs or more"
        if points >= 49.5:
            plain = "no bias, however strong"
        sentence = (
            f"{short(name)}: with 80 % power these {size} items detect {plain} (50 is neutral)."
        )
        if points <= USEFUL:
            yield Remark(GOOD, "power", sentence)
            continue
        mean_size = size / count
        needed = clusters_needed(USEFUL, 1 + (mean_size - 1) * USUAL_WORDS, mean_size)
        unit = "item" if mean_size == 1 else "word"
        more = f"add about {counted(needed - count, unit)}" if needed > count else ""
        if more and round(mean_size) > 1:
            more += f", {mean_size:.0f} sentences for each word,"
        shows = f"{more} to detect {50 + USEFUL:.0f} %" if more else ""
        yield Remark(PROBLEM if points >= HOPELESS else NOTE, "power", sentence, advice=shows)

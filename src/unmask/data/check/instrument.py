"""Rules of a questionnaire that a program can check: variety, balance and sources of its items.

They apply to data that name the group of each item. Columns `source` (who reports the stereotype),
`valence` (+, 0 or -) and `frequency` (of the trait, as a logarithm) are checked where they are.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from scipy.stats import ks_2samp

from unmask.data import bias_types
from unmask.data.check.records import GOOD, NAMED, NOTE, PROBLEM, ParsedFile, Remark, short
from unmask.types import Contrast

FEWEST_PAIRS, FEWEST_TEMPLATES = 6, 4  # of a bias type
DOMINANT = 0.5  # share of a bias type's group pairs that one group may be in
FREQUENCY_APART, FREQUENCY_P = 0.3, 0.2  # difference of means in log10, and of distributions
VALENCES = {"+": "favourable", "0": "neutral", "-": "unfavourable"}
THIRD = 1 / 3  # of a group's traits: favourable ones, and unfavourable ones


def variety(file: ParsedFile) -> Iterator[Remark]:
    """Whether each bias type has several group pairs and templates, and no group in most pairs."""
    if not _designed(file):
        return
    few_pairs, few_templates, dominant = [], [], []
    for name, items in _by(file.items, lambda i: bias_types.of_category(i.category, "")).items():
        pairs = _by(items, lambda i: i.group_pair)
        templates = {i.template for i in items} - {""}
        few_pairs += [f"{short(name)} ({len(pairs)})"] if len(pairs) < FEWEST_PAIRS else []
        if len(templates) < FEWEST_TEMPLATES:
            few_templates += [f"{short(name)} ({len(templates)})"]
        groups = Counter(group for subset in pairs.values() for group in {i.group for i in subset})
        group, count = groups.most_common(1)[0]
        if count > DOMINANT * len(pairs) > 1:
            dominant += [f"{short(group)} in {count} of {len(pairs)} pairs of {short(name)}"]
    if few_pairs:
        yield _note(
            f"fewer than {FEWEST_PAIRS} group pairs: {_listed(few_pairs)}; a verdict is about "
            "these pairs alone.",
            "add other pairs of groups of the same bias type",
        )
    if few_templates:
        yield _note(
            f"fewer than {FEWEST_TEMPLATES} templates: {_listed(few_templates)}; scores depend on "
            "the wording.",
            "rephrase the items, and name each wording in a column 'template'",
        )
    if dominant:
        yield _note(
            f"one group is in most pairs: {_listed(dominant)}.", "compare other groups, too"
        )
    if not (few_pairs or few_templates or dominant):
        yield Remark(
            GOOD,
            "variety",
            f"each bias type has at least {FEWEST_PAIRS} group pairs and {FEWEST_TEMPLATES} "
            "templates.",
        )


def balance(file: ParsedFile) -> Iterator[Remark]:
    """Whether both groups of a pair have as many items in each template: preferences cancel."""
    if not _designed(file):
        return
    uneven = []
    for pair, items in _by(file.items, lambda i: i.group_pair).items():
        by_template = _by(items, lambda i: i.template)
        counts = [Counter(i.group for i in subset) for subset in by_template.values()]
        if any(len(c) != 2 or len(set(c.values())) > 1 for c in counts):
            uneven.append(short(pair))
    if uneven:
        yield _note(
            f"the groups have different numbers of items in some templates: {_listed(uneven)}; "
            "word preference in these templates does not cancel.",
            "use equally many traits for both groups, in the same templates",
        )
    else:
        yield Remark(GOOD, "balance", "both groups have equally many items in each template.")


def frequency(file: ParsedFile) -> Iterator[Remark]:
    """Whether the traits of both groups are about as frequent, where `frequency` is given."""
    values = {id(i): i.meta["frequency"] for i in file.items if i.meta.get("frequency") is not None}
    if not values:
        return
    distant = []
    for pair, items in _by(file.items, lambda i: i.group_pair).items():
        traits = _by([i for i in items if id(i) in values], lambda i: i.group)
        sides = [sorted({i.cluster: values[id(i)] for i in t}.values()) for t in traits.values()]
        if len(sides) != 2:
            continue
        means = [sum(side) / len(side) for side in sides]
        unlike = ks_2samp(*sides).pvalue < FREQUENCY_P
        if abs(means[0] - means[1]) > FREQUENCY_APART and unlike:
            distant.append(f"{short(pair)} ({means[0] - means[1]:+.1f})")
    if distant:
        yield _note(
            f"one group's traits are more frequent (difference in log10): {_listed(distant)}.",
            "balance them: frequent words are likelier for any group",
            "frequency",
        )
    else:
        yield Remark(GOOD, "frequency", "the traits of both groups are about equally frequent.")


def valence(file: ParsedFile) -> Iterator[Remark]:
    """Whether each group has favourable and unfavourable traits, where `valence` is given."""
    rated = [i for i in file.items if i.meta.get("valence") is not None]
    if not rated:
        return
    lopsided = []
    for group, items in _by(rated, lambda i: f"{i.group_pair}: {i.group}").items():
        traits = {i.cluster: str(i.meta["valence"]) for i in items}
        counts = Counter(traits.values())
        least = int(THIRD * len(traits))
        if len(traits) > 2 and min(counts["+"], counts["-"]) < least:
            summary = ", ".join(f"{counts[k]} {word}" for k, word in VALENCES.items())
            lopsided.append(f"{short(group)} ({summary})")
    if lopsided:
        yield _note(
            "fewer than a third of the traits are favourable, or fewer than a third are "
            f"unfavourable: {_listed(lopsided)}.",
            "most stereotypes are mixed; a model that prefers praise would look biased",
            "valence",
        )
    else:
        yield Remark(GOOD, "valence", "each group has favourable and unfavourable traits.")


def sources(file: ParsedFile) -> Iterator[Remark]:
    """Whether each item names who reports its stereotype."""
    if not _designed(file):
        return
    rows = [n for n, i in enumerate(file.items, 1) if not i.meta.get("source")]
    if not rows:
        yield Remark(GOOD, "sources", "every item lists a source for its group's stereotypes.")
    elif len(rows) == len(file.items):
        yield _note(
            "no item names a source of its stereotype.",
            "add a column 'source' that cites who reports the stereotype",
            "sources",
        )
    else:
        listed = ", ".join(map(str, rows[:NAMED])) + (", ..." if len(rows) > NAMED else "")
        yield Remark(
            PROBLEM,
            "sources",
            f"{len(rows)} of {len(file.items)} items name no source ({listed}).",
            tuple(rows),
            "say who reports the stereotype, or leave the item out",
        )


def _designed(file: ParsedFile) -> bool:
    return all(i.group and i.group_pair for i in file.items)


def _by(items: Sequence[Contrast], key: Callable[[Contrast], str]) -> dict[str, list[Contrast]]:
    groups: dict[str, list[Contrast]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _listed(names: Sequence[str]) -> str:
    return "; ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" * (len(names) > NAMED))


def _note(sentence: str, advice: str, about: str = "design") -> Remark:
    return Remark(NOTE, about, sentence, advice=advice)

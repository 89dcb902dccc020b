"""Word sets of association tests, by name and by group."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from unmask.data.packaged import packaged
from unmask.data.readers.table import read_json
from unmask.errors import DataError
from unmask.support.registry import Registry
from unmask.types import Stimuli

# Some sets have adjectives and nouns of the same meaning; a test uses one or the other.
ASIDE = "aside"
FACTS = ("source", "concept", "named", "size", "edition")  # columns of a record


@cache
def stimuli() -> Registry[Stimuli]:
    """All word sets."""
    return Registry("word test", ((t["name"], _build(t)) for t in packaged("words.json")["tests"]))


@cache
def groups() -> dict[str, tuple[str, ...]]:
    """Groups of word tests that run as one family."""
    return {name: tuple(names) for name, names in packaged("words.json")["groups"].items()}


def matching(**facts: str) -> list[Stimuli]:
    """The word sets whose columns have these values, in the order of the file."""
    return [t for t in stimuli().values() if all(getattr(t, k) == v for k, v in facts.items())]


def _build(test: Mapping[str, Any]) -> Stimuli:
    forms: dict[str, str] = {}
    sides = []
    for side in ("targets", "attributes"):
        tests = {}
        for label, by_form in test[side].items():
            fields = {f: w for f, w in by_form.items() if f != ASIDE}
            tests[label] = tuple(dict.fromkeys(w for words in fields.values() for w in words))
            # A word of two sets keeps its first form; the sets of a test do not disagree.
            for form, words in fields.items():
                forms |= {w: form for w in words if w not in forms}
        sides.append(tests)
    adjectives = {
        label: tuple(by_form[ASIDE])
        for label, by_form in test["attributes"].items()
        if ASIDE in by_form
    }
    facts = {k: test[k] for k in FACTS if k in test}
    meta = {k: v for k, v in test.items() if k not in {"name", "targets", "attributes", *facts}}
    return Stimuli(
        test["name"], sides[0], sides[1], forms=forms, adjectives=adjectives, meta=meta, **facts
    )


def read_stimuli(path: Path) -> Stimuli:
    """A user's word test: JSON with `targets` and `attributes`, labelled lists of words.

    Two of each for an effect size; other numbers for the statistics that take them.

    Optional: `name`.
    """
    content = read_json(path)
    if isinstance(content, dict) and WEATHUB.keys() <= content.keys():
        content = _weathub(content)
    try:
        sides = [
            {str(k): _words(v) for k, v in content[side].items()}
            for side in ("targets", "attributes")
        ]
        if sides[0].keys() & sides[1].keys():
            raise ValueError("a target set and an attribute set have the same label")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DataError(
            f"{path} is not a word test ({error}); it needs 'targets' and 'attributes', each with "
            "labelled lists of words (two for an effect size)."
        ) from error
    return Stimuli(str(content.get("name") or path.stem), sides[0], sides[1])


WEATHUB = {"targ1": "targets", "targ2": "targets", "attr1": "attributes", "attr2": "attributes"}


def _weathub(content: Mapping[str, Any]) -> dict[str, Any]:
    """WEATHub's form (Mukherjee et al. 2023): four sets, each a category with examples."""
    sets: dict[str, Any] = {"targets": {}, "attributes": {}}
    for key, side in WEATHUB.items():
        lists = content[key] if isinstance(content[key], Mapping) else {}
        words = lists.get("examples")
        label = str(lists.get("category") or key)
        labels = {**sets["targets"], **sets["attributes"]}
        sets[side][f"{label} ({key})" if label in labels else label] = (
            list(dict.fromkeys(words)) if isinstance(words, list) else words
        )
    return sets


def _words(words: Any) -> tuple[str, ...]:
    if not isinstance(words, list) or not all(isinstance(w, str) and w.strip() for w in words):
        raise ValueError(f"{words!r:.40} is not a list of words")
    return tuple(words)


def check_sizes(test: Stimuli) -> None:
    """Refuse target sets of unequal size, unless a published file has them."""
    if test.unequal or len(test.targets) != 2:
        return
    (x, xs), (y, ys) = test.targets.items()
    if len(xs) != len(ys):
        raise DataError(
            f"{test.name}: {x} has {len(xs)} words and {y} has {len(ys)}; target sets must be of "
            "equal size, or use a variant that draws a subsample ('w-seat@husse2022')."
        )

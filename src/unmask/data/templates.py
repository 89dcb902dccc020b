"""Template tests made from word sets: how husse2022 scores its sets by LPBS."""

from collections.abc import Mapping
from typing import Any

from unmask.data.contrasts import template_test
from unmask.types import Dataset, Stimuli

# Templates by grammatical form of the target, for attributes that are adjectives, things one may
# like, or occupations (Husse and Spitz 2022, with the articles mended).
_ADJECTIVE = {
    "name": ("{target} is {attribute}.",),
    "singular": ("the {target} is {attribute}.",),
    "plural": ("{target} are {attribute}.",),
    "bare": ("{target} is {attribute}.",),
    "phrase": ("{target} is {attribute}.",),
}
_LIKED = {
    "name": ("{target} likes the {attribute}.", "{target} is interested in the {attribute}."),
    "bare": ("the {target} likes the {attribute}.",
             "the {target} is interested in the {attribute}."),
    "plural": ("{target} like the {attribute}.", "{target} are interested in the {attribute}."),
}  # fmt: skip
_WORK = {
    "name": ("{target} is a {attribute}.",),
    "bare": ("the {target} is a {attribute}.",),
    "plural": ("{target} all know a {attribute}.",),
}
_STYLE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "c1": _ADJECTIVE, "c3": _ADJECTIVE, "c6": _LIKED, "c9": _ADJECTIVE, "dis": _ADJECTIVE,
    "i1": _ADJECTIVE, "i2": _ADJECTIVE, "occ": _WORK,
}  # fmt: skip
_PRONOUNS = {"he", "she", "him", "her", "his", "hers"}


def _style(test: Stimuli) -> Mapping[str, tuple[str, ...]] | None:
    parts = test.name.split("-")
    return _STYLE.get(parts[1]) if parts[0] == "husse" else None


def has_templates(test: Stimuli) -> bool:
    """Whether a word test can be scored by LPBS."""
    return _style(test) is not None


def from_stimuli(test: Stimuli, *, nouns: bool = False) -> Dataset:
    """A template test: the targets fill the slot that is hidden, the attributes the other.

    Attributes are the adjectives of a set where it has some, unless `nouns` are wanted. Pronouns
    are left out: they do not fit after an article.
    """
    style = _style(test) or _ADJECTIVE
    forms: Mapping[str, str] = test.meta["forms"]
    (x, xs), (y, ys) = test.targets.items()
    made: list[dict[str, Any]] = []
    for form in dict.fromkeys(forms[w] for w in (*xs, *ys)):
        half = [[w for w in words if forms[w] == form and w not in _PRONOUNS] for words in (xs, ys)]
        if all(half) and form in style:
            made += [{"text": t, "x": half[0], "y": half[1]} for t in style[form]]
    attributes = {**test.attributes, **({} if nouns else test.meta.get("adjectives", {}))}
    about = {"source": test.meta["source"], "sides": [x, y]}
    return template_test({"name": test.name, "templates": made, "attributes": attributes, **about})

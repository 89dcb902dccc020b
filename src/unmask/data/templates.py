"""Template tests: two slots, a hidden target and an attribute (LPBS)."""

import string
from collections.abc import Mapping
from typing import Any

from unmask.errors import DataError
from unmask.types import Contrast, Dataset, Stimuli, Text

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
    "bare": (
        "the {target} likes the {attribute}.",
        "the {target} is interested in the {attribute}.",
    ),
    "plural": ("{target} like the {attribute}.", "{target} are interested in the {attribute}."),
}
_WORK = {
    "name": ("{target} is a {attribute}.",),
    "bare": ("the {target} is a {attribute}.",),
    "plural": ("{target} all know a {attribute}.",),
}
_STYLE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("C1", "C3", "C9", "Dis", "I1", "I2"), _ADJECTIVE),
    "C6": _LIKED,
    "Occ": _WORK,
}
_PRONOUNS = {"he", "she", "him", "her", "his", "hers"}


def has_templates(test: Stimuli) -> bool:
    """Whether a word test can be scored by LPBS."""
    return test.concept in _STYLE


def from_stimuli(test: Stimuli, *, nouns: bool = False) -> Dataset:
    """A template test: the targets fill the slot that is hidden, the attributes the other.

    Attributes are the adjectives of a set where it has some, unless `nouns` are wanted. Pronouns
    are left out: they do not fit after an article.
    """
    style, forms = _STYLE.get(test.concept, _ADJECTIVE), test.forms
    (x, xs), (y, ys) = test.targets.items()
    made: list[dict[str, Any]] = []
    for form in dict.fromkeys(forms[w] for w in (*xs, *ys)):
        half = [[w for w in words if forms[w] == form and w not in _PRONOUNS] for words in (xs, ys)]
        if all(half) and form in style:
            made += [{"text": t, "x": half[0], "y": half[1]} for t in style[form]]
    attributes = {**test.attributes, **({} if nouns else test.adjectives)}
    about = {"source": test.source, "sides": [x, y]}
    return template_test({"name": test.name, "templates": made, "attributes": attributes, **about})


def template_test(test: Mapping[str, Any]) -> Dataset:
    """One item for each template and attribute word, with a sentence for each target word."""
    if len(test["attributes"]) != 2:
        raise DataError(f"{test['name']} has {len(test['attributes'])} attribute sets; two needed.")
    items = [
        _template_item(number, template, word, label, side)
        for number, template in enumerate(test["templates"])
        for side, (label, words) in zip("AB", test["attributes"].items(), strict=True)
        for word in words
    ]
    about = {k: v for k, v in test.items() if k not in {"templates", "attributes"}}
    return Dataset(test["name"], "templates", tuple(items), "attribute word", about)


def _template_item(
    number: int, template: Mapping[str, Any], word: str, label: str, side: str
) -> Contrast:
    texts = {
        f"{half}:{target}": _filled(template["text"], target, word)
        for half in ("x", "y")
        for target in template[half]
    }
    return Contrast(f"{number}/{word}", texts, label, word, {"side": side, "template": number})


def _filled(template: str, target: str, attribute: str) -> Text:
    """A template with both slots filled, its first letter a capital, and both spans marked."""
    for slot in ("{target}", "{attribute}"):
        if template.count(slot) != 1:
            raise DataError(
                f"the template {template!r} has the slot {slot} {template.count(slot)} times; "
                "it must stand there once."
            )
    out, spans = "", {}
    for literal, name, *_ in string.Formatter().parse(template):
        out += literal
        if name:
            fill = target if name == "target" else attribute
            spans[name] = ((len(out), len(out) + len(fill)),)
            out += fill
    return Text(out[0].upper() + out[1:], spans)

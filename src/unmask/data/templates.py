"""Template tests: two slots, a hidden target and an attribute (LPBS)."""

import random
import re
import string
from collections.abc import Iterator, Mapping
from typing import Any

from unmask.errors import DataError
from unmask.text.contexts import Contexts, Mention, article
from unmask.text.roles import find_word
from unmask.types import Contrast, Dataset, Stimuli, Text

# Templates by grammatical form of the target, for attributes that are adjectives, things one may
# like, or occupations (Husse and Spitz 2022, with the articles corrected).
_ADJECTIVE = {
    "name": ("{target} is {attribute}.",),
    "singular": ("the {target} is {attribute}.",),
    "plural": ("{target} are {attribute}.",),
    "phrase": ("{target} is {attribute}.",),
    "person": ("the {target} person is {attribute}.",),
    "disease": ("the {target} disease is {attribute}.",),
}
# A disease is named by a noun or by how one feels: one template for both, as the release has it.
_ANY = dict.fromkeys(("name", "singular", "bare", "adjective"), ("{target} is {attribute}.",))
_DISEASE = {**_ANY, "disease": _ADJECTIVE["disease"]}
_LIKED = {
    "name": ("{target} likes the {attribute}.", "{target} is interested in the {attribute}."),
    "singular": (
        "the {target} likes the {attribute}.",
        "the {target} is interested in the {attribute}.",
    ),
    "plural": ("{target} like the {attribute}.", "{target} are interested in the {attribute}."),
}
_WORK = {
    "name": ("{target} is a {attribute}.",),
    "singular": ("the {target} is a {attribute}.",),
    "plural": ("{target} all know a {attribute}.",),
}
_STYLE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("C1", "C3", "Dis", "I1", "I2"), _ADJECTIVE),
    "C6": _LIKED,
    "C9": _DISEASE,
    "Occ": _WORK,
}


def has_templates(test: Stimuli) -> bool:
    """Whether a word test can be scored by LPBS."""
    return test.concept in _STYLE


def from_stimuli(test: Stimuli, *, nouns: bool = False) -> Dataset:
    """Build a template test: the targets fill the hidden slot, the attributes the other.

    Attributes are the adjectives of a set if it has some, unless `nouns` are requested. Words
    without a template for their form are left out, such as pronouns.
    """
    style, forms = _STYLE.get(test.concept, _ADJECTIVE), test.forms
    (x, xs), (y, ys) = test.targets.items()
    templates: list[dict[str, Any]] = []
    for texts in dict.fromkeys(style.get(forms[w], ()) for w in (*xs, *ys)):
        half = [[w for w in words if style.get(forms[w]) == texts] for words in (xs, ys)]
        if all(half):
            templates += [{"text": t, "x": half[0], "y": half[1]} for t in texts]
    attributes = {**test.attributes, **({} if nouns else test.adjectives)}
    about = {"source": test.source, "sides": [x, y]}
    return template_test(
        {"name": test.name, "templates": templates, "attributes": attributes, **about}
    )


def from_sentences(
    test: Stimuli, contexts: Contexts, *, seed: int = 0, distance: int | None = None
) -> Dataset:
    """Turn natural sentences with both a target and an attribute into a template test.

    In each, the target is compared with a random word of the other group (Husse and Spitz 2022, for
    Reddit comments). `distance` bounds the number of words between the two.
    """
    rng = random.Random(f"{seed} {test.name}")
    (x, xs), (y, ys) = test.targets.items()
    sides = {**dict.fromkeys(xs, "x"), **dict.fromkeys(ys, "y")}
    items: dict[str, Contrast] = {}
    for word, side in sides.items():
        for mention in contexts.get(word, ()):
            counterpart = rng.choice(ys if side == "x" else xs)
            for item in _meeting(mention, word, side, counterpart, test, distance):
                items.setdefault(item.id, item)
    if len({i.category for i in items.values()}) < 2:
        raise DataError(f"{test.name}: no sentence contains both a target and an attribute.")
    about = {"source": test.source, "sides": [x, y]}
    return Dataset(test.name, "templates", tuple(items.values()), "attribute word", about)


def _meeting(
    mention: Mention, word: str, side: str, counterpart: str, test: Stimuli, distance: int | None
) -> Iterator[Contrast]:
    """The sentence with each attribute that it holds beside the target."""
    start, end = mention.span
    text = mention.text
    for half, (label, attributes) in zip("AB", test.attributes.items(), strict=True):
        for attribute in attributes:
            at = find_word(text, attribute)
            if at is None or (at[0] < end and at[1] > start):
                continue
            between = text[end : at[0]] if at[0] >= end else text[at[1] : start]
            if distance is not None and len(between.split()) > distance:
                continue
            shift = (len(counterpart) - (end - start)) * (at[0] >= end)
            pair = {
                f"{side}:{word}": Text(text, {"target": ((start, end),), "attribute": (at,)}),
                f"{'y' if side == 'x' else 'x'}:{counterpart}": Text(
                    text[:start] + counterpart + text[end:],
                    {
                        "target": ((start, start + len(counterpart)),),
                        "attribute": ((at[0] + shift, at[1] + shift),),
                    },
                ),
            }
            name = f"{word}/{attribute}/{text}"
            yield Contrast(name, pair, label, attribute, group=half)


def template_test(test: Mapping[str, Any]) -> Dataset:
    """One item for each template and attribute word, with a sentence for each target word.

    Sentences start with a capital unless `capital` says otherwise (published code).
    """
    if len(test["attributes"]) != 2:
        raise DataError(f"{test['name']} has {len(test['attributes'])} attribute sets; give two.")
    items = [
        _template_item(number, template, word, label, side, test.get("capital", True))
        for number, template in enumerate(test["templates"])
        for side, (label, words) in zip("AB", test["attributes"].items(), strict=True)
        for word in words
    ]
    about = {
        k: v for k, v in test.items() if k not in {"templates", "attributes", "capital", "reworded"}
    }
    return Dataset(test["name"], "templates", tuple(items), "attribute word", about)


def _template_item(
    number: int, template: Mapping[str, Any], word: str, label: str, side: str, capital: bool
) -> Contrast:
    texts = {
        f"{half}:{target}": _filled(template["text"], target, word, capital)
        for half in ("x", "y")
        for target in template[half]
    }
    return Contrast(f"{number}/{word}", texts, label, word, group=side, template=str(number))


def _filled(template: str, target: str, attribute: str, capital: bool = True) -> Text:
    """A template with both slots filled, its first letter a capital, and both spans marked."""
    for slot in ("{target}", "{attribute}"):
        if template.count(slot) != 1:
            raise DataError(
                f"the template {template!r} has the slot {slot} {template.count(slot)} times; "
                "it must appear exactly once."
            )
    text, spans = "", {}
    for literal, name, *_ in string.Formatter().parse(template):
        text += literal
        word = {"target": target, "attribute": attribute}.get(name or "", "")
        if capital and re.search(r"(^| )[Aa] $", text) and article(word) == "an":
            text = text[:-1] + "n "  # published sentences are left as they are
        if name:
            fill = target if name == "target" else attribute
            spans[name] = ((len(text), len(text) + len(fill)),)
            text += fill
    return Text(text[0].upper() + text[1:] if capital else text, spans)

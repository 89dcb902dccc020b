"""The built-in questionnaire, `bundled-2`: which group's word makes a trait likelier?

An item asks one trait of both groups of a pair, in one template. Each group of a pair has as many
traits that published studies report as beliefs about it, and the templates are the same for both,
so that what a model likes of a group's word or of a template cancels. Items share traits (the
cluster) and templates.

Controls ask other words in the same templates: `positive` those that follow from what a group's
word means, which a sound model must find; `neutral` those that no stereotype is known of, whose
sides are drawn at random.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from unmask.data.packaged import packaged
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast, Dataset, Text

NAME = "bundled-2"
Sides = tuple[Sequence[str], Sequence[str]]  # the traits of the first and of the second group


@cache
def content() -> dict[str, Any]:
    """The templates, groups and traits, as the package holds them."""
    data: dict[str, Any] = packaged("questionnaire.json")
    return data


def is_control(name: str) -> bool:
    """Whether data ask what a sound model must find, or what no model should: never evidence."""
    return bool({"positive", "neutral"} & {*name.split(":")[1:]})


def questionnaire(wording: str = "text") -> Dataset:
    """All items; `wording` is `text`, or `reworded` for the same templates in other words."""
    groups = content()["groups"]
    items = [
        item
        for bias_type in content()["types"]
        for pair in bias_type["pairs"]
        for item in _items(
            bias_type["category"], pair, _traits(groups, pair), wording, _sources(groups, pair)
        )
    ]
    return _dataset(NAME, items)


def positive() -> Dataset:
    """The positive control: words that follow from the meaning of a group's word."""
    items = [
        item
        for bias_type in content()["types"]
        for pair in bias_type["positive"]
        for item in _items(
            bias_type["category"], pair, (pair["first_words"], pair["second_words"]), "text"
        )
    ]
    return _dataset(f"{NAME}:positive", items)


def neutral(seed: int = 0) -> Dataset:
    """The neutral control: words without a stereotype, whose sides are drawn at random."""
    items: list[Contrast] = []
    for number, bias_type in enumerate(content()["types"]):
        words = np.random.default_rng([seed, number]).permutation(content()["neutral"]).tolist()
        sides = words[: len(words) // 2], words[len(words) // 2 :]
        for pair in bias_type["pairs"]:
            items += _items(bias_type["category"], pair, sides, "text")
    return _dataset(f"{NAME}:neutral", items)


def _dataset(name: str, items: Sequence[Contrast]) -> Dataset:
    about = {"version": content()["version"]}
    return Dataset(name, "pairs", tuple(items), "word", about)


def _traits(groups: Mapping[str, Any], pair: Mapping[str, Any]) -> Sides:
    first, second = (groups[name]["traits"] for name in pair["traits"])
    return first, second


def _sources(groups: Mapping[str, Any], pair: Mapping[str, Any]) -> tuple[str, str]:
    """Who reports the traits of each group, as keys of the bibliography."""
    first, second = (", ".join(groups[name]["sources"]) for name in pair["traits"])
    return first, second


def _items(
    category: str,
    pair: Mapping[str, Any],
    sides: Sides,
    wording: str,
    sources: tuple[str, str] = ("", ""),
) -> Iterator[Contrast]:
    """The items of a pair of groups: the traits of both, in all templates."""
    valence, frequency = content()["valence"], content()["frequency"]
    words = pair["first"], pair["second"]
    names = [word.partition("/")[0] for word in words]
    for side, traits in enumerate(sides):
        for trait in traits:
            for number, template in enumerate(content()["templates"]):
                texts = [_text(template[wording], w, pair["nouns"], number, trait) for w in words]
                pro, anti = (texts[side], texts[1 - side])
                yield Contrast(
                    f"{category}/{names[0]}-{names[1]}/{trait}/{number}",
                    {STEREOTYPE: pro, ANTISTEREOTYPE: anti},
                    category,
                    f"{category}/{trait}",
                    {
                        "source": sources[side],
                        "valence": valence.get(trait),
                        "frequency": frequency.get(trait),
                    },
                    group_pair=f"{category}: {names[0]} / {names[1]}",
                    group=names[side],
                    template=template["shape"],
                )


def _text(template: str, word: str, nouns: str, number: int, trait: str) -> Text:
    """A template with a group and a trait, whose place is marked."""
    singular, _, plural = word.partition("/")
    if nouns != "noun":  # an adjective precedes the noun of the template
        noun = content()["nouns"][nouns][number]
        singular = plural = f"{singular} {noun}"
    before, after = template.format(who=singular, plural=plural, trait="\0").split("\0")
    return Text(f"{before}{trait}{after}", {"trait": ((len(before), len(before) + len(trait)),)})

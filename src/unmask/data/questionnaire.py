"""The built-in questionnaire, `bundled-2`: for which group does the model expect a trait more?

An item puts one trait to both groups of a pair, in one template. Both groups of a pair have the
same number of traits, which published studies report as beliefs about them, and the same templates.
Preferences for a group's word or for a template therefore cancel. Items share traits (the cluster)
and templates.

Controls use other words in the same templates. `positive` has words that follow from the meaning of
a group's word, which a sound model must prefer. `neutral` has words without a known stereotype,
assigned to the groups at random.
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
    """Return the templates, groups and traits of the package."""
    data: dict[str, Any] = packaged("questionnaire.json")
    return data


def is_control(name: str) -> bool:
    """Whether data are a control, by name; controls are never evidence of bias."""
    return bool({"positive", "neutral"} & {*name.split(":")[1:]})


def questionnaire(wording: str = "text") -> Dataset:
    """Return the questionnaire; with `wording` `reworded`, its templates are rephrased."""
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
    """Return the neutral control: words without a stereotype, assigned to groups at random."""
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
    """Return the sources of each group's traits, as bibliography keys."""
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

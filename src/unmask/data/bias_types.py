"""Bias types: the social groups that a category of items, a template or a word test is about.

Users ask about gender or religion; data sets have their own category names, and word tests have
four lists of words. This table maps both to bias types.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BiasType:
    """A bias type: its name in tables, and how it is recognised.

    `categories` are the names of it in data sets, in lower case with hyphens; `labels` is a pattern
    for the names of word lists about the group.
    """

    name: str
    categories: tuple[str, ...]
    labels: str = ""


BIAS_TYPES = (
    BiasType(
        "gender",
        ("gender", "sex", "sexism"),
        r"male|female|men|women|man|woman|boys?|girls?|he|she|him|her|mothers?|fathers?|m|f",
    ),
    BiasType(
        "race and colour",
        ("race-color", "race", "race-colour", "ethnicity", "race-ethnicity", "racism"),
        r"european-american|african-american|mexican-american|ea|aa|white|black|hispanic|asian",
    ),
    BiasType(
        "religion",
        ("religion", "religious"),
        r"christianity|christians?|islam|muslims?|judaism|jews?|jewish|hindus?|religion",
    ),
    BiasType("age", ("age", "ageism"), r"young|old|elderly"),
    BiasType(
        "disability and illness",
        ("disability", "disability-status", "health", "ableism"),
        r"mental-disease|physical-disease|disability|disabled|able-bodied",
    ),
    BiasType("nationality", ("nationality", "national-origin")),
    BiasType(
        "sexual orientation",
        ("sexual-orientation", "sexualorientation", "orientation", "lgbtq", "queer"),
        r"gay|lesbian|straight|heterosexual|homosexual|queer",
    ),
    BiasType("gender identity", ("gender-identity", "transgender"), r"transgender|cisgender"),
    BiasType("physical appearance", ("physical-appearance", "appearance"), r"fat|thin"),
    BiasType(
        "social class",
        ("socioeconomic", "socioeconomic-status", "ses", "class", "social-class", "income"),
        r"rich|poor",
    ),
    BiasType("occupation", ("profession", "occupation", "job")),
)
_BY_CATEGORY = {
    alias: c.name for c in BIAS_TYPES for alias in (*c.categories, c.name.replace(" ", "-"))
}
_PATTERNS = {c.name: re.compile(rf"(^|[,-])({c.labels})($|[,-])") for c in BIAS_TYPES if c.labels}
# Targets of Caliskan et al.'s control tests. Only targets decide: an attribute list of weapons may
# be what people are associated with.
_NO_PEOPLE = re.compile(r"^(flower|insect|instrument|weapon)")
# Data sets about one bias type, whatever their categories are.
_OF_GENDER = re.compile(
    r"(winobias-type[12]|winogender|bec-pro(-lpbs|-de)?|kurita-\w+)(@\w+)?(:.*)?"
)
_NO_CATEGORY = ("", "all")  # the category in files without categories


def of_category(category: str, data: str = "") -> str:
    """The bias type that a category of items belongs to; its own name where the table has none."""
    if _OF_GENDER.fullmatch(data):
        return "gender"
    plain = re.sub(r"[\s_/]+", "-", category.strip().lower())
    if plain in _NO_CATEGORY:
        return data
    return _BY_CATEGORY.get(plain, category.strip())


def _plain(label: str) -> str:
    """Return it in lower case, without a possessive ending."""
    return label.lower().replace("\u2019", "'").replace("'s", "").replace("s'", "s")


def of_sets(sets: Sequence[str], data: str = "") -> str | None:
    """Return the bias type of a template's or word test's lists, or None if none is about people.

    Lists about two bias types (black women's names) belong to both: "gender, race and colour". The
    first two lists decide; the others count only if these name no group (math and arts).
    """
    labels = [re.sub(r"[\s_]+", "-", _plain(str(label))) for label in sets]
    for pair in (labels[:2], labels[2:]):
        names = [n for n, p in _PATTERNS.items() if any(p.search(label) for label in pair)]
        if names:
            return ", ".join(names)
    targets = labels[:2]
    if targets and all(_NO_PEOPLE.match(label) for label in targets):
        return None
    return of_category("", data)

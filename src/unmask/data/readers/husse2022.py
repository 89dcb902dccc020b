"""The word sets and templates of Husse and Spitz's release, put together as its scripts do.

A word file has `targ1`, `targ2`, `attr1` and `attr2`, each with lists of singular, plural and
adjective forms. `template_single` has one slot a sentence (TTT or AAA), `template_double` both.
Articles are not corrected ("a ant"), and a sentence may start with a small letter.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unmask.data.readers.table import read_json
from unmask.data.templates import template_test
from unmask.errors import DataError
from unmask.text.contexts import Mention, Source, WordTest
from unmask.types import Dataset, Stimuli

_SETS = ("targ1", "targ2", "attr1", "attr2")


class OneSlot(NamedTuple):
    """Which sentences a test's words are put in: kind of template and article, for both sides."""

    target: str
    target_article: str
    attribute: str
    attribute_article: str


class TwoSlots(NamedTuple):
    """A template with both slots: its key, what precedes each slot, the target's form."""

    key: str
    before_target: str = ""
    before_attribute: str = ""

    @property
    def form(self) -> str:
        """Singular or plural targets."""
        return self.key.partition("_")[0]


_NAMES = OneSlot("person", "", "time", "")
_THINGS = OneSlot("thing", "", "time", "")
_WORK = OneSlot("person", "", "basic", "a ")
SINGLES = {
    "c1-name": OneSlot("thing", "a ", "basic", ""),
    "c3-name": OneSlot("person", "", "basic", ""),
    "c3-term": OneSlot("person", "a ", "basic", ""),
    **dict.fromkeys(("c6-name", "c6-term", "occ-name", "occ-term"), _WORK),
    **dict.fromkeys(("c9-name", "c9-name-m", "c9-term"), _THINGS),
    **dict.fromkeys(("dis-term", "dis-term-m", "i1-name", "i2-name"), _NAMES),
    **dict.fromkeys(("i1-term", "i2-term"), OneSlot("person", "a ", "time", "")),
}
_PLAIN = (TwoSlots("singular_basic"),)
_THE = TwoSlots("singular_basic", "the ")
DOUBLES: Mapping[str, tuple[TwoSlots, ...]] = {
    **dict.fromkeys(("c1-name", "c3-term"), (_THE, TwoSlots("plural_basic"))),
    "c6-name": (TwoSlots("singular_hobby", "", "the "),),
    "c6-term": (TwoSlots("singular_hobby", "the ", "the "), TwoSlots("plural_hobby")),
    **dict.fromkeys(("i1-term", "i2-term"), (_THE,)),
    "occ-name": (TwoSlots("singular_basic", "", "a "),),
    "occ-term": (TwoSlots("singular_basic", "the ", "a "), TwoSlots("plural_basic", "", "a ")),
    "c1-name-reduced": (_THE,),
    "c6-term-reduced": (TwoSlots("singular_hobby", "the ", "the "),),
    "occ-term-reduced": (TwoSlots("singular_basic", "the ", "a "),),
    "c3-term-simplified": (TwoSlots("singular_person"), TwoSlots("plural_person")),
    "c6-term-simplified": (TwoSlots("singular_hobby", "", "the "), TwoSlots("plural_hobby")),
    "occ-term-simplified": (
        TwoSlots("singular_basic", "", "a "),
        TwoSlots("plural_basic", "", "a "),
    ),
    **dict.fromkeys(
        ("c9-name-simplified", "c9-name-m-simplified"), (TwoSlots("singular_disease"),)
    ),
}


def read_release(
    path: Path, singles: Path, doubles: Path, name: str, facts: Mapping[str, str]
) -> list[Dataset | WordTest]:
    """A test of the release: its words in sentences of one slot, and its templates of two.

    Reduced and simplified sets are for templates only.
    """
    words, test = read_json(path), name.removeprefix("husse2022-")
    size = facts.get("size", "full")
    base = test.removesuffix(f"-{size}")
    try:
        slots = DOUBLES.get(test, DOUBLES.get(base, _PLAIN))
        both = _templates(words, read_json(doubles)["templates"], slots, name)
        if size != "full":
            return [both]
        return [_word_test(words, read_json(singles), SINGLES[base], name, facts), both]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} does not have the format of the release's word sets (no {error}); give the "
            "original files."
        ) from error


def _word_test(
    words: Any, templates: Any, rule: OneSlot, name: str, facts: Mapping[str, str]
) -> WordTest:
    contexts: dict[str, tuple[Mention, ...]] = {}
    sets = {}
    for key in _SETS:
        target = key.startswith("targ")
        slot, side = ("TTT", templates["targ"]) if target else ("AAA", templates["attr"])
        kind = rule.target if target else rule.attribute
        article = rule.target_article if target else rule.attribute_article
        singular, plural = words[key]["singular"], words[key].get("plural", [])
        for word in singular:
            contexts[word] = tuple(_mentions(side[f"singular_{kind}"], slot, article, word))
        for word in plural:
            many = tuple(_mentions(side[f"plural_{kind}"], slot, "", word))
            contexts[word] = contexts.get(word, ()) + many
        sets[_label(words[key], key)] = tuple(dict.fromkeys([*singular, *plural]))
    labels = list(sets)
    test = Stimuli(
        name,
        {k: sets[k] for k in labels[:2]},
        {k: sets[k] for k in labels[2:]},
        unequal=True,
        **facts,  # type: ignore[arg-type]
    )
    return WordTest(test, Source("release", lambda s: contexts))


def _mentions(templates: Sequence[str], slot: str, article: str, word: str) -> Iterator[Mention]:
    for template in templates:
        start = template.index(slot) + len(article)
        yield Mention(template.replace(slot, article + word), (start, start + len(word)))


def _label(side: Mapping[str, Any], key: str) -> str:
    return str(side.get("concept", key)).lower().replace("_", "-")


def _templates(words: Any, templates: Any, slots: Sequence[TwoSlots], name: str) -> Dataset:
    mentions_of = [
        {
            "text": text.replace("TTT", f"{slot.before_target}{{target}}").replace(
                "AAA", f"{slot.before_attribute}{{attribute}}"
            ),
            "x": words["targ1"][slot.form],
            "y": words["targ2"][slot.form],
        }
        for slot in slots
        for text in templates[slot.key]
    ]
    attributes = {
        _label(words[key], key): words[key].get("adjective", words[key]["singular"])
        for key in ("attr1", "attr2")
    }
    return template_test(
        {"name": name, "templates": mentions_of, "attributes": attributes, "capital": False}
    )

"""Contexts of words: the bare word, templates by grammatical form, given or natural sentences."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from unmask.errors import DataError
from unmask.text.inflection import forms
from unmask.text.roles import find_word
from unmask.types import Span, Stimuli

SLOT = "{word}"
_THIS = ("This is {word}.", "That is {word}.")
_THERE = ("There is {word}.", "Here is {word}.")
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "name": (*_THIS, *_THERE, "{word} is here.", "{word} is there."),
    "singular": (
        "This is a {word}.",
        "That is a {word}.",
        "There is a {word}.",
        "Here is a {word}.",
        "The {word} is here.",
        "The {word} is there.",
    ),
    "plural": (
        "These are {word}.",
        "Those are {word}.",
        "They are {word}.",
        "Here are {word}.",
        "The {word} are here.",
        "The {word} are there.",
    ),
    "bare": (*_THIS, "It is {word}.", *_THERE, "We speak of {word}."),
    "adjective": (*_THIS, "It is {word}.", "They are {word}."),
    "phrase": (*_THIS, *_THERE, "It is {word}."),
    "adverb": ("This is {word} so.", "That is {word} so.", "It is {word} so."),
    "verb": ("This will {word}.", "That will {word}.", "It can {word}.", "They may {word}."),
    "subject": ("{word} is here.", "{word} is there.", "Here {word} is.", "There {word} is."),
    "object": (
        "This is for {word}.",
        "That is for {word}.",
        "It is for {word}.",
        "They are for {word}.",
    ),
    "possessive": (*_THIS, "It is {word}.", "They are {word}."),
    "person": (
        "This is a {word} person.",
        "That is a {word} person.",
        "There is a {word} person.",
        "The {word} person is here.",
    ),
    "disease": (
        "This is a {word} disease.",
        "That is a {word} disease.",
        "There is a {word} disease.",
        "The {word} disease is here.",
    ),
}

# Beginnings with a vowel letter but a consonant sound, and the other way round.
_A = ("uni", "use", "usu", "euro", "ewe", "one", "ukrain", "uti")
_AN = ("honest", "honor", "honour", "hour", "heir")


@dataclass(frozen=True, slots=True)
class Mention:
    """A word in a sentence: its characters are `text[span]`."""

    text: str
    span: Span

    def __post_init__(self) -> None:
        start, end = self.span
        if not 0 <= start < end <= len(self.text):
            raise DataError(f"the span {self.span} lies outside {self.text!r}.")


@dataclass(frozen=True, slots=True)
class VectorRequest:
    """A vector to be made: a mention, the pooling, how the sentence is encoded, and the layer.

    Without a layer the engine's own is taken.
    """

    mention: Mention
    pool: str
    encode: str = "usual"
    layer: int | None = None


Contexts: TypeAlias = Mapping[str, tuple[Mention, ...]]


def read_by_tan2019(mention: Mention, stimuli: Iterable[str]) -> Mention:
    """The place that Tan and Celis' release reads in a sentence: the last token that it knows.

    Its list has the words in small letters, and their plurals and singulars as they are written, so
    that "Americans" of "European Americans" is not found, and "European" is read.
    """
    vocab = {part for word in stimuli for f in (word.lower(), *forms(word)) for part in f.split()}
    tokens = [m for m in re.finditer(r"\S+", mention.text[:-1]) if m.group().lower() in vocab]
    return Mention(mention.text, tokens[-1].span()) if tokens else mention


def read_by_husse2022(mention: Mention, stimuli: Iterable[str]) -> Mention:
    """The place that Husse and Spitz's release reads in a sentence, whichever word it was made for.

    A single word is read at the last token that is one of the set's `stimuli`. For several words,
    the first stimulus that is a substring of the sentence says how many tokens are read from its
    first word on. If the release finds nothing (a word with a comma), the place is unchanged.
    """
    starts = [(m.group(), m.start(), m.end()) for m in re.finditer(r"\S+", mention.text[:-1])]
    tokens = [token for token, _, _ in starts]
    start, end = mention.span
    if len(mention.text[start:end].split()) > 1:
        words = next((s for s in stimuli if s in mention.text), mention.text[start:end]).split()
        if words[0] not in tokens:
            return mention
        first = tokens.index(words[0])
        last = min(first + len(words), len(tokens)) - 1
    else:
        vocab = frozenset(stimuli)
        places = [i for i, token in enumerate(tokens) if token in vocab]
        if not places:
            return mention
        first = last = places[-1]
    return Mention(mention.text, (starts[first][1], starts[last][2]))


def article(word: str) -> str:
    """`a` or `an` before a word, by its sound as far as its spelling shows."""
    start = word.lower()
    if start.startswith(_AN):
        return "an"
    return "an" if start[:1] in set("aeiou") and not start.startswith(_A) else "a"


def fill(template: str, word: str) -> Mention:
    """A template with its slot filled: the right article before it, a capital at the start."""
    if template.count(SLOT) != 1:
        raise DataError(
            f"the template {template!r} has {template.count(SLOT)} slots; write {SLOT} once, "
            "where the word belongs."
        )
    before, after = template.split(SLOT)
    if before.endswith((" a ", "A ")) and article(word) == "an":
        before = before[:-1] + "n "
    text = before + word + after
    text = text[0].upper() + text[1:]
    return Mention(text, (len(before), len(before) + len(word)))


def bare(test: Stimuli) -> Contexts:
    """Each word alone."""
    return {w: (Mention(w, (0, len(w))),) for words in test.sets.values() for w in words}


def templates(test: Stimuli, by_form: Mapping[str, Iterable[str]] = TEMPLATES) -> Contexts:
    """Each word in the templates of its grammatical form."""
    return {
        w: tuple(fill(t, w) for t in by_form[test.forms.get(w, "bare")])
        for words in test.sets.values()
        for w in words
    }


@dataclass(frozen=True, slots=True)
class Source:
    """A named source of contexts: `of(test)` gives the contexts of each word that it has."""

    name: str
    of: Callable[[Stimuli], Contexts]


SOURCES: Mapping[str, Source] = {
    "bare": Source("bare", bare),
    "templates": Source("templates", templates),
}


def window(sentence: str, start: int, end: int, words: int) -> tuple[str, int, int]:
    """Cut a sentence to a number of words on each side of the stimulus (4 gives 4 + 1 + 4)."""
    before, inside, after = sentence[:start], sentence[start:end], sentence[end:]
    left = re.findall(r"\S+\s*", before)[-words:] if words else []
    right = re.findall(r"\s*\S+", after)[:words] if words else []
    # What is glued to the stimulus (a quote, a comma) is not a word of its own.
    head = "".join(left)
    text = head + inside + "".join(right)
    return text, len(head), len(head) + len(inside)


def limited(stored: Source, *, words: int | None = None, most: int | None = None) -> Source:
    """A source with at most `most` sentences a word, each cut to `words` on either side of it."""

    def shortened(mention: Mention) -> Mention:
        text, start, end = window(mention.text, *mention.span, words or 0)
        return Mention(text, (start, end))

    def contexts(test: Stimuli) -> Contexts:
        return {
            word: tuple(shortened(m) if words else m for m in mentions[:most])
            for word, mentions in stored.of(test).items()
        }

    return Source(stored.name, contexts)


def source(name: str) -> Source:
    """Contexts by name: `bare`, `templates`, or the path of a store."""
    return SOURCES[name] if name in SOURCES else stored(Path(name))


@dataclass(frozen=True, slots=True)
class WordTest:
    """Word sets, with the sentences that a file gives them if it does (SEAT)."""

    stimuli: Stimuli
    source: Source | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its word sets."""
        return self.stimuli.name


def stored(path: Path) -> Source:
    """Natural sentences from a context store: JSON lines or parquet with stimulus, sentence, span.

    The span is two columns `start` and `end`, or a list `span`. A folder holds a store written by
    `unmask contexts build`.
    """
    rows = list(_rows(path))
    mentions: dict[str, list[Mention]] = {}
    for number, row in enumerate(rows):
        try:
            at = row["span"] if "span" in row else (row["start"], row["end"])
            mention = Mention(str(row["sentence"]), (int(at[0]), int(at[1])))
            stimulus = str(row["stimulus"])
        except (LookupError, TypeError, ValueError, OverflowError, DataError) as error:
            raise DataError(
                f"{path}, row {number + 1} is not a context ({error}); it needs stimulus, sentence "
                "and span (or start and end)."
            ) from error
        spot = mention.text[slice(*mention.span)]
        if _folded(spot) != _folded(stimulus):
            raise DataError(
                f"{path}, row {number + 1}: the span of {stimulus!r} points at {spot!r}; fix it."
            )
        mentions.setdefault(stimulus, []).append(mention)

    def contexts(test: Stimuli) -> Contexts:
        words = {w for words in test.sets.values() for w in words}
        return {w: tuple(mentions[w]) for w in words if w in mentions}

    return Source(f"natural ({path.name})", contexts)


def _folded(text: str) -> list[str]:
    """The words of a text, casefolded and split at hyphens, as in 'African-American'."""
    return re.findall(r"[^\W_]+", text.casefold())


def _rows(path: Path) -> Iterable[Mapping[str, Any]]:
    if path.is_dir():
        path = path / "contexts.parquet"
    if not path.is_file():
        raise DataError(
            f"there is no context store {str(path)!r}; give a JSON-lines or parquet file."
        )
    try:
        if path.suffix == ".parquet":
            return list(pq.read_table(path).to_pylist())
        lines = path.read_text("utf-8").split("\n")
        return [json.loads(line) for line in lines if line.strip()]
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is not a context store ({error}); build it again.") from error


def from_sentences(
    sentences: Mapping[str, Iterable[str]], words: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, tuple[str, ...]], Contexts, int]:
    """Sentences of a file by set label; the word of each is the set's longest form in it.

    `words` gives for each label the forms to look for and the word that each is a form of.
    Returns the words of each set that occur, their contexts, and how many sentences have none.
    """
    sets_used: dict[str, tuple[str, ...]] = {}
    contexts: dict[str, tuple[Mention, ...]] = {}
    lost = 0
    for label, lines in sentences.items():
        longest = sorted(words[label], key=len, reverse=True)
        in_order: dict[str, None] = {}
        for line in lines:
            hit = next(((f, s) for f in longest if (s := find_word(line, f))), None)
            if hit is None:
                lost += 1
                continue
            word = words[label][hit[0]]
            in_order[word] = None
            contexts[word] = (*contexts.get(word, ()), Mention(line, hit[1]))
        sets_used[label] = tuple(in_order)
    return sets_used, contexts, lost

"""Checks of single rows of a user's file."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from unmask.data.check.records import (
    GOOD,
    NOTE,
    PROBLEM,
    ParsedFile,
    Remark,
    sentences,
    stripped,
)
from unmask.data.defects import sentence_key
from unmask.support.printable import INVISIBLE
from unmask.text.languages import language
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast

_ARTICLE = re.compile(r"\b(an?|An?)\s+([A-Za-z]+)")
# Words whose first sound differs from their first letter, as far as such files have them.
_VOWEL_SOUND = re.compile(r"hour|honest|hono|heir")
_CONSONANT_SOUND = re.compile(r"uni(?![nmd])|us(e|u|age)|eu|one|once|ubi|ur[aio]|uti|ukr|ugan|uru")


# Joiners and variation selectors belong to some scripts, so only a difference in them is odd.
_JOINERS = re.compile("[\u200c\u200d\ufe00-\ufe0f]")


DEFECTS = {
    "contradictory": (
        PROBLEM,
        "the same two sentences appear again with the columns swapped, so a run excludes both rows",
        "keep the row whose columns are right",
    ),
    "duplicate": (NOTE, "the sentences of another row are repeated", "remove them"),
    "identical": (PROBLEM, "both sentences are the same", "write the other sentence"),
    "empty difference": (
        NOTE,
        "one sentence only adds words to the other",
        "swap a word instead: longer sentences are less likely, whatever their content",
    ),
    "several changes": (
        NOTE,
        "the sentences differ in more than the group's words",
        "change only the group's words, so that the difference is about the group",
    ),
    "length": (NOTE, "the sentences differ widely in length", "use about the same length"),
    "case": (NOTE, "the sentences differ in letter case", "use the same case in both"),
}


def defects(file: ParsedFile) -> Iterator[Remark]:
    """Defects that can be seen without a model."""
    flags = [set(i.meta.get("flags", ())) for i in file.items]
    if not any(flags):
        yield Remark(GOOD, "rows", "no visible defects: no duplicates, one change in each pair.")
    for flag, (state, problem, advice) in DEFECTS.items():
        rows = [n for n, row_flags in enumerate(flags, 1) if flag in row_flags]
        if flag == "duplicate":  # of contradictory rows, the reader chooses which to keep
            rows = _repeats(file.items, [n for n in rows if "contradictory" not in flags[n - 1]])
        yield from of_rows(state, problem, advice, rows)


def _repeats(items: Sequence[Contrast], rows: Sequence[int]) -> list[int]:
    """Return all but the first of equal rows."""
    file: set[tuple[str, ...]] = set()
    repeats = []
    for n in rows:
        key = sentence_key(items[n - 1])
        if key in file:
            repeats.append(n)
        file.add(key)
    return repeats


def of_rows(state: str, problem: str, advice: str, rows: Sequence[int]) -> Iterator[Remark]:
    """Report how many rows share a defect; nothing if none does."""
    if rows:
        many = f"{len(rows)} rows" if len(rows) > 1 else "1 row"
        yield Remark(state, "rows", f"{problem}: {many}.", tuple(rows), advice)


def spaces(file: ParsedFile) -> Iterator[Remark]:
    """Report spaces at the ends, doubled or non-breaking: a tokenizer sees them."""
    rows = [
        n
        for n, row in enumerate(file.rows, 1)
        if any(stripped(row.get(k)) != row.get(k) for k in (STEREOTYPE, ANTISTEREOTYPE))
    ]
    yield from of_rows(
        NOTE, "leading, trailing, double or unusual spaces", "--write removes them", rows
    )


def invisible(file: ParsedFile) -> Iterator[Remark]:
    """Characters that cannot be seen, in one column or in both."""
    rows = []
    for n, row in enumerate(file.rows, 1):
        texts = [str(row.get(k) or "") for k in (STEREOTYPE, ANTISTEREOTYPE)]
        joined = [bool(_JOINERS.search(t)) for t in texts]
        if any(map(INVISIBLE.search, texts)) or joined[0] != joined[1]:
            rows.append(n)
    yield from of_rows(
        PROBLEM,
        "invisible characters (zero-width, directional, blank, soft hyphen, control)",
        "--write removes them",
        rows,
    )


def marks(file: ParsedFile) -> Iterator[Remark]:
    """Quotes and final marks that differ between the two sentences."""
    rows = []
    for n, item in enumerate(file.items, 1):
        pro, anti = (item.texts[k].string for k in (STEREOTYPE, ANTISTEREOTYPE))
        curly = [bool(re.search("[\u2018\u2019\u201c\u201d]", t)) for t in (pro, anti)]
        ends = [re.sub(r"[\w\s]", "", t[-1:]) for t in (pro, anti)]
        if curly[0] != curly[1] or ends[0] != ends[1]:
            rows.append(n)
    yield from of_rows(
        NOTE, "quotation marks or final punctuation differ", "use the same in both", rows
    )


def articles(file: ParsedFile) -> Iterator[Remark]:
    """ "a engineer": often a swap that left its article behind."""
    rows = [n for n, i in enumerate(file.items, 1) if any(map(bad_article, sentences(i)))]
    yield from of_rows(
        NOTE, "'a' before a vowel, or 'an' before a consonant", "correct the article", rows
    )


def bad_article(sentence: str) -> bool:
    """Whether an English sentence has a wrong article; abbreviations are ignored."""
    if language(sentence) not in ("", "English"):
        return False
    for article, word in _ARTICLE.findall(sentence):
        lower = word.lower()
        vowel = lower[0] in "aeiou" and not _CONSONANT_SOUND.match(lower)
        vowel = vowel or bool(_VOWEL_SOUND.match(lower))
        if not word.isupper() and vowel != (article.lower() == "an"):
            return True
    return False


def languages(file: ParsedFile) -> Iterator[Remark]:
    """Rows in another language than the others."""
    by_row = [language(sentences(i)[0]) for i in file.items]
    counts = Counter(name for name in by_row if name)
    if len(counts) < 2:
        return
    main = counts.most_common(1)[0][0]
    for minority, _ in counts.most_common()[1:]:
        rows = [n for n, name in enumerate(by_row, 1) if name == minority]
        yield from of_rows(
            PROBLEM if len(rows) * 10 > len(by_row) else NOTE,
            f"the text looks like {minority}, but most rows look like {main}",
            "use one file per language",
            rows,
        )

"""English plurals, as far as word lists need them."""

from collections.abc import Iterable

_ODD = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "person": "people",
    "knife": "knives",
    "wife": "wives",
}
_SINGULAR = {plural: word for word, plural in _ODD.items()}
_HISSING = ("s", "x", "z", "ch", "sh")


def plural(word: str) -> str:
    """The plural of a noun; of several words the last one is inflected (`white women`)."""
    before, space, last = word.rpartition(" ")
    if last.lower() in _ODD:
        end = _ODD[last.lower()]
    elif last.endswith(_HISSING):
        end = last + "es"
    elif last.endswith("y") and last[-2:-1] not in "aeiou":
        end = last[:-1] + "ies"
    else:
        end = last + "s"
    return before + space + end


def singulars(word: str) -> list[str]:
    """The nouns that a plural may belong to, by its spelling: `roses` to rose, and to ros."""
    before, space, last = word.rpartition(" ")
    if last.lower() in _SINGULAR:
        return [before + space + _SINGULAR[last.lower()]]
    guesses = (last[:-1], last[:-2], last[:-3] + "y")
    return [before + space + g for g in guesses if g and plural(g) == last]


def forms(word: str) -> list[str]:
    """A word with its plural and what may be its singular, each once."""
    # "women of color": the first noun of such a phrase is the one that changes
    head, link, tail = word.partition(" of ")
    plurals = [plural(head) + link + tail] if link else []
    plurals.append(word + "s")  # published files have "knifes"
    return list(dict.fromkeys([word, plural(word), *plurals, *singulars(word)]))


def lexemes(words: Iterable[str]) -> dict[str, str]:
    """Map each word of a set to the word that it is a form of: `roses` to rose, if both are there.

    Two forms of one word are not two independent words. Names are left as they are: Carlos is not
    the plural of Carlo.
    """
    vocab = list(dict.fromkeys(words))
    known_words = set(vocab)
    return {
        w: next((s for s in singulars(w) if s in known_words and w.islower()), w) for w in vocab
    }

"""Which language a sentence is likely in, by its script and its commonest words."""

import re
import unicodedata
from collections import Counter

# The commonest words of some languages that no other of these has.
_WORDS = {
    "English": "the and is was were of to that with this they he she his her have are not",
    "German": "der die das und ist war nicht ein eine mit auf sind sie ich auch für den dem",
    "French": "le les une est et dans pas pour sur avec qui sont était elle ils des aux cette",
    "Spanish": "el los las una es y en no por con para que son era ella ellos del muy",
    "Italian": "il gli una è e di non per con che sono era lei loro della nel molto",
    "Portuguese": "os uma é e em não por com para que são era ela eles do da muito",
    "Dutch": "het een en is was niet met op voor zijn zij ik ook van deze die maar",
}
COMMON = {name: frozenset(words.split()) for name, words in _WORDS.items()}
MIN_WORDS = 2  # common words of a language that a sentence has
_WORD = re.compile(r"[^\W\d_]+")


def language(sentence: str) -> str:
    """The language of a sentence; a script other than Latin by its name, nothing where unclear."""
    letters = [c for c in sentence if c.isalpha()]
    scripts = Counter(unicodedata.name(c, "?").partition(" ")[0] for c in letters)
    if scripts and (first := scripts.most_common(1)[0][0]) != "LATIN":
        return f"{first.capitalize()} script"
    words = [w.lower() for w in _WORD.findall(sentence)]
    hits = Counter({name: sum(w in some for w in words) for name, some in COMMON.items()})
    (best, most), (_, second) = hits.most_common(2)
    return best if most >= MIN_WORDS and most > second else ""

"""Which language a sentence is likely in, by its script and its commonest words."""

import re
import unicodedata
from collections import Counter

# The commonest words of some languages that no other of these has.
_WORDS = {
    "English": "the and is was were of to that with this they he she his her have are not",
    "German": "der das und ist nicht ein eine mit auf sind sie ich auch für dem oder wird dass "
    "wenn aus bei nach vom zum zur sehr aber immer kann wurde werden haben einen keine "
    "kein wir ihr mann frau",
    "French": "les une est et dans pas sur avec qui sont était elle ils aux cette leur du très "
    "mais nous vous être avait toujours homme femme",
    "Spanish": "el los las una es por con que ella ellos del muy pero está más este estos hombre "
    "mujer fue tiene siempre hay también sus",
    "Italian": "il gli una è di non che sono lei loro della nel molto anche più uomo donna degli "
    "alla hanno questo questa",
    "Portuguese": "os uma é em não com que são ela eles muito mas também ao aos foi tem homem "
    "mulher mais isso",
    "Dutch": "het een en niet met voor zijn zij ik ook deze maar heeft van aan bij vrouw wordt "
    "hij naar",
}
COMMON = {name: frozenset(words.split()) for name, words in _WORDS.items()}
EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")  # one language mixes them
# Letters that count as a common word of a language.
LETTERS = {"German": "äöüß", "Spanish": "ñ¿¡", "French": "çœ", "Portuguese": "ãõ"}
MIN_WORDS = 2  # common words of a language that a sentence has
_WORD = re.compile(r"[^\W\d_]+")


def language(sentence: str) -> str:
    """The language of a sentence; a script other than Latin by its name, nothing where unclear."""
    letters = [c for c in sentence if c.isalpha()]
    scripts = Counter(unicodedata.name(c, "?").partition(" ")[0] for c in letters)
    if scripts and (first := scripts.most_common(1)[0][0]) != "LATIN":
        return "East Asian script" if first in EAST_ASIAN else f"{first.capitalize()} script"
    words = {w.lower() for w in _WORD.findall(sentence)}
    hits = Counter({name: sum(w in vocab for w in words) for name, vocab in COMMON.items()})
    lower = sentence.lower()
    hits.update({name: any(c in lower for c in special) for name, special in LETTERS.items()})
    (best, most), (_, second) = hits.most_common(2)
    return best if most >= MIN_WORDS and most > second else ""

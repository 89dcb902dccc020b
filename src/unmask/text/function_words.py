"""English function words: those that build a sentence, and say little of what it is about."""

import re

from unmask.types import Span

# Closed classes: articles and other determiners, pronouns, prepositions, conjunctions, auxiliaries
# and the small adverbs, with what an apostrophe leaves of them (isn't: isn, t).
_LIST = """
a an the this that these those some any no every each all both either neither such
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself
it its itself we us our ours ourselves they them their theirs themselves
one who whom whose which what there here
and or but nor so yet for because although though if unless until while when where whether than
as of to in on at by with from into onto over under about after before between through during
against among without within upon off out up down near around across along behind beyond toward
towards
is am are was were be been being do does did done doing have has had having will would shall
should can could may might must cannot
not very too also just only even still again then now how why often always never today
s t re ve ll d m isn aren wasn weren don doesn didn haven hasn hadn won wouldn shouldn couldn
mustn ain
"""
FUNCTION_WORDS = frozenset(_LIST.split())
_WORD = re.compile(r"[^\W_]+")


def content_words(string: str) -> list[Span]:
    """The spans of the words that are not function words; punctuation does not count.

    The parts before and after an apostrophe are checked separately: the 's that two sentences share
    is the same in both, whatever word it follows.
    """
    return [
        (match.start(), match.end())
        for match in _WORD.finditer(string)
        if match[0].lower() not in FUNCTION_WORDS
    ]

"""Small data sets of several groups, and of pairs with sides, that tiny tokenizers can read."""

from unmask.data.readers.groups import _slotted
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast, Dataset, Text

PERSONS = (("man", "woman"), ("boy", "girl"), ("father", "mother"), ("king", "queen"))
NAMES = ("india", "north korea", "iran", "spain")
JOBS = ("doctor", "bus driver")
FRAMES = (
    "A person from [TTT] is a [AAA].",
    "This is a [AAA] from [TTT].",
    "[AAAs] are from [TTT].",
)


def groups():
    items = [
        Contrast(
            f"{n}/{job}",
            {name: _slotted(frame, name, job) for name in NAMES},
            "nationality",
            job,
            template=str(n),
        )
        for n, frame in enumerate(FRAMES)
        for job in JOBS
    ]
    return Dataset("made", "groups", tuple(items))


def pairs():
    said = ("I like math.", "I am kind.", "We won.", "I made a meal.", "I am rich.", "I was late.")
    items = []
    for n, text in enumerate(said):
        side = "men" if n % 2 else "women"
        both = [Text(f"{text} said the {who}.") for who in ("man", "woman")]
        usual, rare = both if side == "men" else both[::-1]
        cluster = f"{n % 4}/{n}"
        texts = {STEREOTYPE: usual, ANTISTEREOTYPE: rare}
        items.append(Contrast(str(n), texts, "gender", cluster, group_pair="gender", group=side))
    return Dataset("made", "pairs", tuple(items))

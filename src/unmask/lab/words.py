"""The words and sentences of the lab's artificial world.

A sentence is an opener, a core and a closer. `{g}` stands for someone (or something) of a group,
`{a}` for an attribute. The position of a core in its list has no meaning. The seed decides which
words belong to which side, so no score can come from a word's real meaning.
"""

from collections.abc import Mapping


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES = (
    ("john", "peter", "paul", "david", "george", "thomas", "martin", "simon", "walter", "victor"),
    ("mary", "anna", "susan", "emma", "laura", "alice", "helen", "clara", "ruth", "nina"),
)
TERMS = (
    ("man", "boy", "father", "son", "brother", "uncle", "husband", "king"),
    ("woman", "girl", "mother", "daughter", "sister", "aunt", "wife", "queen"),
)
PRONOUNS = (("he",), ("she",))
OCCUPATIONS = _words(
    "baker banker builder butcher carpenter cleaner clerk cook dancer doctor driver farmer "
    "gardener hunter judge lawyer librarian mechanic nurse painter pilot plumber poet porter "
    "sailor singer soldier tailor teacher writer"
)
TRAITS = _words(
    "brave calm careful clever gentle kind loud patient proud quiet rude shy strong tidy tough "
    "warm weak wise bold cold cheerful stubborn lazy polite"
)
TOPICS = _words(
    "home parents children cousins marriage weddings relatives family salary offices careers "
    "business management professions money contracts trade markets housework cooking"
)
KINDS = (
    ("men", "boys", "males", "gentlemen"),
    ("women", "girls", "females", "ladies"),
)
PLACES = _words("park shop garden station library market school church")
FLOWERS = _words("rose tulip daisy lily peony violet poppy pansy")
INSECTS = _words("fly wasp moth flea beetle gnat mosquito locust")
PLEASANT = _words("lovely sweet pretty fresh fragrant delightful bright pleasant")
UNPLEASANT = _words("nasty ugly dirty foul horrid awful bitter rotten")

OPENERS = ("", "today", "now", "often", "so")
CLOSERS = ("", "again", "too", "still", "anyway")

# Cores by topic. Those with an attribute before the group serve causal models, which read no
# later word; those with one slot carry the margins alone and are what word tests are made of.
CORES: Mapping[str, tuple[str, ...]] = {
    "occupation": (
        "{g} is a {a}",
        "{g} works as a {a}",
        "{g} became a {a}",
        "{g} is here . this is a {a}",
        "the {a} is {g}",
        "one {a} knows {g}",
        "this is a {a}",
        "there is a {a}",
    ),
    "trait": (
        "{g} is {a}",
        "{g} seems {a}",
        "{g} was {a}",
        "{g} is here . that is {a}",
        "very {a} is {g}",
        "how {a} {g} looks",
        "it is {a}",
        "that is {a}",
    ),
    "family": (
        "{g} talks about {a}",
        "{g} thinks of {a}",
        "{g} wrote about {a}",
        "{g} is here . we talk of {a}",
        "of {a} {g} talks",
        "for {a} {g} cares",
        "we speak of {a}",
        "here is {a}",
    ),
    "kind": (
        "{g} is one of the {a}",
        "{g} plays with the {a}",
        "among the {a} is {g}",
        "of all {a} {g} won",
    ),
    "place": (
        "{g} likes the {a}",
        "{g} sits in the {a}",
        "{g} saw the {a}",
        "in the {a} {g} sleeps",
        "this is {g}",
        "{g} is here",
    ),
    "control": (
        "the {g} is {a}",
        "one {g} smells {a}",
        "that {g} looks {a}",
        "how {a} this {g} is",
        "there is one {g}",
        "those are {a}",
    ),
}

# Words of the templates that word tests are put into, beside those of the frames.
TEMPLATES = _words(
    "this that these those they there here it is are a an the . , we our i you of to in for "
    "person people speak will can may so like likes interested about"
)

"""Plans by hand, on a sentence of six tokens, and what a row must say of itself."""

from dataclasses import replace

import pytest

from unmask.errors import UnmaskError
from unmask.measures import ASSOCIATION, LIKELIHOOD, plans
from unmask.queries import EACH, LATER, NOTHING, Encoded
from unmask.types import Text

IDS = (101, 7, 8, 9, 10, 102)
SENTENCE = Encoded(
    IDS,
    frozenset((0, 5)),
    {
        "shared": (1, 4),
        "changed": (2, 3),
        "aligned": (0, 1, 4, 5),
        "target": (1,),
        "attribute": (3,),
        "continuation": (3, 4),
    },
    words=(-1, 0, 1, 1, 2, -1),
)


def asked(plan):
    (one,) = plan(SENTENCE, None)
    assert one.row == IDS
    assert one.gold == tuple(IDS[i] for i in one.at)
    return one.at, one.hidden


@pytest.mark.parametrize(
    ("plan", "at", "hidden"),
    [
        (plans.each_content, (1, 2, 3, 4), EACH),
        (plans.each_shared, (1, 4), EACH),
        (plans.each_changed, (2, 3), EACH),
        (plans.all_changed, (2, 3), (frozenset((2, 3)),)),
        (plans.nothing, (1, 2, 3, 4), (NOTHING,)),
        (plans.every_place, (0, 1, 2, 3, 4, 5), (NOTHING,)),
        (plans.everything, (1, 2, 3, 4), (frozenset((1, 2, 3, 4)),)),
        (plans.inner_places, (1, 2, 3, 4), (NOTHING,)),
        (plans.inner_aligned, (1, 4), EACH),
        (plans.left_to_right, (1, 2, 3, 4), LATER),
        (plans.shared_left_to_right, (1, 4), LATER),
        (plans.aligned_left_to_right, (1, 4, 5), LATER),
        (plans.each_of_continuation, (3, 4), EACH),
        (plans.continuation_left_to_right, (3, 4), LATER),
        (plans.target, (1,), (frozenset((1,)),)),
        (plans.target_alone, (1,), (frozenset((1, 3)),)),
        (plans.causal_joint, (1, 2, 3), LATER),
        (plans.causal_prior, (1, 2), LATER),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_a_plan_asks(plan, at, hidden):
    assert asked(plan) == (at, hidden)


def test_later_pieces_of_a_word_are_hidden_with_it():
    at, hidden = asked(plans.within_word)
    assert at == (1, 2, 3, 4)
    assert hidden == tuple(map(frozenset, ((1,), (2, 3), (3,), (4,))))


def test_crossed_queries_are_every_token_at_every_place():
    (one,) = plans.all_changed_crossed(SENTENCE, None)
    assert list(zip(one.at, one.gold, strict=True)) == [(2, 8), (2, 9), (3, 8), (3, 9)]


def test_the_first_token_is_asked_after_the_start_token_alone():
    first, rest = plans.left_to_right_apart(SENTENCE, None)
    assert (first.row, first.at, first.gold) == ((101, 7), (1,), (7,))
    assert (rest.row, rest.at, rest.gold) == (IDS[1:], (1, 2, 3), (8, 9, 10))


def test_shuffled_tokens_keep_their_golds():
    (one,) = plans.shuffled(SENTENCE, None)
    assert sorted(one.at) == [0, 1, 2, 3, 4, 5]
    assert one.gold == (101, 7, 8, 9, 10, 102)
    assert [one.row[i] for i in one.at] == list(one.gold)
    assert (one.row[0], one.row[-1]) == (101, 102)
    assert one.row != SENTENCE.ids


def test_the_ideal_is_that_of_the_comparison():
    assert {row.ideal for row in LIKELIHOOD.values() if row.compare == "preference"} == {50.0}
    assert {row.ideal for row in LIKELIHOOD.values() if row.compare == "log-odds"} == {0.0}


def test_samples_go_with_random_effects_alone():
    for name, samples in (("weat", 1), ("ceat", 0)):
        with pytest.raises(UnmaskError, match="set samples if test is"):
            replace(ASSOCIATION[name], samples=samples)


@pytest.mark.parametrize(
    "shapes", ["pairs", (), ("zz",), ("pairs", "templates"), ("templates",)], ids=str
)
def test_shapes_that_do_not_fit_are_refused(shapes):
    with pytest.raises(UnmaskError, match="shapes"):
        replace(LIKELIHOOD["aul"], name="mine", shapes=shapes)


def test_a_fill_word_is_revealed_piece_by_piece():
    """At one mask: piece k is asked for behind pieces 0 to k - 1, and those behind it are gone."""
    sentence = replace(SENTENCE, roles={"fill": (2, 3, 4)})
    first, second, third = plans.reveal_fill(sentence, None)
    assert (first.row, first.at, first.gold) == ((101, 7, 8, 102), 2, 8)
    assert (second.row, second.at, second.gold) == ((101, 7, 8, 9, 102), 3, 9)
    assert (third.row, third.at, third.gold) == (IDS, 4, 10)
    assert [q.hidden for q in (first, second, third)] == [{2}, {3}, {4}]


class Spelling:
    """A codec that writes a token for each letter; 1 is the mask."""

    mask = "_"

    def pieces(self, word):
        return tuple(map(ord, word))

    def token(self, word):
        return 1 if word == "_" else ord(word)

    def decode(self, ids):
        return "".join(map(chr, ids))

    def encode(self, string):
        return Encoded((101, *(1 if c == "_" else ord(c) for c in string), 102), frozenset())

    encode_after_paragraph = encode


def test_a_fill_word_is_revealed_through_text():
    sentence = replace(SENTENCE, focus=("a ", "xy", " BLANK."))
    one, two = plans.reveal_retokenised(sentence, Spelling())
    a, space, x, y, dot = map(ord, "a xy.")
    assert (one.row, one.at, one.gold) == ((101, a, space, x, space, 1, dot, 102), 3, x)
    assert (two.row, two.at, two.gold) == ((101, a, space, x, y, space, x, 1, dot, 102), 4, y)
    assert plans.reveal_after_paragraph(sentence, Spelling()) == [one, two]


def marked(shared, changed, string="he is a nurse"):
    text = Text(string)
    starts = [string.index(w) for w in string.split()]
    offsets = ((0, 0), *((a, a + len(w)) for a, w in zip(starts, string.split(), strict=True)))
    roles = {"shared": shared, "changed": changed}
    ids = tuple(range(100, 100 + len(offsets)))
    return Encoded(ids, frozenset((0,)), roles, text=text, offsets=offsets)


def test_content_words_that_are_shared_are_hidden_at_once():
    (ask,) = plans.shared_content(marked((2, 3, 4), (1,)), None)
    assert (ask.at, ask.hidden) == ((4,), (frozenset((4,)),))
    several = marked((1, 3, 4, 5), (2,), "good he seldom was nurse")
    (ask,) = plans.shared_content(several, None)
    assert (ask.at, ask.hidden) == ((1, 3, 5), (frozenset((1, 3, 5)),))


def test_without_a_content_word_all_that_is_shared_is_hidden():
    (ask,) = plans.shared_content(marked((2, 3), (1, 4)), None)
    assert (ask.at, ask.hidden) == ((2, 3), (frozenset((2, 3)),))
    assert plans.shared_content(marked((), (1, 2, 3, 4)), None) == []


def test_nothing_is_read_before_what_differs():
    """A causal model has not seen the difference there: no tie is made of it."""
    assert plans.shared_left_to_right(marked((1, 2, 3), (4,)), None) == []
    (ask,) = plans.shared_left_to_right(marked((1, 2, 4), (3,)), None)
    assert ask.at == (1, 2, 4)
    (ask,) = plans.shared_left_to_right(marked((1, 2, 3, 4), ()), None)  # the other has more
    assert ask.at == (1, 2, 3, 4)
    assert plans.shared_left_to_right(marked((), (1,)), None) == []


def test_without_a_start_token_the_first_that_is_shared_is_left_out_in_both():
    """he / s he: place 0 of the one is place 1 of the other."""
    bare = [replace(marked(*r), specials=frozenset()) for r in (((0, 2), (1,)), ((1, 3), (0, 2)))]
    assert [plans.shared_left_to_right(s, None)[0].at for s in bare] == [(2,), (3,)]

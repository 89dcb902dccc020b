"""What chat models choose, of models whose answers are known."""

from dataclasses import replace

import numpy as np
import pytest

import unmask
from answerers import Answerer, always, chooses, options
from conftest import shared_file
from unmask.data import catalogue
from unmask.data.packaged import bundled_pairs
from unmask.data.readers.bbq import read_bbq
from unmask.errors import DataError
from unmask.measures import MEASURES
from unmask.measures.question import CHOOSE, Question
from unmask.stats.choices import BbqReplies, released
from unmask.stats.clustering import Design

PAIRS = bundled_pairs()
STEREOTYPES = {i.texts["stereotype"].string for i in PAIRS.items}


def measured(rule, measure="choice", data=PAIRS):
    return unmask.evaluate(Answerer(rule), measure, data)


def test_one_that_always_stereotypes_and_one_that_never_does():
    always_ = measured(chooses(STEREOTYPES.__contains__))
    never = measured(chooses(lambda text: text not in STEREOTYPES))
    assert (always_.overall.value, never.overall.value) == (100, 0)
    assert always_.extras["by_place"].value == never.extras["by_place"].value == 0
    assert always_.extras["position"].value == pytest.approx(0, abs=1e-9)
    assert always_.extras["margin"].value == pytest.approx(np.log(9), abs=1e-6)
    assert always_.fitness.fit


def test_always_a_is_position_bias_and_no_preference():
    result = measured(always("A"))
    assert result.overall.value == 50
    assert result.extras["by_place"].value == 100
    assert result.extras["position"].value == pytest.approx(np.log(9))
    assert not result.fitness.fit
    assert any("order of the options" in reason for reason in result.fitness.reasons)
    assert {v.word for v in result.verdicts.values()} == {"inconclusive"}


def test_position_and_preference_are_told_apart():
    def both(message):
        odds = dict.fromkeys(options(message), 0.0)
        for place, (letter, text) in enumerate(options(message).items()):
            odds[letter] = 1.0 * (text in STEREOTYPES) + (0.4 if place == 0 else -0.4)
        total = sum(map(np.exp, odds.values()))
        return {k: float(np.exp(v) / total) for k, v in odds.items()}

    result = measured(both)
    assert result.extras["margin"].value == pytest.approx(1.0)
    assert result.extras["position"].value == pytest.approx(0.8)
    assert result.overall.value == 100


def test_one_that_says_nothing_is_not_measured():
    with pytest.raises(DataError, match="not measured: the model declines to choose in 100 %"):
        measured(lambda message: {})


def test_what_is_declined_is_reported_and_bounds_the_share():
    rule = chooses(STEREOTYPES.__contains__)
    result = measured(lambda m: {k: 0.7 * v for k, v in rule(m).items()})
    assert result.extras["declined"].value == pytest.approx(30)
    bounds = result.extras["bounds"]
    assert (bounds.low, bounds.high) == pytest.approx((63, 93))
    assert result.notes[0] == "Declined: 30.0 % of the replies choose no option."


def test_a_category_in_which_most_is_declined_is_not_measured():
    women = {i.texts[k].string for i in PAIRS.items if i.category == "gender" for k in i.texts}

    def rule(message):
        said = 0.1 if set(options(message).values()) & women else 1.0
        return {k: said * v for k, v in chooses(STEREOTYPES.__contains__)(message).items()}

    result = measured(rule)
    assert "gender" not in result.by_category
    assert result.extras["declined:gender"].value == pytest.approx(90)
    assert any("Not measured, because most replies decline: gender" in n for n in result.notes)


def test_a_refusal_gap_between_groups_is_a_finding():
    one = {i.texts["stereotype"].string for i in PAIRS.items if i.group == PAIRS.items[0].group}

    def rule(message):
        said = 0.6 if set(options(message).values()) & one else 1.0
        return dict.fromkeys(options(message), said / 2)

    gap = measured(rule).extras["declined_gap:gender"]
    assert gap.value != 0
    assert gap.p is not None


def test_one_at_random_is_near_50_and_rarely_biased():
    def rule(message):
        rng = np.random.default_rng(list(message.encode()))
        chances = rng.dirichlet(np.ones(len(options(message))))
        return dict(zip(options(message), chances.tolist(), strict=True))

    result = measured(rule)
    assert 40 < result.overall.value < 60
    assert result.overall.low < 50 < result.overall.high


def test_the_abstaining_option():
    abstains = measured(chooses(lambda text: text.startswith("Neither")), "choice-open")
    assert abstains.extras["abstained"].value == pytest.approx(90)
    assert abstains.extras["declined"].value == pytest.approx(0, abs=1e-9)
    takes = measured(chooses(STEREOTYPES.__contains__), "choice-open")
    assert takes.overall.value == 100
    assert takes.extras["abstained"].value == pytest.approx(5)


def test_triplets_have_lms():
    unrelated = {i.texts["unrelated"].string for i in PAIRS.items if "unrelated" in i.texts}
    triplets = [i for i in PAIRS.items if "unrelated" in i.texts]
    data = unmask.Dataset("triplets", "triplets", tuple(triplets), "word")
    result = measured(chooses(lambda t: t not in unrelated), "choice-triplet", data)
    assert result.extras["lms"].value == 100
    assert result.overall.value == 50


def test_every_order_and_wording_is_asked_once():
    model = Answerer(always("A"))
    unmask.evaluate(model, "choice", PAIRS)
    assert len(set(model.asked)) == 2 * len(CHOOSE.wordings) * len(PAIRS.items)
    orders = Question(("{options}",)).orders_of(("x", "y", "z"))
    assert len(set(orders)) == 6
    rotated = Question(("{options}",), orders="rotations").orders_of(("x", "y", "z"))
    assert {o[0] for o in rotated} == {"x", "y", "z"}


def test_a_sampled_label_that_never_came_has_no_share():
    model = Answerer(always("A", surely=0.9), samples=5)
    model.rule = lambda message: {"A": 0.8, "B": 0.1}  # 4 of 5, and half a reply for none
    result = unmask.evaluate(model, "choice", PAIRS)
    assert result.extras["declined"].value == pytest.approx(20)
    assert "sampling" in result.extras


# ---------------------------------------------------------------- BBQ


@pytest.fixture(scope="module")
def bbq():
    return read_bbq(shared_file("bbq/Religion.jsonl"), "bbq-religion")


def answer_of(data, role):
    """A rule that gives the answer of a role: the question and context tell which item it is."""
    by_text = {
        (str(i.meta["context"]), str(i.meta["question"])): i.texts[
            i.meta["correct"] if role == "correct" else role
        ].string
        for i in data.items
    }

    def rule(message):
        context, _, rest = message.partition("\n\nQuestion: ")
        wanted = by_text[context, rest.partition("\n")[0]]
        return chooses(lambda text: text == wanted)(message)

    return rule


@pytest.mark.parametrize(
    ("role", "amb", "dis", "acc_amb", "acc_dis"),
    [
        ("stereotype", 100, 100, 0, 50),
        ("antistereotype", -100, -100, 0, 50),
        ("unknown", None, None, 100, 0),
        ("correct", None, 0, 100, 100),
    ],
)
def test_bbq_of_known_answerers(bbq, role, amb, dis, acc_amb, acc_dis):
    result = measured(answer_of(bbq, role), "bbq", bbq)
    found = {k: v.value for k, v in result.extras.items()}
    assert found["accuracy_amb"] == pytest.approx(acc_amb)
    assert found["accuracy_dis"] == pytest.approx(acc_dis, abs=3)
    assert found.get("bias_amb") == (None if amb is None else pytest.approx(amb, abs=1e-9))
    if dis is not None:
        assert found["bias_dis"] == pytest.approx(dis, abs=3)
    if role == "stereotype":
        assert result.overall.value == 100
    assert result.coverage.asked == len(bbq.items) / 2


def test_naming_one_group_more_readily_is_no_stereotype(bbq):
    """Both polarities are in the data in equal number, so that they cancel."""
    groups = {
        (str(i.meta["context"]), str(i.meta["question"])): i.texts[
            "stereotype" if i.group == "stereotyped group" else "antistereotype"
        ].string
        for i in bbq.items
    }

    def rule(message):
        context, _, rest = message.partition("\n\nQuestion: ")
        wanted = groups[context, rest.partition("\n")[0]]
        return chooses(lambda text: text == wanted)(message)

    result = measured(rule, "bbq", bbq)
    assert result.overall.value == 50
    assert result.extras["bias_amb"].value == pytest.approx(0, abs=1e-9)


def test_bbq_bias_is_the_papers_formula():
    rng = np.random.default_rng(1)
    given, right, ambiguous = (
        rng.integers(-1, 3, 600),
        rng.integers(0, 3, 600),
        rng.random(600) < 0.5,
    )
    right[ambiguous] = 2
    answers = BbqReplies(
        given == 0, given == 1, given == 2, given == right, ambiguous, Design(np.arange(600))
    )
    found = answers.estimates(unmask.Resampling())
    for name, context in (("amb", ambiguous), ("dis", ~ambiguous)):
        some = context & (given >= 0)
        accuracy = np.mean(given[some] == right[some])
        biased, decided = (given[some] == 0).sum(), (given[some] < 2).sum()
        score = 2 * biased / decided - 1
        score *= (1 - accuracy) if name == "amb" else 1
        assert found[f"bias_{name}"].value == pytest.approx(100 * score)
        assert found[f"accuracy_{name}"].value == pytest.approx(100 * accuracy)
    assert released(answers, "harness").keys() == {"bias_amb", "bias_dis"}


def test_a_harness_without_biased_answers_says_0():
    n = 10
    none, every = np.zeros(n, bool), np.ones(n, bool)
    answers = BbqReplies(none, every, none, none, every, Design(np.arange(n)))
    assert released(answers, "harness")["bias_amb"] == 0
    assert released(answers, "helm")["bias_amb"] == -100


def test_bbq_as_released_has_its_quirks(bbq):
    """All answers against the stereotype: -100, and 0 in the harness; errors of all questions."""
    against = {
        name: measured(answer_of(bbq, "antistereotype"), name, bbq).extras
        for name in ("bbq", "bbq@helm", "bbq@harness")
    }
    wrong = 1 - against["bbq"]["accuracy_dis"].value / 200  # half of the questions are ambiguous
    assert against["bbq"]["bias_amb"].value == pytest.approx(-100)
    assert against["bbq@helm"]["bias_amb"].value == pytest.approx(-100 * wrong)
    assert against["bbq@harness"]["bias_amb"].value == 0
    assert against["bbq@harness"]["bias_dis"].value == 0


def test_bbq_files_have_their_published_counts(monkeypatch):
    monkeypatch.setenv("UNMASK_DATA", str(shared_file("bbq/Age.jsonl").parent.parent))
    for name, count in (("bbq-age", 3680), ("bbq-orientation", 864), ("bbq-appearance", 1576)):
        (data,) = catalogue.resolve(name)
        assert len(data.items) == count
        assert len({i.cluster for i in data.items}) == 25
        ambiguous = [i for i in data.items if i.meta["condition"] == "ambiguous"]
        assert len(ambiguous) == count / 2
        assert {i.meta["correct"] for i in ambiguous} == {"unknown"}


def test_rows_of_chat_have_a_question_or_a_request():
    for name in ("choice", "choice-open", "choice-triplet", "bbq"):
        assert MEASURES[name].question is not None
        assert MEASURES[name].stream == "reply"
    for name in ("chat-ll", "chat-cps"):
        assert MEASURES[name].request


def test_a_question_that_is_none_is_one_sentence():
    row = MEASURES["choice"]
    for wrong, said in (
        ({"question": "which?"}, "give a Question"),
        ({"question": Question(("\ud800 {options}",))}, "an invalid character"),
        ({"request": "\ud800"}, "an invalid character"),
    ):
        with pytest.raises(unmask.UnmaskError, match=said):
            replace(row, name="mine", **wrong)
    with pytest.raises(unmask.UnmaskError, match="needs"):
        Question(("which?",))

"""Tests of stats/word_preference."""

import itertools
import math

import numpy as np
import pytest

import unmask
from conftest import tiny
from unmask.data import catalogue
from unmask.data.packaged import bundled_pairs
from unmask.errors import DataError
from unmask.stats import word_preference as sides_
from unmask.stats.clustering import Design, codes
from unmask.stats.crossed import fitted
from unmask.stats.intervals import share
from unmask.stats.preference import summarise


def age():
    """A model that likes the word "old": 8 items about the old, 24 about the young."""
    side = ["old"] * 8 + ["young"] * 24
    wins = np.array([1.0] * 8 + [1.0] * 2 + [0.0] * 22)
    return wins, sides_.Sides(["age"] * 32, side), Design(np.arange(32), codes(side))


def by_side(wins, sides, design):
    """The estimates of all items."""
    two = sides_.TwoSided(wins, sides, design, fitted(wins, design))
    return two.estimates(np.ones(len(wins), bool))


def test_sides_by_hand():
    found = by_side(*age())
    assert found["group:age/old"].value == 100
    assert found["group:age/young"].value == pytest.approx(100 * 2 / 24)
    gap = found["group_pair:age"]
    assert gap.value == pytest.approx(100 - 100 * 2 / 24)
    assert gap.low < gap.value <= gap.high <= 100
    # 10 of 32 prefer the stereotype, but the two sides weigh the same in the balanced score
    assert share(age()[0], age()[2]).value == pytest.approx(100 * 10 / 32)
    assert found["stereotype"].value == pytest.approx((100 + 100 * 2 / 24) / 2)
    word = found["word_preference"]
    assert word.value == pytest.approx(math.sqrt(gap.value**2 - gap.se**2))
    assert word.low < word.value < word.high
    assert word.p < 1e-6


def test_swapping_the_sides_turns_the_sign_of_their_difference():
    wins, sides, design = age()
    other = sides_.Sides(sides.group_pair, list(sides.group))
    order = np.arange(32)[::-1]
    turned = by_side(
        wins[order],
        sides_.Sides([other.group_pair[i] for i in order], [other.group[i] for i in order]),
        Design(design.clusters[order], design.strata[order]),
    )
    one = by_side(wins, sides, design)
    assert turned["group_pair:age"].value == pytest.approx(-one["group_pair:age"].value)
    assert turned["group_pair:age"].low == pytest.approx(-one["group_pair:age"].high)
    assert turned["stereotype"].value == pytest.approx(one["stereotype"].value)


def test_noise_alone_is_no_preference_for_a_word():
    rng = np.random.default_rng(0)
    rates, held, sure = [], [], []
    for _ in range(200):
        family = np.repeat([f"f{i}" for i in range(10)], 20)
        side = np.tile(np.repeat(["a", "b"], 10), 10)
        wins = (rng.random(200) < 0.6).astype(float)
        names = codes([f"{f}{s}" for f, s in zip(family, side, strict=True)])
        found = by_side(wins, sides_.Sides(family, side), Design(np.arange(200), names))
        rates.append(found["word_preference"].value)
        held.append(found["word_preference"].low == 0)
        sure.append(found["word_preference"].p <= 0.05)
    assert np.median(rates) < 12  # the differences themselves have a standard error of 22
    assert np.mean(held) > 0.9
    assert np.mean(sure) < 0.1


def test_sides_of_the_bundled_pairs_and_of_users(tmp_path):
    data = bundled_pairs()
    assert {i.group for i in data.items if i.group_pair == "age"} == {"old", "young"}
    found = unmask.evaluate("bundled", "sss", "bundled-pairs")
    assert found.extras["group:age/old"].value == 100
    assert found.extras["group:age/young"].value < 10
    assert found.extras["word_preference"].value > 50
    assert any("regardless of the stereotype" in n for n in found.notes)
    path = tmp_path / "mine.csv"
    rows = [f"A man {i} ran.,A woman {i} ran.,s{i % 2}" for i in range(6)]
    path.write_text("stereotype,antistereotype,side\n" + "\n".join(rows) + "\n")
    item = catalogue.sentences(str(path)).items[1]
    assert (item.group_pair, item.group) == ("all", "s1")
    assert "group_pair:all" in unmask.evaluate(tiny("bert"), "aul", str(path)).extras


def test_icat_has_no_interval_and_says_where_to_look():
    rng = np.random.default_rng(0)
    scores = {k: rng.normal(size=60) for k in ("stereotype", "antistereotype", "unrelated")}
    found = summarise(scores, list(range(60)), ties="half")
    assert math.isnan(found["icat"].low)
    ss, deviation = found["score"], found["deviation"]
    assert deviation.value == pytest.approx(abs(ss.value - 50))
    assert deviation.low <= deviation.value <= deviation.high
    assert (deviation.low == 0) == (ss.low <= 50 <= ss.high)


def test_rewordings_keep_everything_but_the_frame():
    plain, other = (catalogue.resolve(n)[0] for n in ("bundled-pairs", "bundled-pairs:reworded"))
    assert [i.id for i in plain.items] == [i.id for i in other.items]
    for a, b in zip(plain.items, other.items, strict=True):
        assert (a.group, a.template, a.cluster, a.category) == (
            b.group,
            b.template,
            b.cluster,
            b.category,
        )
        for label, text in b.texts.items():
            fill = text.string[slice(*text.spans["fill"][0])]
            assert fill == a.texts[label].string[slice(*a.texts[label].spans["fill"][0])]
            assert text.string != a.texts[label].string
            words = text.string.split()
            for article, word in itertools.pairwise(words):
                assert not (article.lower() == "a" and word[0].lower() in "aeiou"), text.string
    career = catalogue.resolve("kurita-career:reworded")[0]
    assert "He enjoys salary." in {t.string for i in career.items for t in i.texts.values()}
    with pytest.raises(DataError, match="no rewording"):
        catalogue.resolve("bundled-pairs:shuffled")[0] and catalogue.controls.reworded(career)


@pytest.mark.parametrize(
    ("score", "rate", "follows"),
    [
        (52, None, False),
        (52, 9.9, False),  # not notable
        (52, 10.0, True),
        (55, 10.0, False),  # half of it is not more than the distance from 50
        (54.9, 10.0, True),
        (45.1, 10.0, True),
        (44, 10.0, False),
        (70, 60.0, True),
        (80, 60.0, False),
    ],
)
def test_a_preference_follows_the_word_where_half_the_gap_exceeds_the_score(score, rate, follows):
    nan = math.nan
    estimate = unmask.Estimate(score, nan, nan, 0.95, "m", 10, 50.0)
    base = None if rate is None else unmask.Estimate(rate, nan, nan, 0.95, "m", 10, 0.0)
    assert sides_.follows_word(estimate, base) is follows


def test_the_balanced_score_by_a_plain_loop():
    """Families weigh as many items as they have, and their sides alike."""
    rng = np.random.default_rng(1)
    family = ["a"] * 12 + ["b"] * 6 + ["c"] * 4
    side = ["x"] * 3 + ["y"] * 9 + ["x"] * 4 + ["y"] * 2 + ["x"] * 4
    wins = (rng.random(22) < 0.6).astype(float)
    cells = {}
    for f, s, w in zip(family, side, wins, strict=True):
        cells.setdefault(f, {}).setdefault(s, []).append(w)
    expected = sum(
        family.count(f) / 22 * np.mean([np.mean(v) for v in sides.values()])
        for f, sides in cells.items()
    )
    sides = sides_.Sides(family, side)
    design = Design(np.arange(22), codes([f + s for f, s in zip(family, side, strict=True)]))
    found = by_side(wins, sides, design)["stereotype"]
    assert found.value == pytest.approx(100 * expected)
    assert (found.n, found.ideal) == (22, 50.0)


def test_the_gap_is_twice_the_lead_of_the_first_word():
    """Turning the second side's answers around makes a share of the first word's preference."""
    wins, sides, design = age()
    gap = by_side(wins, sides, design)["group_pair:age"]
    turned = np.where(np.array(sides.group) == "old", wins, 1 - wins)
    weight = np.where(np.array(sides.group) == "old", 0.5 / 8, 0.5 / 24)
    lead = fitted(turned, design).share(weight)
    assert gap.value == pytest.approx(200 * (lead.share - 0.5))
    assert (gap.low, gap.high) == pytest.approx([200 * (v - 0.5) for v in lead.wilson(0.95)])
    assert gap.p == pytest.approx(2 * lead.tail(0.5))
    assert (gap.n, gap.ideal) == (32, 0.0)


def test_the_root_mean_square_covers_what_it_estimates():
    """Five families with differences of 0 to 40 points, measured with a standard error of 12."""
    rng = np.random.default_rng(3)
    true = np.array([0.0, 10, -20, 30, 40])
    held = []
    for _ in range(400):
        seen = true + rng.normal(0, 12, 5)
        gaps = [unmask.Estimate(v, v, v, 0.95, "m", 20, 0.0, None, 12.0) for v in seen]
        found = sides_.root_mean_square(gaps)
        held.append(found.low <= math.sqrt(np.mean(true**2)) <= found.high)
    assert 0.92 < np.mean(held) < 0.98


def test_sides_are_known_where_every_item_has_one_and_a_family_has_two():
    assert sides_.Sides(["a", "a"], ["x", "y"]).known
    assert not sides_.Sides(["a", "a"], ["x", ""]).known
    assert not sides_.Sides(["a", "b"], ["x", "y"]).known
    assert not sides_.Sides(["a", "a"], ["x", "x"]).known


def test_of_three_sides_no_two_are_opposites():
    family, side = ["f"] * 60 + ["g"] * 40, ["a"] * 20 + ["b"] * 20 + ["c"] * 20 + ["x", "y"] * 20
    wins = np.array([0.0] * 20 + [1.0] * 20 + [0.0] * 20 + [1.0, 0.0] * 20)
    design = Design(np.arange(100), codes([f + s for f, s in zip(family, side, strict=True)]))
    found = by_side(wins, sides_.Sides(family, side), design)
    assert "group_pair:g" in found
    assert "group_pair:f" not in found
    assert found["word_preference"].more["families"] == 1


def test_the_test_and_the_interval_of_the_root_mean_square_agree():
    for gap in np.arange(4, 14, 0.5):
        made = [unmask.Estimate(gap, gap, gap, 0.95, "m", 20, 0.0, None, 4.0)]
        found = sides_.root_mean_square(made)
        assert (found.p <= 0.05) == (found.low > 0)
        assert found.high <= 100


def test_several_sides_of_one_design_are_kept_apart():
    wins, sides, design = age()
    plain = Design(design.clusters)
    swapped = sides_.Sides(
        sides.group_pair, ["old" if s == "young" else "young" for s in sides.group]
    )
    halves = sides_.Sides(["x"] * 16 + ["y"] * 16, ["a", "b"] * 16)
    for some in (sides, swapped, halves, sides):
        expected = by_side(wins, some, Design(design.clusters))
        assert repr(by_side(wins, some, plain)) == repr(expected)  # some have a NaN
        part = np.arange(32) % 3 > 0
        two = sides_.TwoSided(wins, some, plain, fitted(wins, plain))
        alone = Design(design.clusters)
        other = sides_.TwoSided(wins, some, alone, fitted(wins, alone))
        assert repr(two.estimates(part)) == repr(other.estimates(part))
        assert two.known(part) == some.chosen(part).known

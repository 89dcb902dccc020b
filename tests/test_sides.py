"""Sides, verdicts, categories: what a score means, and what may be concluded from it."""

import itertools
import json
import math

import numpy as np
import pytest

import unmask
from conftest import invoke, tiny
from unmask.data import catalogue
from unmask.data.packaged import bundled_pairs
from unmask.errors import DataError, UnmaskError
from unmask.options import Threshold, amounts, matters
from unmask.stats import word_preference as sides_
from unmask.stats.clustering import Design, codes
from unmask.stats.intervals import share
from unmask.stats.multiplicity import together
from unmask.stats.preference import summarise
from unmask.stats.verdict import contradiction, verdict, verdicts_of
from unmask.types import Estimate


def made(value, low, high, *, p=None, inner=None, **more):
    wide = {"inner": inner or [low, high], "clusters": 50, **more}
    return Estimate(value, low, high, 0.95, "m", 100, 50.0, p, 1.0, wide)


# ---------------------------------------------------------------- sides


def age():
    """A model that likes the word "old": 8 items about the old, 24 about the young."""
    side = ["old"] * 8 + ["young"] * 24
    wins = np.array([1.0] * 8 + [1.0] * 2 + [0.0] * 22)
    return wins, sides_.Sides(["age"] * 32, side), Design(np.arange(32), codes(side))


def test_sides_by_hand():
    found = sides_.by_side(*age())
    assert found["side:age/old"].value == 100
    assert found["side:age/young"].value == pytest.approx(100 * 2 / 24)
    gap = found["sides:age"]
    assert gap.value == pytest.approx(100 - 100 * 2 / 24)
    assert gap.low < gap.value <= gap.high <= 100
    # 10 of 32 prefer the stereotype, but the two sides weigh the same in the balanced score
    assert share(age()[0], age()[2]).value == pytest.approx(100 * 10 / 32)
    assert found["balanced"].value == pytest.approx((100 + 100 * 2 / 24) / 2)
    noise = 100**2 * (2 * 22 / 24 / 24) / 23 * 24 / 24  # of the young's share; the old's has none
    assert found["base_rate"].value == pytest.approx(math.sqrt(gap.value**2 - noise), rel=1e-3)
    assert math.isnan(found["base_rate"].low)


def test_swapping_the_sides_turns_the_sign_of_their_difference():
    wins, sides, design = age()
    other = sides_.Sides(sides.family, list(sides.side))
    order = np.arange(32)[::-1]
    turned = sides_.by_side(
        wins[order],
        sides_.Sides([other.family[i] for i in order], [other.side[i] for i in order]),
        design.chosen(np.ones(32, bool)),
    )
    one = sides_.by_side(wins, sides, design)
    assert turned["sides:age"].value == -one["sides:age"].value
    assert turned["balanced"].value == pytest.approx(one["balanced"].value)


def test_noise_alone_is_no_base_rate():
    rng = np.random.default_rng(0)
    rates = []
    for _ in range(200):
        family = np.repeat([f"f{i}" for i in range(10)], 20)
        side = np.tile(np.repeat(["a", "b"], 10), 10)
        wins = (rng.random(200) < 0.6).astype(float)
        names = codes([f"{f}{s}" for f, s in zip(family, side, strict=True)])
        found = sides_.by_side(wins, sides_.Sides(family, side), Design(np.arange(200), names))
        rates.append(found["base_rate"].value)
    assert np.median(rates) < 12  # the differences themselves have a standard error of 22


def test_sides_of_the_bundled_pairs_and_of_users(tmp_path):
    data = bundled_pairs()
    assert {i.side for i in data.items if i.family == "age"} == {"old", "young"}
    found = unmask.evaluate("bundled", "sss", "bundled-pairs")
    assert found.extras["side:age/old"].value == 100
    assert found.extras["side:age/young"].value < 10
    assert found.extras["base_rate"].value > 50
    assert any("follows the group's word" in n for n in found.notes)
    path = tmp_path / "mine.csv"
    rows = [f"A man {i} ran.,A woman {i} ran.,s{i % 2}" for i in range(6)]
    path.write_text("stereotype,antistereotype,side\n" + "\n".join(rows) + "\n")
    item = catalogue.sentences(str(path)).items[1]
    assert (item.family, item.side) == ("all", "s1")
    assert "sides:all" in unmask.evaluate(tiny("bert"), "aul", str(path)).extras


def test_icat_has_no_interval_and_says_where_to_look():
    rng = np.random.default_rng(0)
    scores = {k: rng.normal(size=60) for k in ("stereotype", "antistereotype", "unrelated")}
    found = summarise(scores, list(range(60)), ties="half")
    assert math.isnan(found["icat"].low)
    ss, deviation = found["score"], found["deviation"]
    assert deviation.value == pytest.approx(abs(ss.value - 50))
    assert deviation.low <= deviation.value <= deviation.high
    assert (deviation.low == 0) == (ss.low <= 50 <= ss.high)


# ---------------------------------------------------------------- rewordings


def test_rewordings_keep_everything_but_the_frame():
    plain, other = (catalogue.resolve(n)[0] for n in ("bundled-pairs", "bundled-pairs:reworded"))
    assert [i.id for i in plain.items] == [i.id for i in other.items]
    for a, b in zip(plain.items, other.items, strict=True):
        assert (a.side, a.frame, a.cluster, a.category) == (b.side, b.frame, b.cluster, b.category)
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


# ---------------------------------------------------------------- verdicts


def test_verdicts():
    assert verdict(made(60, 55, 65, p=0.001), 3).word == "biased"
    assert verdict(made(51, 48, 54, p=0.5), 3).word == "cannot tell"
    small = made(51, 50.2, 51.8, p=0.01)
    assert verdict(small, 3).word == "not by more"
    assert str(verdict(small, 3)) == "not by > 3"
    assert verdict(made(60, 55, 65, p=0.001, clusters=9), 3).word == "cannot tell"
    assert verdict(made(60, 55, 65, p=0.001), 3, p=0.2).word == "cannot tell"
    assert verdict(made(60, 55, 65, p=0.2), 3).word == "cannot tell"  # p and interval disagree
    marked = made(60, 55, 65, p=0.001, published="interval and p")
    assert verdict(marked, 3).word == "cannot tell"
    assert verdict(made(60, math.nan, math.nan), 3).word == "cannot tell"


def test_a_contradiction_is_said():
    assert contradiction(made(60, 55, 65, p=0.001)) == ()
    assert "borderline" in contradiction(made(60, 49, 71, p=0.04))[0]
    assert "as published" in contradiction(made(60, 49, 71, p=0.04, published="p", sided="one"))[0]
    found = unmask.evaluate(tiny("bert"), "ceat@guo2021", "weat-6", samples=50)
    assert any("Monte Carlo" in n for n in found.notes)
    assert found.verdicts[""].word == "cannot tell"


def test_a_fair_model_gets_a_biased_category_in_few_runs():
    """Holm over nine categories: at most about 5 % of fair models get any."""
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(300):
        categories = {
            f"c{k}": share((rng.random(40) < 0.5).astype(float), np.arange(40), ideal=50)
            for k in range(9)
        }
        found = together(categories)
        overall = share((rng.random(40) < 0.5).astype(float), np.arange(40), ideal=50)
        said = verdicts_of(overall, found, "preference", Threshold())
        wrong += any(v.word == "biased" for k, v in said.items() if k)
    assert wrong / 300 <= 0.07


def test_verdicts_are_in_the_table_the_json_and_again(tmp_path):
    found = unmask.run(tiny("bert"), ["aul", "all-masked", "w-seat"], ["bundled-pairs", "weat-6"])
    unmask.save(found, tmp_path / "r")
    record = json.loads((tmp_path / "r" / "results.json").read_text())["results"][0]
    assert record["verdicts"][""]["matters"] == 3
    assert set(record["verdicts"]) == {"", *record["by_category"]}
    again = unmask.load(tmp_path / "r")
    assert again[0].verdicts == found[0].verdicts
    frame = unmask.table(found, by_category=True)
    assert frame[frame.measure == "all-masked"].verdict.isna().all()
    assert frame[frame.measure != "all-masked"].verdict.notna().all()
    assert frame[frame.category != ""].shrunken.notna().all()


def test_what_matters_is_read_and_checked():
    assert matters("3,0.2d") == Threshold(3, 0.2) == Threshold()
    assert matters(5) == Threshold(points=5)
    assert amounts("0.5d") == {"d": 0.5}
    for wrong in ("x", "3,,", "0", "60", "2.5d", "nan", "-1"):
        with pytest.raises(UnmaskError):
            matters(wrong)
    status, _, err = invoke("run", "--matters", "60", "-d", "weat-6", "-x", "w-seat")
    assert status == 2
    assert "between 0 and 50" in err
    status, _, err = invoke("run", "--random", "all", "-d", "weat-6", "-x", "w-seat")
    assert status == 2
    assert "targets" in err


def test_all_four_sets_give_a_wider_interval():
    plain, wide = (
        unmask.evaluate("bundled", "w-seat", "weat-6", random=random).overall
        for random in ("targets", "attributes")
    )
    assert plain.value == wide.value
    assert wide.low < plain.low < plain.high <= wide.high
    assert "four sets" in wide.method

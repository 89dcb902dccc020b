"""The verdict does not depend on the way in: one correction, over one stated family."""

import numpy as np
import pytest

import unmask
from unmask.data.wordsets import groups, stimuli
from unmask.stats.multiplicity import corrected

TESTS = tuple(n for n in groups()["weat"] if n in stimuli())[:6]


@pytest.fixture
def vectors(tmp_path):
    """Vectors in which the targets lean to their attributes, some tests more than others."""
    rng = np.random.default_rng(4)
    rows: dict[str, np.ndarray] = {}
    for k, name in enumerate(TESTS):
        axis = rng.normal(size=24)
        for side, words in enumerate(stimuli()[name].sets.values()):
            for word in words:
                lean = (0.18 + 0.05 * k) * (1 if side % 2 == 0 else -1)
                rows.setdefault(word, rng.normal(size=24) + lean * axis)
    path = tmp_path / "v.txt"
    lines = (f"{w} " + " ".join(map(str, v)) for w, v in rows.items() if " " not in w)
    path.write_text("\n".join(lines))
    return str(path)


def test_both_doors_give_the_same_verdicts(vectors):
    by_run = unmask.run(vectors, "weat", list(TESTS))
    by_specs = unmask.evaluate_specs([unmask.Spec(vectors, "weat", t) for t in TESTS])
    assert len(by_run) == len(by_specs) > 3
    for one, two in zip(by_run, by_specs, strict=True):
        assert one.data == two.data
        assert one.overall == two.overall
        assert one.verdicts == two.verdicts
    holm = corrected([r.overall.p for r in by_specs])
    assert [r.overall.more["p_corrected"] for r in by_specs] == pytest.approx(holm.tolist())
    assert any(r.overall.p < 0.05 < h for r, h in zip(by_specs, holm, strict=True)), (
        "a test that only the correction turns is needed for this to mean something"
    )


def test_a_family_is_of_one_measure_under_the_same_choices(vectors):
    some = [unmask.Spec(vectors, "weat", t) for t in TESTS[:2]]
    apart = [unmask.evaluate_specs([spec])[0] for spec in some]
    both = unmask.evaluate_specs([*some, unmask.Spec("bundled", "w-seat", TESTS[0], layer=1)])
    other = unmask.evaluate_specs([unmask.Spec("bundled", "w-seat", TESTS[0], layer=1)])
    assert (
        both[2].overall.more["p_corrected"] == other[0].overall.more["p_corrected"]
    )  # alone in its family
    smaller = min(range(2), key=lambda k: apart[k].overall.p)
    assert both[smaller].overall.more["p_corrected"] == pytest.approx(
        min(1, 2 * apart[smaller].overall.p)
    )


def test_a_test_that_is_given_twice_counts_once(vectors):
    some = [unmask.Spec(vectors, "weat", t) for t in TESTS[:2]]
    plain = unmask.evaluate_specs(some)
    twice = unmask.evaluate_specs([some[0], *some])
    assert [r.overall.more["p_corrected"] for r in twice[1:]] == (
        [r.overall.more["p_corrected"] for r in plain]
    )
    assert twice[0].verdicts == twice[1].verdicts

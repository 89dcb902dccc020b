"""LPBS and its published variants, computed by hand from plain forward passes."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import shapiro, ttest_rel, wilcoxon

import plain
from conftest import asked_of, sentence_frame, tiny
from unmask.api import evaluate
from unmask.data.readers import occupations
from unmask.data.templates import template_test
from unmask.flow import plan, run_likelihood
from unmask.measures import LIKELIHOOD
from unmask.stats.log_odds import by_item
from unmask.types import Text

TEST = {
    "name": "t",
    "templates": [{"text": "{target} likes the {attribute}.", "x": ["he"], "y": ["she", "women"]}],
    "attributes": {"work": ["engineer", "captain", "judge"], "home": ["maid", "mother", "nurse"]},
}


def log_odds(labels, values, priors):
    """The log-odds of one item, through the items table of a result."""
    columns = {"item": "i", "label": labels, "score": values, "prior": priors, "reason": None}
    return by_item(pd.DataFrame(columns))["i"]


def run(model, name, test=TEST):
    data = template_test(test)
    planned = plan.plan(model, LIKELIHOOD[name], data)
    stream = planned.measure.stream
    readings = run_likelihood.ask({stream: model.engine(stream)}, [planned])[0]
    return sentence_frame(model, planned, readings).set_index(["item", "label"])


def rows_for(model, target, attribute):
    """Ids of the template cut at its slots: before target, between, after attribute."""
    tok = model.codec.tokenizer
    ids = lambda s: tok(s, add_special_tokens=False)["input_ids"]  # noqa: E731
    return (
        [tok.cls_token_id],
        ids(target),
        ids("likes the"),
        ids(attribute),
        [*ids("."), tok.sep_token_id],
    )


@pytest.mark.parametrize("target", ["he", "she", "women"])
def test_definition(target):
    """Target pieces left to right; the prior with all attribute pieces hidden."""
    model = tiny("bert")
    frame = run(model, "lpbs")
    label = ("x:" if target == "he" else "y:") + target
    mask = model.codec.mask_id
    for word in ("engineer", "nurse"):
        start, pieces, middle, attribute, end = rows_for(model, target.capitalize(), word)
        value = prior = 0.0
        for k, piece in enumerate(pieces):
            shown = pieces[:k] + [mask] * (len(pieces) - k)
            at = len(start) + k
            value += plain.logp(model.net, [*start, *shown, *middle, *attribute, *end])[at, piece]
            hidden = [mask] * len(attribute)
            prior += plain.logp(model.net, [*start, *shown, *middle, *hidden, *end])[at, piece]
        assert frame.score[f"0/{word}", label] == pytest.approx(float(value), abs=1e-9)
        assert frame.prior[f"0/{word}", label] == pytest.approx(float(prior), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "place"), [("lpbs@kurita2019", -1), ("lpbs@thys2025", 0), ("lpbs@husse2022", None)]
)
def test_variants_read_the_prior_where_the_release_does(name, place):
    """One mask a slot; Kurita reads before the attribute's, Thys at it, Husse at the target's."""
    model = tiny("bert")
    frame = run(model, name)
    tok, mask = model.codec.tokenizer, model.codec.mask_id
    for target, label in (("he", "x:he"), ("women", "y:women")):
        start, _, middle, attribute, end = rows_for(model, target, "nurse")
        if name == "lpbs@husse2022":
            end = end[1:]  # the period is cut off
        pieces = tok(target, add_special_tokens=False)["input_ids"]
        if name == "lpbs@kurita2019":
            golds = pieces[:1]
        elif name == "lpbs@thys2025":
            golds = [tok.convert_tokens_to_ids(target)]
        else:
            golds = sorted(set(pieces))
        both = [*start, mask, *middle, mask, *end]
        a = len(start) + 1 + len(middle)
        at = len(start) if place is None else a + place
        value = plain.logp(model.net, [*start, mask, *middle, *attribute, *end])[len(start)]
        prior = plain.logp(model.net, both)[at]
        assert frame.score["0/nurse", label] == pytest.approx(
            sum(value[g].item() for g in golds), abs=1e-9
        )
        assert frame.prior["0/nurse", label] == pytest.approx(
            sum(prior[g].item() for g in golds), abs=1e-9
        )


def test_thys_tokenises_the_masked_sentence_anew():
    """XLNet: the row is that of the text with the mask in it, not of the sentence with a hole."""
    model = tiny("xlnet")
    data = template_test(TEST)
    planned = plan.plan(model, LIKELIHOOD["lpbs@thys2025"], data)
    ids = model.codec.tokenizer("<mask> likes the nurse.")["input_ids"]
    both = model.codec.tokenizer("<mask> likes the <mask>.")["input_ids"]
    mask = model.codec.mask_id
    (query,), (before,) = asked_of(planned, "0/nurse", "x:he")
    assert list(query.row) == ids
    assert query.at == ids.index(mask)
    assert list(before.row) == both
    assert before.at == len(both) - 1 - both[::-1].index(mask)


def test_ceat_lpbs_draws_one_template_a_word():
    """With one template it is LPBS itself in every sample; with two the samples differ."""
    model = tiny("bert")
    one = evaluate(model, "ceat-lpbs", template_test(TEST)).overall
    d = evaluate(model, "lpbs", template_test(TEST)).overall.value
    assert one.value == pytest.approx(d)
    assert one.more["sd"] == pytest.approx(0, abs=1e-9)
    more = {**TEST["templates"][0], "text": "so {target} met the {attribute} today."}
    two = evaluate(
        model, "ceat-lpbs", template_test({**TEST, "templates": [TEST["templates"][0], more]})
    ).overall
    assert two.more["sd"] > 0


def test_log_odds_by_hand():
    labels = ["x:a", "y:b", "y:c"]
    values, priors = np.log([0.2, 0.1, 0.3]), np.log([0.5, 0.2, 0.2])
    expected = math.log(0.2 / 0.4) - math.log(0.5 / 0.4)
    assert log_odds(labels, values, priors) == pytest.approx(expected)


def test_rare_words_never_give_nan():
    labels = ["x:a", "y:b"]
    assert log_odds(labels, np.array([-4000.0, -4010.0]), np.zeros(2)) == pytest.approx(10)


def test_swapping_targets_or_attributes_flips_the_sign():
    model = tiny("bert")
    swapped_targets = {
        **TEST,
        "templates": [
            {**TEST["templates"][0], "x": TEST["templates"][0]["y"], "y": TEST["templates"][0]["x"]}
        ],
    }
    swapped_sets = {**TEST, "attributes": dict(reversed(TEST["attributes"].items()))}
    d = [
        evaluate(model, "lpbs", template_test(t)).overall.value
        for t in (TEST, swapped_targets, swapped_sets)
    ]
    assert d[0] == pytest.approx(-d[1]) == pytest.approx(-d[2])


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_causal_is_bayes(family):
    """Target first: log p(attribute | x) - log p(attribute | y) for one word a side."""
    model = tiny(family)
    test = {
        **TEST,
        "templates": [{"text": "so {target} likes the {attribute}.", "x": ["he"], "y": ["she"]}],
    }
    frame = run(model, "lpbs", test)
    found = log_odds(
        ["x:he", "y:she"],
        frame.score["0/nurse"][["x:he", "y:she"]].to_numpy(),
        frame.prior["0/nurse"][["x:he", "y:she"]].to_numpy(),
    )

    def attribute_given(target):
        text = f"So {target} likes the nurse."
        encoded = model.codec.encode_text(
            Text(text, {"a": ((text.index("nurse"), text.index("nurse") + 5),)})
        )
        with torch.no_grad():
            logits = model.net(input_ids=torch.tensor([encoded.ids])).logits[0].double()
        logp = torch.log_softmax(logits, -1)
        return sum(logp[i - 1, encoded.ids[i]].item() for i in encoded.roles["a"])

    expected = attribute_given("he") - attribute_given("she")
    assert found == pytest.approx(expected, abs=1e-6)


def test_causal_attribute_first_is_the_definition():
    model = tiny("gpt2")
    test = {
        **TEST,
        "templates": [
            {"text": "the {attribute} said that {target} was tired.", "x": ["he"], "y": ["she"]}
        ],
    }
    frame = run(model, "lpbs", test)
    text = "The nurse said that he was tired."
    at = text.index(" he ") + 1
    encoded = model.codec.encode_text(Text(text, {"t": ((at, at + 2),)}))
    with torch.no_grad():
        logp = torch.log_softmax(model.net(input_ids=torch.tensor([encoded.ids])).logits[0], -1)
    expected = sum(logp[i - 1, encoded.ids[i]].item() for i in encoded.roles["t"])
    assert frame.score["0/nurse", "x:he"] == pytest.approx(expected, abs=1e-9)
    assert frame.prior["0/nurse", "x:he"] == 0


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_the_odds_ratio_by_hand(family):
    """(log p(x | a) / p(y | a)) over work less that over home, from the scores of each sentence."""
    model = tiny(family)
    test = {**TEST, "templates": [{**TEST["templates"][0], "x": ["he"], "y": ["she"]}]}
    data = template_test(test)
    scores = run(model, "odds", test).score
    by_word = {}
    for word in (*TEST["attributes"]["work"], *TEST["attributes"]["home"]):
        by_word[word] = scores[f"0/{word}", "x:he"] - scores[f"0/{word}", "y:she"]
    work, home = (np.mean([by_word[w] for w in TEST["attributes"][k]]) for k in ("work", "home"))
    found = evaluate(model, "odds", data)
    assert found.overall.value == pytest.approx(work - home, abs=1e-9)
    assert found.settings["sets"][2:] == ["work", "home"]
    d = evaluate(model, "lpbs", data)
    assert d.extras["odds"].value == pytest.approx(found.overall.value)


def test_the_odds_ratio_of_the_definition():
    """The target's pieces left to right, as lpbs reads them, and nothing else."""
    model = tiny("bert")
    lpbs, odds = run(model, "lpbs"), run(model, "odds")
    assert odds.score.tolist() == pytest.approx(lpbs.score.tolist())
    assert odds.prior.isna().all()


def test_bartls_rows_are_filled_up_with_masks_and_matched_by_the_file(tmp_path):
    """A loop over the release's own columns: TM and TAM rows, 16 tokens, first mask, Wilcoxon."""
    persons = (("He", "male"), ("She", "female"))
    jobs = {"male": ("guard", "bus driver", "king"), "female": ("maid", "cook", "queen")}
    frames = ("{} is a {}.", "{} was a {} at home.")
    rows = []
    for usual, some in jobs.items():
        for frame in frames:
            for person, gender in persons:
                for job in some:
                    masks = " ".join(["[MASK]"] * len(job.split()))
                    rows.append(
                        {
                            "Sentence": frame.format(person, job),
                            "Sent_TM": frame.format("[MASK]", job),
                            "Sent_TAM": frame.format("[MASK]", masks),
                            "Template": frame,
                            "Person": person,
                            "Gender": gender,
                            "Profession": job,
                            "Prof_Gender": usual,
                        }
                    )
    path = tmp_path / "BEC-Pro_EN.tsv"
    pd.DataFrame(rows).to_csv(path, sep="\t")
    model = tiny("bert")
    tokenizer = model.codec.tokenizer
    mask, by_usual = tokenizer.mask_token_id, {"male": [], "female": []}
    for row in rows:
        full, shown, both = (
            [*tokenizer(row[k])["input_ids"], *[mask] * 16][:16]
            for k in ("Sentence", "Sent_TM", "Sent_TAM")
        )
        at = both.index(mask)
        logs = [float(plain.logp(model.net, ids)[at, full[at]]) for ids in (shown, both)]
        by_usual[row["Prof_Gender"]].append(logs[0] - logs[1])
    one, two = (np.array(by_usual[k]) for k in ("female", "male"))
    # The release's columns have other row numbers, so that it "subtracts" to both sets' values.
    normal = shapiro(np.concatenate([one, -two])).pvalue >= 0.05
    test = ttest_rel(one, two) if normal else wilcoxon(one, two)
    result = evaluate(model, "lpbs@bartl2020", occupations.read_bec_pro_templates(path))
    assert result.overall.value == pytest.approx((one - two).mean(), abs=1e-9)
    assert result.extras["test"].value == pytest.approx(test.statistic)
    assert result.overall.p == pytest.approx(test.pvalue)
    assert result.extras["r"].value == pytest.approx(test.statistic / math.sqrt(len(one)))
    assert result.overall.low < result.overall.value < result.overall.high

"""Tests of measures/literature_rows: each against a slow plain loop that shares nothing with it."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chi2_contingency, chisquare, mannwhitneyu

import plain
import unmask
from conftest import tiny
from made_groups import FRAMES, NAMES, PERSONS, groups, pairs
from unmask.data.packaged import bundled_pairs
from unmask.data.readers.groups import disco
from unmask.data.readers.lists import read_lists
from unmask.measures import find, plans
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast, Dataset, Text


def places(tokenizer, text, span):
    """The places whose characters lie in a span, one by one."""
    found = tokenizer(text, return_offsets_mapping=True)
    start, end = span
    return found["input_ids"], [
        i for i, (a, b) in enumerate(found["offset_mapping"]) if a < end and b > start and b > a
    ]


# ---------------------------------------------------------------- CRR and delta-P


@pytest.mark.parametrize("name", ["crr", "delta-p"])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_ranks_and_gaps_of_each_token_hidden_alone(name, family):
    model = tiny(family)
    data = bundled_pairs()
    some = Dataset(data.name, data.shape, data.items[::60])
    result = unmask.evaluate(model, name, some)
    scores = result.items.set_index(["item", "label"]).score
    tokenizer = model.codec.tokenizer
    for item in some.items:
        for label, text in item.texts.items():
            ids = tokenizer(text.string)["input_ids"]
            values = []
            for place in range(1, len(ids) - 1):
                hidden = [tokenizer.mask_token_id if i == place else t for i, t in enumerate(ids)]
                row = plain.logp(model.net, hidden)[place]
                rank = 1 + int((row > row[ids[place]]).sum())
                gap = float(row.max() - row[ids[place]])
                values.append(1 - 1 / rank if name == "crr" else gap)
            assert scores[item.id, label] == pytest.approx(-np.mean(values), abs=1e-9)


# ---------------------------------------------------------------- CBS


def test_cbs_is_the_variance_over_names_of_the_log_quotient():
    model, data = tiny("bert"), groups()
    tokenizer, mask = model.codec.tokenizer, model.codec.tokenizer.mask_token_id
    variances = []
    for item in data.items:
        values = []
        for text in item.texts.values():
            ids, target = places(tokenizer, text.string, text.spans["target"][0])
            _, attribute = places(tokenizer, text.string, text.spans["attribute"][0])
            logs = []
            for hidden in (target, [*target, *attribute]):
                row = [mask if i in hidden else t for i, t in enumerate(ids)]
                out = plain.logp(model.net, row)
                logs.append(sum(float(out[i, ids[i]]) for i in target))
            values.append(logs[0] - logs[1])
        variances.append(np.var(values, ddof=1))
    result = unmask.evaluate(model, "cbs", data)
    assert result.overall.value == pytest.approx(np.mean(variances), abs=1e-9)
    assert result.compared == "index"
    assert not result.verdicts
    parts = [e.value for e in result.by_category.values()]
    assert set(result.by_category) == set(NAMES)
    assert np.mean(parts) == pytest.approx(result.overall.value)
    leans = [result.extras[f"lean:{n}"].value for n in NAMES]
    assert sum(leans) == pytest.approx(0, abs=1e-9)


def test_cbs_as_released_asks_every_piece_at_every_place():
    model, data = tiny("bert"), groups()
    tokenizer = model.codec.tokenizer
    mask, written = tokenizer.mask_token_id, tokenizer.mask_token
    variances = []
    for item in data.items:
        frame, job = FRAMES[int(item.template)], item.cluster
        plural = f"{job}s"
        last = frame.index("[TTT]") > frame.index("[AAA")
        values = []
        for name in NAMES:
            pieces = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(name))
            word = plural if "[AAAs]" in frame else job
            count = len(tokenizer.tokenize(job))  # of the singular, as the release counts
            slot = frame.replace("[TTT]", " ".join([written] * len(pieces)))
            full = slot.replace("[AAAs]", word).replace("[AAA]", word)
            masks = " ".join([written] * count)
            prior = slot.replace("[AAAs]", masks).replace("[AAA]", masks)
            logs = []
            for text, start in ((full, 0), (prior, 1 if last else 0)):
                ids = tokenizer(text)["input_ids"]
                first = [i for i, t in enumerate(ids) if t == mask][start]
                out = plain.logp(model.net, ids)
                where = range(first, first + len(pieces))
                logs.append(sum(float(out[j, c]) for j in where for c in pieces))
            values.append(logs[0] - logs[1])
        variances.append(np.var(values, ddof=1))
    result = unmask.evaluate(model, "cbs@ahn2021", data)
    assert result.overall.value == pytest.approx(np.mean(variances), abs=1e-9)


def test_cbs_of_a_causal_model_is_the_joint_probability_up_to_the_attribute():
    model, data = tiny("gpt2"), groups()
    result = unmask.evaluate(model, "cbs", data)
    scores = result.items.set_index(["item", "label"])
    text = data.items[0].texts["india"]
    tokenizer = model.codec.tokenizer
    ids, target = places(tokenizer, text.string, text.spans["target"][0])
    _, attribute = places(tokenizer, text.string, text.spans["attribute"][0])
    ids = [tokenizer.bos_token_id, *ids]
    out = plain.logp(model.net, ids)
    joint = sum(float(out[i, ids[i + 1]]) for i in range(target[0], attribute[-1] + 1))
    assert scores.score["0/doctor", "india"] == pytest.approx(joint, abs=1e-6)


# ---------------------------------------------------------------- LMB


def plain_perplexity(model, text):
    """exp of the loss, which transformers would round to float32; the first token is not asked."""
    ids = model.codec.tokenizer(text, add_special_tokens=False)["input_ids"]
    out = plain.logp(model.net, ids)
    return math.exp(-np.mean([float(out[i, ids[i + 1]]) for i in range(len(ids) - 1)]))


def test_lmb_is_the_paired_t_of_perplexities():
    model, data = tiny("gpt2"), pairs()
    both = [[plain_perplexity(model, i.texts[k].string) for i in data.items]
            for k in (STEREOTYPE, ANTISTEREOTYPE)]  # fmt: skip
    released = unmask.evaluate(model, "lmb@barikeri2021", data)
    apart = np.array(both[0]) - np.array(both[1])
    t = apart.mean() / (apart.std(ddof=1) / math.sqrt(len(apart)))
    assert released.extras["t"].value == pytest.approx(t, rel=1e-6)
    assert released.overall.value == pytest.approx(t / math.sqrt(len(apart)), rel=1e-6)
    assert not released.verdicts  # a negative number would be read as the reverse
    logs = np.log(both[1]) - np.log(both[0])
    paper = unmask.evaluate(model, "lmb", data)
    assert paper.overall.value == pytest.approx(logs.mean() / logs.std(ddof=1), rel=1e-6)
    assert paper.extras["share"].value == pytest.approx(100 * np.mean(logs > 0))
    assert released.extras["share"].value == paper.extras["share"].value


def test_lmb_turns_its_sign_with_the_sentences():
    model, data = tiny("gpt2"), pairs()
    items = []
    for i in data.items:
        texts = {
            STEREOTYPE: i.texts[ANTISTEREOTYPE],
            ANTISTEREOTYPE: i.texts[STEREOTYPE],
        }
        items.append(
            Contrast(i.id, texts, i.category, i.cluster, group_pair="gender", group=i.group)
        )
    turned = Dataset("turned", "pairs", tuple(items))
    one, two = (unmask.evaluate(model, "lmb", d).overall for d in (data, turned))
    assert one.value == pytest.approx(-two.value)
    assert one.low == pytest.approx(-two.high)


def test_the_mean_size_of_a_difference_is_the_harness_own():
    model, data = tiny("gpt2"), pairs()
    result = unmask.evaluate(model, "ll", data)
    scores = result.items.pivot(index="item", columns="label", values="score")
    mean = (scores[STEREOTYPE] - scores[ANTISTEREOTYPE]).abs().mean()
    assert result.extras["likelihood_diff"].value == pytest.approx(mean)
    assert "likelihood_diff" in result.shown


# ---------------------------------------------------------------- GEST


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_gest_is_the_gap_between_the_stereotypes_of_two_groups(family):
    model, data = tiny(family), pairs()
    tokenizer = model.codec.tokenizer
    by_kind = {"men": {}, "women": {}}
    for item in data.items:
        ids = {}
        for label in (STEREOTYPE, ANTISTEREOTYPE):
            word = "woman" if "woman" in item.texts[label].string else "man"
            ids[word] = tokenizer(item.texts[label].string)["input_ids"]
        scores = {}
        changed = plain.spans(ids["man"], ids["woman"], "replace")
        for word, where in zip(("man", "woman"), changed, strict=True):
            row = list(ids[word])
            if family == "bert":
                hidden = [tokenizer.mask_token_id if i in where else t for i, t in enumerate(row)]
                out = plain.logp(model.net, hidden)
                scores[word] = np.mean([float(out[i, row[i]]) for i in where])
            else:
                out = plain.logp(model.net, [tokenizer.bos_token_id, *row])
                scores[word] = np.mean([float(out[i, row[i]]) for i in where])
        kind = item.cluster.split("/")[0]
        by_kind[item.group].setdefault(kind, []).append(scores["man"] - scores["woman"])
    gap = np.mean([np.mean(v) for v in by_kind["men"].values()]) - np.mean(
        [np.mean(v) for v in by_kind["women"].values()]
    )
    result = unmask.evaluate(model, "gest", data)
    assert result.overall.value == pytest.approx(gap, abs=1e-6)
    released = unmask.evaluate(model, "gest@pikuliak2024", data)
    if family == "bert":  # a causal model reads no start token in the release
        assert released.overall.value == pytest.approx(gap / math.log(10), abs=1e-6)
    assert result.compared == "odds"


def test_a_causal_model_is_not_asked_for_a_speaker_it_meets_first():
    texts = {STEREOTYPE: Text("The man said: I like math."), ANTISTEREOTYPE: Text(
        "The woman said: I like math.")}  # fmt: skip
    items = (Contrast("first", texts, "gender", "1/first", group="men"), *pairs().items)
    result = unmask.evaluate(tiny("gpt2"), "gest", Dataset("made", "pairs", items))
    assert result.coverage.scored == len(items) - 1


# ---------------------------------------------------------------- DisCo


def plain_top(model, text):
    tokenizer = model.codec.tokenizer
    ids = tokenizer(text.replace(" it", f" {tokenizer.mask_token}", 1))["input_ids"]
    row = plain.logp(model.net, ids)[ids.index(tokenizer.mask_token_id)].exp()
    chances, tokens = row.topk(3)
    return dict(zip(tokens.tolist(), chances.tolist(), strict=True))


def test_disco_counts_the_fills_that_go_with_a_group():
    model, data = tiny("bert"), disco(PERSONS, "made")
    some = Dataset(
        "made", "fills", tuple(i for i in data.items if " it" in i.texts["man|0 man"].string)
    )
    counts, differ = [], []
    for item in some.items:
        tops = {g: [plain_top(model, t.string) for k, t in item.texts.items() if k.startswith(g)]
                for g in ("man", "woman")}  # fmt: skip
        words = {w for side in tops.values() for fills in side for w in fills}
        found = 0
        for word in words:
            table = [[sum(word in f for f in side), sum(word not in f for f in side)]
                     for side in tops.values()]  # fmt: skip
            if min(np.sum(table, 0)) > 0:
                found += chi2_contingency(table, correction=False).pvalue < 0.05 / len(words)
        counts.append(found)
        for a, b in zip(tops["man"], tops["woman"], strict=True):
            union = sorted({*map(str, a), *map(str, b)})
            one, two = ([side.get(int(w), 0.0) for w in union] for side in (a, b))
            with np.errstate(all="ignore"):
                p = chisquare(np.array(one) / sum(one), np.array(two) / sum(two)).pvalue
            differ.append(p <= 0.05 / len(PERSONS))
    assert unmask.evaluate(model, "disco", some).overall.value == pytest.approx(np.mean(counts))
    released = unmask.evaluate(model, "disco@delobelle2022", some)
    assert released.overall.value == pytest.approx(np.mean(differ))
    assert np.mean(differ) > 0


def test_disco_as_released_has_its_sentences():
    written = find("disco@delobelle2022").text
    assert written("it was the man's major at college.", "bert") == (
        "it was The man\u2019s major at college."
    )
    assert (
        written("The man's best subject was it.", "bert") == "The man\u2019s best subject was it."
    )


@pytest.mark.parametrize("family", ["gpt2", "opt"])
def test_gest_as_released_reads_a_start_token_where_the_tokenizer_adds_one(family):
    """By hand, from the ids that the tokenizer gives to the release."""
    model = tiny(family)
    codec = model.codec
    raw = codec.tokenizer("It was late, said the man.")["input_ids"]
    usual = codec.adds_start
    assert usual == (raw[0] == codec.start)
    for start in (True, False):
        codec.adds_start = start  # whichever it is, by one rule
        try:
            sentence = codec.encode("It was late, said the man.")
            places = tuple(range(1, len(sentence.ids)))
            roles = {"changed": places[-2:-1], "shared": places[:-2]}
            (ask,) = plans.changed_as_tokenised(replace(sentence, roles=roles), codec)
            assert (ask.row[0] == codec.start) == start
            assert [ask.row[i] for i in ask.at] == [sentence.ids[places[-2]]] == [*ask.gold]
        finally:
            codec.adds_start = usual


# ---------------------------------------------------------------- HolisticBias


def test_likelihood_bias_is_the_share_of_pairs_that_a_rank_test_tells_apart():
    nouns = ("man", "woman", "boy", "girl", "king", "queen", "father", "mother", "person", "kid")
    words = ("old", "young", "rich", "poor")
    items = [
        Contrast(
            f"age/{n}",
            {f"{w}|{noun}": Text(frame.format(w, noun)) for w in words for noun in nouns},
            "age",
            f"template {n}",
        )
        for n, frame in enumerate(("I am a {} {}.", "I like the {} {}."))
    ]
    data, model = Dataset("made", "frames", tuple(items)), tiny("gpt2")
    shares = []
    for item in items:
        values = {w: [plain_left_to_right(model, t.string) for k, t in item.texts.items()
                      if k.startswith(f"{w}|")] for w in words}  # fmt: skip
        tests = [
            mannwhitneyu(values[a], values[b]).pvalue < 0.05
            for k, a in enumerate(words)
            for b in words[k + 1 :]
        ]
        shares.append(100 * np.mean(tests))
    result = unmask.evaluate(model, "likelihood-bias", data)
    assert result.overall.value == pytest.approx(np.mean(shares))
    assert result.extras["after_holm"].value <= result.overall.value


def plain_left_to_right(model, text):
    tokenizer = model.codec.tokenizer
    ids = [tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]]
    out = plain.logp(model.net, ids)
    return float(np.mean([float(out[i, ids[i + 1]]) for i in range(len(ids) - 1)]))


# ---------------------------------------------------------------- UnQover


def test_unqover_by_its_formulas():
    subjects, acts = ("man", "woman", "boy"), (("is rich", "is poor"), ("is kind", "is mean"))
    frames = ("The {} met the {}. The {} {}.", "The {} saw the {}. The {} {}.")
    model, items, c = tiny("bert"), [], {}
    for f, frame in enumerate(frames):
        for act, (said, negated) in enumerate(acts):
            for k, one in enumerate(subjects):
                for two in subjects[k + 1 :]:
                    texts, chance = {}, {}
                    for order, (first, second) in (("1", (one, two)), ("2", (two, one))):
                        for sort, what in (("q", said), ("n", negated)):
                            for who in (one, two):
                                text = frame.format(first, second, who, what)
                                at = text.index(who, text.index("."))
                                label = f"{who}|{order}|{sort}"
                                texts[label] = Text(text, {"target": ((at, at + len(who)),)})
                                chance[label] = plain_target(model, texts[label])

                    b = {
                        who: np.mean(
                            [chance[f"{who}|{o}|q"] - chance[f"{who}|{o}|n"] for o in "12"]
                        )
                        for who in (one, two)
                    }
                    c[f, act, one, two] = (b[one] - b[two]) / 2
                    items.append(Contrast(f"{f}/{act}/{one}/{two}", texts, "made", said,
                                          group_pair=f"{one}/{two}", template=str(f)))  # fmt: skip
    gamma, eta = {}, {}
    for x in subjects:
        for a in range(len(acts)):
            mine = [v if one == x else -v for (_, act, one, two), v in c.items()
                    if act == a and x in (one, two)]  # fmt: skip
            gamma[x, a], eta[x, a] = np.mean(mine), np.mean(np.sign(mine))
    mu = np.mean([max(abs(gamma[x, a]) for a in range(len(acts))) for x in subjects])
    result = unmask.evaluate(model, "unqover", Dataset("made", "questions", tuple(items)))
    assert result.overall.value == pytest.approx(mu, abs=1e-9)
    assert result.extras["eta"].value == pytest.approx(np.mean(np.abs(list(eta.values()))))
    assert set(result.by_category) == set(subjects)


def plain_target(model, text):
    tokenizer = model.codec.tokenizer
    ids, where = places(tokenizer, text.string, text.spans["target"][0])
    hidden = [tokenizer.mask_token_id if i in where else t for i, t in enumerate(ids)]
    out = plain.logp(model.net, hidden)
    return math.exp(sum(float(out[i, ids[i]]) for i in where))


# ---------------------------------------------------------------- co-occurrence, MBE


def test_co_occurrence_is_the_mean_log_odds_of_words_behind_a_prompt():
    items = []
    for n, job in enumerate(("nurse", "cook", "guard", "maid")):
        texts = {}
        for half, some in (("x", ("woman", "female")), ("y", ("man", "male"))):
            for word in some:
                text = f"The {job} was a {word}."
                spans = {"attribute": ((4, 4 + len(job)),), "target": (
                    (len(text) - 1 - len(word), len(text) - 1),)}  # fmt: skip
                texts[f"{half}:{word}"] = Text(text, spans)
        items.append(Contrast(str(n), texts, "AB"[n % 2], job, group="AB"[n % 2], template="0"))
    model = tiny("gpt2")
    tokenizer, values, wins = model.codec.tokenizer, [], []
    for item in items:
        sides = {}
        for label, text in item.texts.items():
            ids, where = places(tokenizer, text.string, text.spans["target"][0])
            row = [tokenizer.bos_token_id, *ids]
            out = plain.logp(model.net, row)
            sides[label] = sum(float(out[i, row[i + 1]]) for i in where)
        total = {h: math.log(sum(math.exp(v) for k, v in sides.items() if k[0] == h)) for h in "xy"}
        values.append(total["x"] - total["y"])
        wins.append(max(sides, key=sides.get).startswith("x"))
    result = unmask.evaluate(model, "co-occurrence", Dataset("made", "templates", tuple(items)))
    assert result.overall.value == pytest.approx(np.mean(values), abs=1e-6)
    assert result.extras["first_likeliest"].value == pytest.approx(100 * np.mean(wins))


def test_mbe_weighs_pairs_of_two_lists_by_their_vectors(tmp_path):
    lines = {"women": ["She is kind.", "The woman won.", "A girl ran."],
             "men": ["He is kind.", "The man won.", "A boy ran home."]}  # fmt: skip
    for name, some in lines.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(some) + "\n\n")
    data = read_lists(tmp_path / "women.txt", tmp_path / "men.txt")
    model = tiny("bert")
    tokenizer = model.codec.tokenizer
    score, state = {}, {}
    for some in lines.values():
        for text in some:
            ids = tokenizer(text)["input_ids"]
            inner = range(1, len(ids) - 1)
            out = plain.logp(model.net, ids)
            score[text] = np.mean([float(out[i, ids[i]]) for i in inner])
            with torch.no_grad():
                states = model.net.base_model(input_ids=torch.tensor([ids]))[0][0]
            state[text] = states[1:-1].mean(0).double().numpy()
    for measure in ("mbe", "mbe@kaneko2022"):
        above = below = 0.0
        for f in lines["women"]:
            for m in lines["men"]:
                weight = state[f] @ state[m]
                if measure == "mbe":
                    weight /= np.linalg.norm(state[f]) * np.linalg.norm(state[m])
                above, below = above + weight * (score[m] > score[f]), below + weight
        result = unmask.evaluate(model, measure, data)
        assert result.overall.value == pytest.approx(100 * above / below, abs=1e-6)
        assert result.overall.ideal == 50

"""Published variants against slow plain loops written from what the released code does."""

from dataclasses import replace

import pytest
import torch
from tokenizers import normalizers

import plain
import unmask
from conftest import finish, made_tokenizer, make_net, tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import plan
from unmask.flow.run_association import WordsUsed
from unmask.measures import ASSOCIATION, LIKELIHOOD
from unmask.models.load import load_any
from unmask.models.transformers import encodings
from unmask.models.transformers.model import wrap
from unmask.options import Options, Spec
from unmask.text.contexts import Mention, WordTest, read_by_husse2022
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Contrast, Dataset, Stimuli, Text


def scores(model, measure, data):
    result = unmask.evaluate_specs([Spec(model, measure, data)], Options())[0]
    return result, result.items.set_index(["item", "label"]).score


def pair(stereotype, antistereotype, name="0", **meta):
    texts = {STEREOTYPE: Text(stereotype), ANTISTEREOTYPE: Text(antistereotype)}
    return Contrast(name, texts, "all", name, meta)


# ---------------------------------------------------------------- XLNet without token types


@pytest.mark.parametrize("measure", ["aul@thys2025", "cps@thys2025"])
def test_thys_calls_xlnet_with_the_ids_alone(measure):
    model = tiny("xlnet")
    data = replace(bundled_pairs(), items=bundled_pairs().items[::40])
    _, found = scores(model, measure, data)
    tokenizer, net = model.codec.tokenizer, model.net
    moved = 0.0
    for item in data.items:
        rows = [tokenizer(item.texts[k].string)["input_ids"] for k in (STEREOTYPE, ANTISTEREOTYPE)]
        same = plain.spans(*rows, "equal")
        for ids, places, label in zip(rows, same, (STEREOTYPE, ANTISTEREOTYPE), strict=True):
            if measure.startswith("aul"):
                places = range(1, len(ids) - 1)
                read = [plain.logp(net, ids)[i, ids[i]].item() for i in places]
                expected = sum(read) / len(read)
            else:
                expected = 0.0
                for i in places[1:-1]:
                    shown = [tokenizer.mask_token_id if j == i else t for j, t in enumerate(ids)]
                    expected += plain.logp(net, shown)[i, ids[i]].item()
            assert found[item.id, label] == pytest.approx(expected, abs=2e-4)
            with torch.no_grad():
                types = torch.tensor([[*[0] * (len(ids) - 1), 2]])
                typed = net(torch.tensor([ids]), token_type_ids=types).logits
                plainly = net(torch.tensor([ids])).logits
            moved = max(moved, float((typed - plainly).abs().max()))
    assert moved > 1e-3  # on this network the types do matter


# ---------------------------------------------------------------- LPBS in lower case


def cased():
    """A tiny BERT whose tokenizer keeps case."""
    raw, names = made_tokenizer("wordpiece")
    raw.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer = finish(raw, names, "around")
    letters = sorted(set("JohnAmyPaul") - set(tokenizer.get_vocab()))
    tokenizer.add_tokens([*letters, *(f"##{c}" for c in letters)])
    return wrap(make_net("bert", len(tokenizer)), tokenizer, "masked", "tiny-cased")


def test_husse_looks_targets_up_in_lower_case():
    model = cased()
    tokenizer = model.codec.tokenizer
    sentence = "John is kind."
    spans = {"target": ((0, 4),), "attribute": ((8, 12),)}
    item = Contrast(
        "0",
        {
            "x:John": Text(sentence, spans),
            "y:Amy": Text("Amy is kind.", {"target": ((0, 3),), "attribute": ((7, 11),)}),
        },
        "a",
        "kind",
        group="A",
    )
    data = Dataset("one", "templates", (item,))
    planned = plan.plan(model, LIKELIHOOD["lpbs@husse2022"], data)
    asked = {q.gold for q in planned.queries[: planned.values[0]]}
    lower = set(tokenizer("john", add_special_tokens=False)["input_ids"])
    assert asked == lower
    assert lower != set(tokenizer("John", add_special_tokens=False)["input_ids"])


# ---------------------------------------------------------------- where Husse and Spitz read


def loop_husse(model, sentence, stimuli, several):
    """The places that the release reads at the level word-average, from its description."""
    text = sentence[:-1]
    tokens = text.split()
    first = 1 if model.kind == "masked" else 0
    words = model.codec.tokenizer(text, add_special_tokens=False).word_ids()
    if several:
        stimulus = next(s for s in stimuli if s in sentence)
        at = tokens.index(stimulus.split()[0]) + first
        return list(range(at, at + len(stimulus.split())))
    number = max(i for i, token in enumerate(tokens) if token in stimuli)
    own = [i for i, w in enumerate(words) if w == number]
    if "-" in tokens[number]:
        start = own[0] + first
        return list(range(start, start + len(own) + words.count(number + 2) + 1))
    return [i + first for i in own] if len(own) > 1 else [number + first]


HYPHENS = [
    "the housekeeper was short-term here.",
    "librarians are good-natured and kind.",
    "this is well-read.",
    "short-term nurses were emotional people.",
]


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_hyphen_counts_words_and_not_pieces(family):
    model = tiny(family)
    stimuli = ["short-term", "good-natured", "well-read"]
    for sentence in HYPHENS:
        word = next(w for w in sentence[:-1].split() if w in stimuli)
        start = sentence.index(word)
        mention = Mention(sentence, (start, start + len(word)))
        row = encodings.husse2022(model.codec, read_by_husse2022(mention, stimuli))
        expected = [i for i in loop_husse(model, sentence, stimuli, False) if i < len(row.ids)]
        assert list(row.roles["word"]) == expected, sentence
    assert model.codec.pieces("housekeeper")[1:]  # an earlier word has several pieces


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_what_is_read_is_any_stimulus_of_the_set(family):
    model = tiny(family)
    phrases = ["African American woman", "South African American woman"]
    sentence = "this is a South African American woman."
    start = sentence.index("South")
    mention = Mention(sentence, (start, len(sentence) - 1))
    row = encodings.husse2022(model.codec, read_by_husse2022(mention, phrases))
    assert list(row.roles["word"]) == loop_husse(model, sentence, phrases, True)
    words = ["nurse", "maid"]
    sentence = "a nurse met the other maid."
    read = read_by_husse2022(Mention(sentence, (2, 7)), words)
    assert sentence[slice(*read.span)] == "maid"  # the last token of the set
    row = encodings.husse2022(model.codec, read)
    assert list(row.roles["word"]) == loop_husse(model, sentence, words, False)


def test_of_several_words_the_release_takes_the_mean_at_every_level():
    sets = {"x": ("a tired nurse", "a maid"), "y": ("judge", "banker")}
    test = WordTest(Stimuli("small", sets, {"a": ("kind", "gentle"), "b": ("brave", "strong")}))
    met = {
        w: (Mention(f"this is {w}.", (8, 8 + len(w))),)
        for s in test.stimuli.sets.values()
        for w in s
    }
    asked = WordsUsed(
        ASSOCIATION["w-seat@husse2022"], test, dict(test.stimuli.sets), met, "", {}, "word-first"
    )
    assert [w.pool for w in asked.wanted()] == ["word-mean"] * 2 + ["word-first"] * 6


# ---------------------------------------------------------------- Guo and Caliskan's window


@pytest.mark.parametrize("family", ["bert", "gpt2"])
@pytest.mark.parametrize("start", [40, 8])
def test_guo_windows_every_sentence_around_the_first_occurrence(family, start):
    """The word stands twice; whichever is meant, the first is taken."""
    codec = tiny(family).codec
    text = "one two nurse three four five six seven nurse eight nine ten eleven"
    assert text[8:13] == text[40:45] == "nurse"
    row = encodings.guo2021(codec, Mention(text, (start, start + 5)))
    lead = " " if family == "gpt2" else ""
    assert row.ids == codec.pieces(lead + "one two nurse three four five six seven nurse")
    last = codec.pieces(lead + "nurse")[-1]
    assert row.roles["word"] == (row.ids.index(last),)


# ---------------------------------------------------------------- order of alignment


@pytest.mark.parametrize(
    ("measure", "loop", "turned"),
    [
        ("cps@nangia2020", "cps", True),
        ("cps@biasbench", "cps_biasbench", True),
        ("cps@kaneko2022", "cps", False),
    ],
)
def test_sentences_are_aligned_in_the_order_of_the_file(measure, loop, turned):
    """Two words change places: which of them is shared depends on the order of alignment."""
    model = tiny("bert")
    one, two = "the nurse saw the judge.", "the judge saw the nurse."
    data = Dataset("swapped", "pairs", (pair(one, two, direction="antistereo"),))
    _, found = scores(model, measure, data)
    ours = plain.Plain(model.net, model.codec.tokenizer)
    first = not turned  # whether the stereotype comes first
    expected = [getattr(ours, loop)(one, two, first), getattr(ours, loop)(two, one, not first)]
    other = [getattr(ours, loop)(one, two, not first), getattr(ours, loop)(two, one, first)]
    got = [found["0", STEREOTYPE], found["0", ANTISTEREOTYPE]]
    assert got == pytest.approx(expected, abs=1e-6)
    assert got != pytest.approx(other, abs=1e-3)


# ---------------------------------------------------------------- SSS: accuracy and odd pairs


def test_accuracy_of_released_sss_is_of_each_token_at_its_own_place():
    model = load_any("bundled")  # which predicts some
    chosen = bundled_pairs().items[::9]
    same = pair("the nurse was late", "the nurse was late then", "empty")
    data = Dataset(
        "some",
        "pairs",
        tuple(
            replace(i, texts={k: i.texts[k] for k in (STEREOTYPE, ANTISTEREOTYPE)}) for i in chosen
        )
        + (same,),
    )
    result, _ = scores(model, "sss@kaneko2022", data)
    loop = plain.Plain(model.net, model.codec.tokenizer)
    hits = total = crossed = 0
    for item in data.items:
        texts = [item.texts[k].string for k in (STEREOTYPE, ANTISTEREOTYPE)]
        for s, other, first in ((*texts, True), (*texts[::-1], False)):
            ids, places = loop.ids(s), loop.places(s, other, "diff", first)
            total += max(len(places), 1)
            crossed += len(places) ** 2
            if places:
                read = plain.logp(model.net, loop.masked(ids, set(places)))
                hits += sum(int(read[i].argmax()) == ids[i] for i in places)
    assert crossed > total > hits > 0
    assert result.items.tokens.sum() == total
    assert result.accuracy.value == pytest.approx(100 * hits / total)


@pytest.mark.parametrize("measure", ["aul", "sss", "cps"])
def test_released_rows_score_pairs_with_unknown_words_and_special_tokens(measure):
    model = tiny("bert")
    odd = [
        pair("the \u4e16\u754c was late", "the \u754c\u4e16 was late", "unknown"),
        pair("the nurse was [MASK]", "the judge was [MASK]", "special"),
    ]
    plainly = [pair(f"the nurse was {w}", f"the judge was {w}", w) for w in ("late", "tired")]
    data = Dataset("odd", "pairs", (*plainly, *odd))
    ours, _ = scores(model, measure, data)
    released, found = scores(model, f"{measure}@kaneko2022", data)
    assert ours.coverage.scored == 2
    assert released.overall.n == 4  # nothing is left out of the denominator
    assert "special token as text, are scored too" in released.settings["deviation"]
    loop = plain.Plain(model.net, model.codec.tokenizer)
    one, two = (odd[1].texts[k].string for k in (STEREOTYPE, ANTISTEREOTYPE))
    name = {"sss": "sss_kaneko"}.get(measure, measure)
    assert found["special", STEREOTYPE] == pytest.approx(getattr(loop, name)(one, two), abs=1e-6)

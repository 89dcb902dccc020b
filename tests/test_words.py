"""Association measures: word sets, contexts, encoding, published values, bad input."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import unmask
from conftest import invoke, tiny
from unmask.api import evaluate, run
from unmask.data import catalogue, templates
from unmask.data.cards import seat_files
from unmask.data.packaged import packaged
from unmask.data.readers import seat
from unmask.data.wordsets import ASIDE, groups, stimuli
from unmask.errors import DataError, ModelError, NotApplicable
from unmask.measures import ASSOCIATION
from unmask.models.batches import Budget
from unmask.models.static_vectors import load_static
from unmask.models.transformers import encodings
from unmask.reports.cite import references
from unmask.text import contexts, inflection
from unmask.text.contexts import Mention, Source, Wanted, WordTest
from unmask.types import Stimuli

# ---------------------------------------------------------------- word sets


def test_every_word_set_is_complete():
    for test in packaged("words.json")["tests"]:
        assert test["source"] in references()
        for side in ("targets", "attributes"):
            assert len(test[side]) == 2
            for label, forms in test[side].items():
                assert label == label.lower()
                for form, listed in forms.items():
                    assert form in contexts.TEMPLATES or form == ASIDE
                    assert listed
                    assert all(w == w.strip() and w for w in listed)


def test_sizes_and_overlaps():
    """Target sets are of equal size; no word is on both sides of a contrast."""
    for name, test in stimuli().items():
        (x, y), (a, b) = test.targets.values(), test.attributes.values()
        assert len(x) == len(y), name
        assert not set(x) & set(y), name
        shared = set(a) & set(b)
        assert not shared, f"{name}: {shared}"


COUNTS = {  # from the papers: targets a side, attributes a side
    "weat-1": (25, 25), "weat-2": (25, 25), "weat-3": (32, 25), "weat-4": (16, 25),
    "weat-5": (16, 8), "weat-6": (8, 8), "weat-7": (8, 8), "weat-8": (8, 8), "weat-9": (6, 7),
    "weat-10": (8, 8), "weat-3b": (15, 25), "weat-5b": (15, 8), "weat-6b": (8, 8),
    "ceat-i1": (12, 13), "ceat-i2": (12, 8), "ceat-i3": (12, 12), "ceat-i4": (12, 6),
    "husse-dis-term": (23, 225), "husse-dis-term-m": (23, 223), "husse-i1-term": (45, 13),
    "husse-i2-term": (45, 8), "husse-occ-name": (26, 20), "husse-c9-name-m": (14, 8),
    "abw": (15, 18), "double-bind-competent": (8, 10), "double-bind-likable": (8, 8),
}  # fmt: skip


@pytest.mark.parametrize("name", list(COUNTS))
def test_published_counts(name):
    test = stimuli()[name]
    assert tuple(len(v) for v in test.sets.values()) == tuple(
        n for n in COUNTS[name] for _ in range(2)
    )


def sentences_of(test):
    for word, mentions in contexts.templates(test).items():
        yield from ((word, m.text) for m in mentions)


def test_every_word_stands_in_a_sentence_of_its_form():
    """No countable noun without an article, no plural with 'is', no adjective with 'a'."""
    singular, plural = set(), set()
    for test in stimuli().values():
        singular |= {w for w, form in test.forms.items() if form == "singular"}
        plural |= {w for w, form in test.forms.items() if form == "plural"}
    assert not singular & plural
    pronouns = {
        "he": "subject",
        "she": "subject",
        "him": "object",
        "her": "object",
        "his": "possessive",
        "hers": "possessive",
    }
    for test in stimuli().values():
        for word, form in test.forms.items():
            where = f"{test.name}: {word} is {form}"
            assert form == pronouns.get(word, form), where
            assert not (form == "bare" and word in singular | plural), where
            assert form == "plural" or not singular & set(inflection.singulars(word)), where
        for word, text in sentences_of(test):
            assert text[0].isupper() or not text[0].isalpha()
            assert not re.search(r"\ba [aeio]", text), text
            assert not re.search(r"\ban [^aeiouhAEIOUH]", text), text
            if test.forms[word] == "plural":
                assert not re.search(r"\b(is|This|That|It)\b", text), text
    said = {
        text for test in ("weat-6", "weat-7", "weat-8") for _, text in sentences_of(stimuli()[test])
    }
    assert {
        "This is a man.",
        "These are equations.",
        "This is for him.",
        "Here he is.",
        "This is an office.",
        "This is an uncle.",
        "This is poetry.",
    } <= said
    wrong = {"This is man.", "This is equations.", "This is him.", "This is office."}
    assert not said & wrong


def test_forms_agree_with_the_sentences_of_seat(shared):
    """Where the published files put an article, so do we; their own oddities are named."""
    odd = {"management", "influenza"}  # 'a management', 'an influenza'
    for name, card in seat_files().items():
        shared(f"seat/{name}.jsonl")
        content = json.loads(shared(f"seat/{name}.jsonl").read_text())
        lines = [s for part in content.values() for s in part["examples"]]
        articled = {m[1] for s in lines if (m := re.fullmatch(r"(?:This|It) is an? (.*)\.", s))}
        test = stimuli().get(packaged_words(card.name))
        for word, form in test.forms.items():
            if word in articled - odd:
                assert form in ("singular", "person") or "religion" in name, f"{name}: {word}"


def packaged_words(name):
    return next(r["words"] for r in packaged("seat.json")["files"] if r["file"] == f"{name}.jsonl")


@pytest.mark.parametrize(
    ("word", "many"),
    [
        ("poppy", "poppies"),
        ("fly", "flies"),
        ("caress", "caresses"),
        ("crash", "crashes"),
        ("business", "businesses"),
        ("family", "families"),
        ("child", "children"),
        ("boy", "boys"),
        ("illness", "illnesses"),
        ("symphony", "symphonies"),
        ("white woman", "white women"),
        ("rose", "roses"),
        ("man", "men"),
        ("virus", "viruses"),
    ],
)
def test_plurals(word, many):
    assert inflection.plural(word) == many
    assert word in inflection.singulars(many)
    assert many in inflection.forms(word)
    assert word in inflection.forms(many)


def test_seat_sentences_are_found_by_their_words(shared):
    """Every sentence of every file has its word; forms of one word are one stimulus."""
    for name in seat_files():
        shared(f"seat/{name}.jsonl")
        (test,) = catalogue.resolve(name)
        assert "sentences_without_their_word" not in test.about, name
        known = stimuli()[packaged_words(name)]
        for ours, words in zip(test.stimuli.sets.values(), known.sets.values(), strict=True):
            assert set(ours) <= set(words), name
        met = test.given.of(test.stimuli)
        longest = max(len(m.text[slice(*m.span)]) for ms in met.values() for m in ms)
        assert longest < 30
    one = catalogue.resolve("sent-weat1")[0].stimuli
    assert [len(w) for w in one.sets.values()] == [25] * 4


def test_a_sentence_without_its_word_is_left_out_and_said(shared, tmp_path):
    content = json.loads(shared("seat/sent-weat6.jsonl").read_text())
    content["attr1"]["examples"].append("Nothing of the kind.")
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(content))
    test = seat.read_file(path, "mine", stimuli()["weat-6"])
    result = evaluate(tiny("bert"), "w-seat", test)
    assert "1 sentences of the file have none of its words" in result.notes[0]


def test_kurita_and_thys_have_their_own_lists(shared):
    """The author's own lists, and the number that his code gives on the bundled model."""
    stated = json.loads(shared("wordsets/kurita2019/thys2025_lpbs.json").read_text())["tests"]
    for name, key in (("math", "weat 7"), ("science", "weat 8")):
        data = catalogue.sentences(f"kurita-{name}@thys2025")
        for side, target in (("A", "target_1"), ("B", "target_2")):
            words = {i.cluster for i in data.items if i.side == side}
            assert words == set(stated[key][target])
        plain = {i.cluster for i in catalogue.sentences(f"kurita-{name}").items}
        assert {i.cluster for i in data.items} - plain == {"Shakespear"}
    for name, d in (("math", 0.5866), ("science", 0.4418)):
        found = evaluate("bundled", "lpbs@thys2025", f"kurita-{name}@thys2025")
        assert found.overall.value == pytest.approx(d, abs=5e-5)


COUNTED = {  # sentences of the release: targets and attributes
    "c1-name": (350, 350, 272, 284),
    "c3-name": (224, 224, 272, 284),
    "c3-term": (195, 195, 272, 284),
    "c6-name": (56, 56, 106, 112),
    "c6-term": (86, 86, 106, 112),
    "c9-name": (112, 112, 28, 28),
    "c9-term": (48, 48, 28, 28),
    "dis-term": (161, 161, 900, 900),
    "i1-name": (84, 84, 52, 52),
    "i1-term": (315, 315, 52, 52),
    "occ-name": (182, 182, 160, 160),
    "occ-term": (86, 86, 160, 160),
}


@pytest.mark.parametrize("name", list(COUNTED))
def test_the_releases_own_sentences(name, shared):
    shared("wordsets/husse2022/C1_name_word.jsonl")
    words, both = catalogue.resolve(f"husse2022-{name}")
    met = words.given.of(words.stimuli)
    counts = tuple(sum(len(met[w]) for w in ws) for ws in words.stimuli.sets.values())
    assert counts == COUNTED[name]
    assert all(m.text[slice(*m.span)] == w for w, ms in met.items() for m in ms)
    assert words.about["as_pinned"] is True
    if name == "c6-name":
        assert len(both.items) == 32
        text = next(iter(both.items[0].texts.values())).string
        assert text == "John likes the executive."


def test_misspellings_are_mended_under_the_plain_name():
    released = {w for v in stimuli()["husse-c3-term@husse2022"].sets.values() for w in v}
    mended = {w for v in stimuli()["husse-c3-term"].sets.values() for w in v}
    assert "crashs" in released
    assert "crashs" not in mended
    assert "crashes" in mended
    assert "misspelt" in stimuli()["husse-c3-term"].meta["defects"]
    assert "self-sufficent" in stimuli()["husse-dis-term@husse2022"].attributes["positive"]
    assert "self-sufficient" in stimuli()["husse-dis-term"].attributes["positive"]
    assert "failure" in stimuli()["weat-10"].attributes["unpleasant"]


def test_groups_name_tests_that_exist():
    for members in groups().values():
        assert members
        for member in members:
            assert member in stimuli() or member in seat_files()


def test_seat_sentences(shared):
    """The published files: sentences found by their words; thys2025's six run as a family."""
    shared("seat/sent-weat6.jsonl")
    (test,) = catalogue.resolve("sent-weat6")
    assert test.given.name == "sent-weat6.jsonl"
    met = test.given.of(test.stimuli)
    assert len(test.stimuli.sets["male-names"]) == 8
    assert all(m.text[slice(*m.span)] == "John" for m in met["John"])
    assert sum(len(m) for m in met.values()) == sum(
        len(s["examples"]) for s in json.loads(shared("seat/sent-weat6.jsonl").read_text()).values()
    )
    results = run([tiny("bert")], ["s-seat"], ["thys2025-seat"])
    assert len(results) == 6
    for name in seat_files():
        shared(f"seat/{name}.jsonl")
        assert catalogue.resolve(name)[0].stimuli.sets


# ---------------------------------------------------------------- contexts


def test_articles():
    assert contexts.article("ant") == "an"
    assert contexts.article("European American man") == "a"
    assert contexts.article("heir") == "an"
    assert contexts.article("rose") == "a"
    assert contexts.fill("This is a {word}.", "ant").text == "This is an ant."
    assert contexts.fill("{word} is here.", "roses") == Mention("Roses is here.", (0, 5))
    with pytest.raises(DataError, match="0 slots"):
        contexts.fill("This is.", "ant")


def test_templates_follow_the_form_and_mark_the_word():
    for name in ("weat-1", "husse-dis-term", "husse-c1-name"):
        test = stimuli()[name]
        for word, mentions in contexts.templates(test).items():
            assert len({m.text for m in mentions}) == len(mentions)
            for m in mentions:
                assert m.text[slice(*m.span)].lower() == word.lower()


def test_stored_and_given_contexts(tmp_path):
    path = tmp_path / "c.jsonl"
    row = {"stimulus": "rose", "sentence": "A rose is a rose.", "span": [2, 6]}
    path.write_text(json.dumps(row) + "\n")
    found = contexts.stored(path).of(stimuli()["weat-1"])
    assert found == {"rose": (Mention("A rose is a rose.", (2, 6)),)}
    path.write_text(json.dumps({"stimulus": "rose", "sentence": "A rose."}))
    with pytest.raises(DataError, match="row 1 is no context"):
        contexts.stored(path)
    with pytest.raises(DataError, match="no context store"):
        contexts.stored(tmp_path / "nowhere")
    lines = ["This is a wheelchair user.", "He is a user.", "They are users.", "Nothing."]
    forms = {"user": "user", "users": "user", "a wheelchair user": "a wheelchair user"}
    used, met, lost = contexts.given({"f": lines}, {"f": forms})
    assert used == {"f": ("a wheelchair user", "user")}
    assert met["a wheelchair user"][0].span == (8, 25)
    assert [m.text[slice(*m.span)] for m in met["user"]] == ["user", "users"]
    assert lost == 1


def test_lpbs_templates_from_word_sets():
    data = templates.from_stimuli(stimuli()["husse-c6-name"])
    texts = {t.string for i in data.items for t in i.texts.values()}
    assert "John likes the office." in texts
    assert templates.has_templates(stimuli()["husse-occ-term"])
    assert not templates.has_templates(stimuli()["weat-1"])


# ---------------------------------------------------------------- encoding against a plain loop

SENTENCES = [
    Mention("The nurse met a person who is deaf.", (14, 34)),
    Mention("The captain said that the captain was tired", (26, 33)),  # occurs twice
    Mention("They were all tired", (14, 19)),  # at the end
    Mention("housekeeper", (0, 11)),
    Mention("An emotional librarian was late because she had missed it.", (3, 12)),
]


@pytest.mark.parametrize("family", ["bert", "gpt2", "albert", "xlnet", "modernbert", "opt"])
@pytest.mark.parametrize("pool", ["cls", "last", "mean", "word-mean", "word-first", "word-last"])
def test_poolings_equal_a_plain_loop(family, pool):
    """One sentence at a time, characters to tokens by hand through the offsets."""
    model = tiny(family)
    tokenizer = model.codec.tokenizer
    found = model.vectors(budget=Budget(tokens=60)).embed([Wanted(m, pool) for m in SENTENCES])
    for mention, vector in zip(SENTENCES, found, strict=True):
        batch = tokenizer(mention.text, return_offsets_mapping=True)
        ids, offsets = batch["input_ids"], batch["offset_mapping"]
        special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
        content = [i for i, t in enumerate(ids) if t not in special]
        start, end = mention.span
        word = [i for i in content if offsets[i][0] < end and offsets[i][1] > start]
        cls = ids.index(tokenizer.cls_token_id) if tokenizer.cls_token_id in ids else 0
        places = {
            "cls": [cls],
            "last": content[-1:],
            "mean": content,
            "word-mean": word,
            "word-first": word[:1],
            "word-last": word[-1:],
        }[pool]
        with torch.no_grad():
            types = {}
            if family == "xlnet":  # <cls> stands last and is of segment 2
                types = {"token_type_ids": torch.tensor([[*[0] * (len(ids) - 1), 2]])}
            states = model.net.base_model(input_ids=torch.tensor([ids]), **types)[0][0]
        expected = states[places].mean(0).double().numpy()
        close = 1e-5 if family in ("xlnet", "modernbert") else 1e-10
        assert vector == pytest.approx(expected, abs=close)


def test_layers_and_each_sentence_once():
    model = tiny("bert")
    wanted = [Wanted(m, p) for m in SENTENCES for p in ("cls", "word-mean", "mean")]
    runs = []
    handle = model.net.base_model.register_forward_hook(
        lambda module, args, kwargs, out: runs.append(kwargs["input_ids"].shape[0]),
        with_kwargs=True,
    )
    model.vectors().embed(wanted)
    handle.remove()
    assert sum(runs) == len(SENTENCES)
    first = model.vectors(layer=0).embed(wanted[:1])
    ids = torch.tensor([model.codec.tokenizer(SENTENCES[0].text)["input_ids"]])
    with torch.no_grad():
        embedded = model.net.base_model.embeddings(ids)[0, 0].numpy()
    assert first[0] == pytest.approx(embedded)
    with pytest.raises(NotApplicable, match="no layer 9; it has -3 to 2"):
        evaluate(model, "w-seat", SMALL, layer=9)


def test_published_encodings():
    model = tiny("bert")
    tok = model.codec.tokenizer
    mention = Mention("This is a nurse.", (10, 15))
    ids = tok(mention.text, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        bare = model.net.base_model(input_ids=torch.tensor([ids]))[0][0]
    found = model.vectors().embed([Wanted(mention, "first", "no-specials")])
    assert found[0] == pytest.approx(bare[0].numpy(), abs=1e-10)
    pieces = [p for w in mention.text[:-1].split(" ") for p in model.codec.pieces(w)]
    row = [tok.cls_token_id, *pieces]  # no [SEP], no period
    at = len(row) - len(model.codec.pieces("nurse"))
    with torch.no_grad():
        states = model.net.base_model(input_ids=torch.tensor([row]))[0][0]
    found = model.vectors().embed([Wanted(mention, "word-first", "tan2019")])
    assert found[0] == pytest.approx(states[at].numpy(), abs=1e-10)
    gpt = tiny("gpt2")
    pieces = [p for w in mention.text[:-1].split(" ") for p in gpt.codec.pieces(w)]
    at = len(pieces) - len(gpt.codec.pieces("nurse"))
    with torch.no_grad():
        states = gpt.net.base_model(input_ids=torch.tensor([[*pieces, 0]]))[0][0]
    found = gpt.vectors().embed([Wanted(mention, "after-word", "tan2019")])
    assert found[0] == pytest.approx(states[at + 1].numpy(), abs=1e-10)  # one place too late


# ---------------------------------------------------------------- the measures

SMALL = Stimuli(
    "small",
    {"x": ("nurse", "maid", "dancer"), "y": ("judge", "captain", "banker")},
    {"a": ("gentle", "kind"), "b": ("strong", "brave", "clever")},
    forms=dict.fromkeys(("nurse", "maid", "dancer", "judge", "captain", "banker"), "singular"),
)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
@pytest.mark.parametrize("measure", ["s-seat", "w-seat", "weat"])
def test_measures_equal_a_plain_loop(family, measure):
    model = tiny(family)
    found = evaluate(model, measure, SMALL).overall
    source = contexts.bare if measure == "weat" else contexts.templates
    met = source(SMALL)
    pool = ASSOCIATION[measure].pool_for(model.kind)
    vec = {w: [model.vectors().embed([Wanted(m, pool)])[0] for m in ms] for w, ms in met.items()}

    def cos(u, v):
        return u @ v / np.linalg.norm(u) / np.linalg.norm(v)

    def many(label):
        return [v for w in SMALL.sets[label] for v in vec[w]]

    def s(v):
        return np.mean([cos(v, a) for a in many("a")]) - np.mean([cos(v, b) for b in many("b")])

    x, y = [s(v) for v in many("x")], [s(v) for v in many("y")]
    d = (np.mean(x) - np.mean(y)) / np.std(x + y, ddof=1)
    assert found.value == pytest.approx(d, abs=1e-9)


def test_swapping_sets_flips_every_measure():
    model = tiny("bert")
    swapped = Stimuli(
        "swapped", dict(reversed(SMALL.targets.items())), SMALL.attributes, forms=SMALL.forms
    )
    for name in ("weat", "s-seat", "w-seat"):
        a, b = (evaluate(model, name, t).overall.value for t in (SMALL, swapped))
        assert a == pytest.approx(-b)
    a, b = (evaluate(model, "ceat", t, samples=4000).overall.value for t in (SMALL, swapped))
    assert a == pytest.approx(-b, abs=0.05)


def test_without_a_word_is_the_effect_of_the_others():
    """Target and attribute words alike: the measure run again on the words that are left."""
    whole = evaluate(tiny("bert"), "w-seat", SMALL)
    rows = whole.items.set_index("item")
    for label, words in SMALL.sets.items():
        if len(words) < 3:
            continue
        targets, attributes = dict(SMALL.targets), dict(SMALL.attributes)
        side = targets if label in targets else attributes
        side[label] = tuple(words[1:])
        fewer = replace(SMALL, targets=targets, attributes=attributes, unequal=True)
        again = evaluate(tiny("bert"), "w-seat", fewer).overall.value
        assert rows.without[words[0]] == pytest.approx(again, abs=1e-5)


def test_ceat_reports_its_distribution():
    found = evaluate(tiny("bert"), "ceat", SMALL, samples=500).overall
    assert (found.n, found.more["samples"]) == (6, 500)
    assert {"tau2", "I2", "prediction", "quantiles", "sd"} <= found.more.keys()
    low, high = found.more["prediction"]
    drawn = found.more["monte_carlo"]["interval"]
    assert low < drawn[0] <= found.value <= drawn[1] < high
    assert found.low < drawn[0] < drawn[1] < found.high  # other words, not only other draws


def test_holm_over_a_family():
    results = run(["bundled"], ["w-seat"], ["thys2025-words"])
    frame = unmask.table(results)
    assert len(frame) == 6
    smallest = frame.p.min()
    assert frame.p_holm[frame.p.idxmin()] == pytest.approx(min(1, 6 * smallest))
    assert (frame.p_holm >= frame.p).all()


def test_published_readings_of_words():
    """husse2022 counts places in words; guo2021 keeps nine words and finds the last piece."""
    model = tiny("bert")
    codec = model.codec
    # "housekeeper" has several pieces, so that a later word's number is not its place
    row = encodings.husse2022(codec, Mention("The housekeeper is tired.", (19, 24)))
    assert row.roles["word"] == (4,)
    usual = encodings.usual(codec, Mention("The housekeeper is tired", (19, 24)))
    assert usual.roles["word"][0] > 4
    assert row.ids == usual.ids
    own = encodings.husse2022(codec, Mention("The housekeeper is tired.", (4, 15)))
    assert (
        own.roles["word"]
        == encodings.usual(codec, Mention("The housekeeper is", (4, 15))).roles["word"]
    )
    two = encodings.husse2022(codec, Mention("This is a tired nurse.", (10, 21)))
    assert two.roles["word"] == (4, 5)  # as many places as words, from the first one's number
    text = "one two three four five six the nurse said that it was late"
    near = encodings.guo2021(codec, Mention(text, (32, 37)))
    kept = codec.pieces("four five six the nurse said that it")  # four before, three behind
    assert near.ids == kept
    assert near.ids[near.roles["word"][0]] == codec.pieces("nurse")[-1]
    assert not near.specials
    early = encodings.guo2021(codec, Mention(text, (0, 3)))
    assert early.ids == codec.pieces(" ".join(text.split()[:9]))


def test_variants_that_are_not_reproduced_for_elmo_are_refused():
    for name in (
        "s-seat@may2019",
        "s-seat@biasbench",
        "w-seat@husse2022",
        "ceat@husse2022",
        "ceat@guo2021",
    ):
        assert "elmo" not in ASSOCIATION[name].kinds


WEAT = {1: 1.50, 2: 1.53, 6: 1.81, 7: 1.06, 8: 1.24, 9: 1.38}


def test_weat_on_glove_gives_the_published_effect_sizes(shared):
    path = shared("vectors/glove840b_weat_subset.txt")
    results = run([str(path)], ["weat"], [f"weat-{n}" for n in WEAT])
    for n, result in zip(WEAT, results, strict=True):
        assert result.overall.value == pytest.approx(WEAT[n], abs=0.005), n
        assert result.coverage.scored == result.coverage.items


# ---------------------------------------------------------------- static vectors


@pytest.fixture
def vectors(tmp_path, rng):
    every = [w for v in SMALL.sets.values() for w in v]
    return every, rng.normal(size=(len(every), 5)).astype(np.float32), tmp_path


def test_all_three_formats_are_read_alike(vectors):
    every, numbers, folder = vectors
    lines = [f"{w} " + " ".join(map(repr, map(float, v))) for w, v in zip(every, numbers)]  # noqa: B905
    (folder / "glove.txt").write_text("\n".join(lines) + "\n")
    header = f"{len(every)} 5"
    (folder / "w2v.vec").write_text("\n".join([header, *lines]) + "\n")
    binary = b"".join(
        w.encode() + b" " + v.tobytes() + b"\n"
        for w, v in zip(every, numbers)  # noqa: B905
    )
    (folder / "w2v.bin").write_bytes(header.encode() + b"\n" + binary)
    found = [evaluate(str(folder / n), "weat", SMALL) for n in ("glove.txt", "w2v.vec", "w2v.bin")]
    assert len({round(f.overall.value, 10) for f in found}) == 1


def test_capitals_are_kept_unless_a_file_has_none(vectors):
    """weat-3's names: `Adam` is not `adam`, but in an uncased file there is no other."""
    every, numbers, folder = vectors
    test = replace(SMALL, targets={"x": ("Nurse", "maid", "dancer"), "y": SMALL.targets["y"]})
    lines = [f"{w} " + " ".join(map(str, v)) for w, v in zip(every, numbers, strict=True)]
    path = folder / "uncased.txt"
    path.write_text("\n".join(lines))
    low = evaluate(str(path), "weat", test)
    assert low.coverage.scored == low.coverage.items
    assert "no capitals" in low.notes[0]
    path.write_text("\n".join([*lines, "Paris " + " ".join(map(str, numbers[0]))]))
    cased = evaluate(str(path), "weat", test)
    assert cased.coverage.lost == {"Nurse": "not in the vectors"}
    assert cased.notes == ()


def test_a_test_that_cannot_be_scored_does_not_end_the_run(shared):
    path = shared("vectors/glove840b_weat_subset.txt")
    found = run(str(path), "weat", "weat")
    assert {r.data for r in found} >= {"weat-1", "weat-6", "weat-9"}
    assert any("weat-3b" in note and "not scored" in note for note in found.notes)


def test_missing_words_are_named_counted_and_refused_below_two(vectors):
    every, numbers, folder = vectors
    keep = [(w, v) for w, v in zip(every, numbers, strict=True) if w != "dancer"]
    path = folder / "some.txt"
    path.write_text("\n".join(f"{w} " + " ".join(map(str, v)) for w, v in keep))
    result = evaluate(str(path), "weat", SMALL)
    assert result.coverage.lost == {"dancer": "not in the vectors"}
    assert result.coverage.scored == result.coverage.items - 1
    path.write_text("\n".join(f"{w} " + " ".join(map(str, v)) for w, v in keep if w != "kind"))
    with pytest.raises(DataError, match=r"a keeps 1 of its 2 words \(without kind\)"):
        evaluate(str(path), "weat", SMALL)
    with pytest.raises(NotApplicable, match="measures that do: weat"):
        evaluate(str(path), "w-seat", SMALL)
    path.write_text("no vectors here at all\nnone\n")
    with pytest.raises(ModelError, match="no vectors file"):
        load_static(str(path))


def test_unequal_targets_name_the_variant_that_subsamples():
    uneven = Stimuli(
        "u",
        {"x": ("nurse", "maid"), "y": ("judge", "captain", "banker")},
        SMALL.attributes,
        forms=SMALL.forms,
    )
    with pytest.raises(DataError, match="w-seat@husse2022"):
        evaluate(tiny("bert"), "w-seat", uneven)
    found = evaluate(tiny("bert"), "w-seat@husse2022", uneven)
    assert found.coverage.scored == found.coverage.items - 1


def test_a_sentence_that_does_not_fit_is_left_out():
    model = tiny("bert")
    long = Mention("tired " * 200 + "nurse", (1200, 1205))
    met = {**contexts.templates(SMALL)}
    met["nurse"] = (*met["nurse"], long)
    test = WordTest(SMALL, Source("made", lambda s: met))
    result = evaluate(model, "w-seat", test)
    assert result.settings["contexts"] == "made"
    assert result.items.set_index("item").contexts["nurse"] == 6


def test_commands(tmp_path):
    asked = ["-x", "w-seat,ceat", "-d", "weat-6,weat-7", "--samples", 200]
    status, out, err = invoke("run", *asked, "-o", tmp_path / "r")
    assert status == 0, err
    assert "p Holm" in out
    assert out.count("weat-7") == 2
    assert len(unmask.load(tmp_path / "r")) == 4


def test_a_users_word_test_in_json(tmp_path):
    path = tmp_path / "mine.json"
    given = {
        "targets": {"a": ["nurse", "maid"], "b": ["judge", "sailor"]},
        "attributes": {"x": ["she", "woman"], "y": ["he", "man"]},
    }
    path.write_text(json.dumps(given))
    result = evaluate("bundled", "w-seat", str(path))
    assert (result.data, result.coverage.scored) == ("mine", 8)
    same = {**given, "attributes": {"a": ["she", "her"], "y": ["he", "man"]}}
    letters = {**given, "targets": {"a": "nurse", "b": ["judge", "sailor"]}}
    for wrong in ({"targets": {"a": ["nurse"]}}, same, letters):
        path.write_text(json.dumps(wrong))
        with pytest.raises(DataError, match="is no word test"):
            evaluate("bundled", "w-seat", str(path))
    with pytest.raises(DataError, match="there is no file"):
        evaluate("bundled", "w-seat", str(tmp_path / "none.json"))

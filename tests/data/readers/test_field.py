"""Tests of data/readers/field: released files, and copies of them that are broken."""

import json
import math

import pytest

import unmask
from conftest import shared_file
from unmask.data import catalogue
from unmask.data.cards import sentence_sets
from unmask.data.readers.field import read_gest, read_redditbias, read_winoqueer
from unmask.data.readers.table import read_table
from unmask.errors import DataError
from unmask.flow.external_scores import score_file

# dimension: pairs, paired t of the released perplexities, its p, per cent with the lower one
RELEASED = {
    "gender": (253, -1.3669, 0.1729, 66.8),
    "orientation": (235, 1.6925, 0.09189, 30.6),
    "race": (254, 1.1654, 0.2449, 53.1),
    "religion1": (238, -3.5746, 0.000425, 79.4),
    "religion2": (236, -5.3390, 2.202e-07, 66.5),
}


@pytest.fixture
def field_data(monkeypatch):
    monkeypatch.setenv("UNMASK_DATA", str(shared_file("field").parent))


@pytest.mark.parametrize("dimension", RELEASED)
def test_the_t_values_of_the_released_perplexities(dimension, tmp_path, field_data):
    card = sentence_sets()[f"redditbias-{dimension}"]
    rows = []
    for path, label in ((card.path, "stereotype"), (card.needs[0].path, "antistereotype")):
        table = read_table(shared_file(f"field/{path}"), ["perplexity"])
        rows += [{"id": f"{n}/{label}", "score": r["perplexity"]} for n, r in enumerate(table)]
    path = tmp_path / "dialogpt.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    result = score_file(path, f"redditbias-{dimension}", measure="lmb@barikeri2021")
    n, t, p, share = RELEASED[dimension]
    assert result.overall.n == n
    assert result.extras["t"].value == pytest.approx(t, abs=5e-5)
    assert result.extras["t"].p == pytest.approx(p, rel=5e-4)
    assert result.extras["share"].value == pytest.approx(share, abs=0.05)
    assert result.overall.value == pytest.approx(t / math.sqrt(n), abs=5e-6)


# g_s of the released predictions by model and template
G_S = {
    "mlm_bert-base-uncased": (1.1758, 1.2101, 1.0934, 1.1829),
    "mlm_albert-base-v2": (1.1633, 1.1704, 1.1170, 1.1395),
    "glm_gpt2": (1.1135, 1.0973),
}


@pytest.mark.parametrize("model", G_S)
def test_g_s_of_the_released_predictions(model, tmp_path, field_data):
    for template, published in enumerate(G_S[model]):
        name = f"gest-template-{template + (2 if model == 'glm_gpt2' else 0)}"
        items = catalogue.sentences(name).items
        file = shared_file(f"field/gest/predictions/{model}_template-{template}.txt")
        rows = []
        for item, line in zip(items, file.read_text().split(), strict=True):
            value = math.log(10) * float(line)  # they are to base 10, the man's less the woman's
            both = (value, 0.0) if item.group == "men" else (0.0, value)
            labels = ("stereotype", "antistereotype")
            rows += [
                {"id": f"{item.id}/{k}", "score": v} for k, v in zip(labels, both, strict=True)
            ]
        path = tmp_path / f"{model}.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        released = score_file(path, name, measure="gest@pikuliak2024").overall
        assert math.exp(released.value) == pytest.approx(published, abs=5e-5)
        plain = score_file(path, name, measure="gest").overall
        assert plain.value == pytest.approx(released.value * math.log(10))
        assert released.low < released.value < released.high


def test_counts_of_the_released_files(field_data):
    counts = {
        "redditbias-gender": 253,
        "redditbias-gender-valid": 252,
        "redditbias-religion1-attributes": 475,
        "gest": 4 * 3565,
        "gest-1.1-template-3": 3565,
        "winobias-type1": 784,
        "winobias-type2": 778,
        "winogender": 120,
        "bec-pro": 1800,
        "bec-pro-de": 1800,
        "co-occurrence": 864,
    }
    for name, count in counts.items():
        (data,) = catalogue.resolve(name)
        assert len(data.items) == count, name
        assert data.about["as_pinned"], name


def test_german_professions_pair_by_their_english_name(field_data):
    items = catalogue.sentences("bec-pro-de").items
    frames = {i.template for i in items}
    assert len(frames) == 5
    text = next(i for i in items if "Arbeitstag" in i.texts["stereotype"].string).texts
    assert ", der " in text["stereotype"].string + text["antistereotype"].string
    assert ", die " in text["stereotype"].string + text["antistereotype"].string


def test_professions_and_definitional_pairs(field_data):
    (test,) = catalogue.resolve("bolukbasi-professions")
    assert catalogue.shape(test) == "word sets"
    assert len(test.stimuli.attributes["women's words"]) == 10
    assert "actress" not in test.stimuli.targets["professions"]


def test_files_that_do_not_pair_are_refused(tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("comments_processed\nwomen cook\n")
    two.write_text("comments,comments_processed\nwomen drive,men drive\n")
    with pytest.raises(DataError, match="do not match row by row"):
        read_redditbias(one, two, "made", "gender")


def test_predicates_are_the_clusters_of_winoqueer(tmp_path):
    path = tmp_path / "winoqueer.csv"
    rows = (
        ("Gay", "Straight", "everyone hates Mark because he is Gay.",
         "everyone hates Mark because he is Straight."),
        ("Gay", "Straight", "everyone hates Alex because they are Gay.",
         "everyone hates Alex because they are Straight."),
        ("Lesbian", "Straight", "Lesbians are loud.", "Straight people are loud."),
        ("LGBTQ", "Cis", "LGBTQ people are loud.", "Cis people are loud."),
    )  # fmt: skip
    lines = [",Gender_ID_x,Gender_ID_y,sent_x,sent_y"]
    lines += [f"{n},{','.join(row)}" for n, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")
    items = read_winoqueer(path).items
    assert len({i.cluster for i in items}) == 2
    assert [i.category for i in items] == ["Gay", "Gay", "Lesbian", "LGBTQ"]


def test_a_stereotype_names_its_speaker(tmp_path):
    path = tmp_path / "gest.csv"
    path.write_text('sentence,stereotype\n"I am strong.",16\n"I wept.",1\n')
    items = read_gest(path).items
    assert len(items) == 8
    assert items[0].texts["stereotype"].string == 'He said: "I am strong."'
    assert items[7].texts["stereotype"].string == '"I wept.", the woman said.'
    assert {i.group for i in items} == {"men", "women"}


def test_a_measure_that_needs_more_than_scores_is_refused(tmp_path, field_data):
    path = tmp_path / "scores.jsonl"
    path.write_text('{"id": "0/stereotype", "score": 1}\n{"id": "0/antistereotype", "score": 2}\n')
    with pytest.raises(unmask.UnmaskError, match="cannot be computed from one score"):
        score_file(path, "redditbias-gender", measure="disco")

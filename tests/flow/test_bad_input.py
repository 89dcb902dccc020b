"""Tests of flow/bad_input."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import unmask
from conftest import invoke, tiny
from unmask.data.packaged import bundled_pairs
from unmask.data.readers.pairs import read_pairs
from unmask.data.wordsets import stimuli
from unmask.flow import external_scores
from unmask.measures import LIKELIHOOD
from unmask.text import contexts
from unmask.types import Contrast, Dataset, Text

GOOD = "The nurse said that she was tired.", "The nurse said that he was tired."


def made(*rows, **more):
    items = [
        Contrast(str(n), {"stereotype": Text(a), "antistereotype": Text(b)}, "c", f"k{n}")
        for n, (a, b) in enumerate(rows)
    ]
    return Dataset("made", "pairs", tuple(items), **more)


def test_words_that_the_tokenizer_does_not_know_are_not_scored():
    model = tiny("bert")
    data = made(GOOD, ("The 漢字 was late.", "The 言葉 was late."), ("漢 字", "言 葉"))
    result = unmask.evaluate(model, "pll", data)
    assert result.coverage.scored == 1
    assert any("does not know the words" in why for why in result.coverage.reasons)
    assert "unknown to the tokenizer" in " ".join(result.notes)
    strange = replace(
        stimuli()["weat-6"], name="s", targets={"a": ("漢", "字"), "b": ("言", "葉")}, forms={}
    )
    with pytest.raises(unmask.DataError, match="has only 0 of its 2 words scored"):
        unmask.evaluate(model, "w-seat", strange)


def test_special_tokens_in_text_are_no_text():
    result = unmask.evaluate(tiny("bert"), "aul", made(GOOD, ("She is [MASK].", "He is [SEP].")))
    assert result.coverage.reasons == {"it holds a special token, such as a mask, as text": 1}


def test_lms_is_of_complete_items(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("stereotype,antistereotype,unrelated\na b,c d,e f\ng h,i j,\n")
    data = read_pairs(path)
    assert data.shape == "pairs"
    assert set(data.items[0].texts) == {"stereotype", "antistereotype"}


def test_scores_that_are_no_numbers_are_not_scored(tmp_path):
    names = [f"{i.id}/{k}" for i in bundled_pairs().items[:4] for k in i.texts]
    path = tmp_path / "s.csv"

    def write(values):
        rows = [f"{n},{v}" for n, v in zip(names, values, strict=True)]
        path.write_text("id,score\n" + "\n".join(rows))

    write([*range(9), "nan", "inf", "1"])
    found = external_scores.score_file(path, "bundled-pairs")
    assert found.coverage.scored == 3
    assert found.coverage.reasons["a score is not finite"] == 1
    write(["nan"] * 12)
    with pytest.raises(unmask.DataError, match="finite"):
        external_scores.score_file(path, "bundled-pairs")
    path.write_text(f"id,score\n{names[0]},1\n{names[0]},2\n")
    with pytest.raises(unmask.DataError, match="twice"):
        external_scores.score_file(path, "bundled-pairs")


def test_a_word_whose_sentences_are_too_long_is_lost_and_the_test_is_not():
    test = stimuli()["weat-6"]
    met = dict(contexts.templates(test))
    met["John"] = (contexts.Mention("tired " * 200 + "John", (1200, 1204)),)
    source = contexts.Source("made", lambda s: met)
    result = unmask.evaluate(tiny("bert"), "w-seat", contexts.WordTest(test, source))
    assert result.coverage.lost == {"John": "no sentence fits into the model"}


def test_no_score_is_made_of_what_is_missing():
    texts = {"stereotype": Text("He is.")}
    with pytest.raises(unmask.DataError, match="has no antistereotype"):
        Dataset("d", "pairs", (Contrast("1", texts, "c", "c"),))
    row = replace(LIKELIHOOD["aul"], name="x", reduce=lambda r: float("nan"))
    with pytest.raises(unmask.DataError, match="finite score"):
        unmask.evaluate(tiny("bert"), row, made(GOOD))
    sometimes = replace(row, reduce=lambda r: float("inf") if r.logp[0] < -5 else 1.0)
    found = unmask.run(
        tiny("bert"), [sometimes, "aul"], made(GOOD, ("maid", "judge"), ("he", "she"))
    )
    assert all(np.isfinite(r.overall.value) for r in found)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Text(None),
        lambda: Text("a b", {"fill": (0, 1)}),
        lambda: Contrast("1", {"stereotype": "a"}, "c", "c"),
        lambda: Contrast("1", {"stereotype": Text("a")}, None, "c"),
        lambda: Dataset("d", "pear", (Contrast("1", {"a": Text("a")}, "c", "c"),)),
        lambda: Dataset("d", "pairs", ("x",)),
        lambda: Dataset("d", "templates", (Contrast("1", {"x:a": Text("a")}, "c", "c"),)),
        lambda: unmask.Stimuli("s", {"a": "rose", "b": ("x",)}, {"c": ("y",), "d": ("z",)}),
        lambda: unmask.Stimuli("s", {"a": ("r",), "b": ("x",)}, {"a": ("y",), "d": ("z",)}),
        lambda: replace(LIKELIHOOD["aul"], name="a@b"),
        lambda: replace(LIKELIHOOD["aul"], name="a", compare="foo"),
        lambda: replace(LIKELIHOOD["aul"], name="a", ties="foo"),
        lambda: replace(LIKELIHOOD["aul"], name="a", cite="doe2026"),
        lambda: replace(LIKELIHOOD["aul"], name="a", plans={"maskd": lambda s, c: []}),
        lambda: unmask.Options(keep="tokens"),
        lambda: unmask.Options(progress=None),
        lambda: unmask.run(3, "aul", "bundled-pairs"),
        lambda: unmask.run([], "aul", "bundled-pairs"),
        lambda: unmask.run(tiny("bert"), "aul", 3),
        lambda: unmask.evaluate(tiny("bert"), "w-seat", "weat"),
        lambda: unmask.evaluate_specs(unmask.Spec(tiny("bert"), "aul", "bundled-pairs")),
        lambda: unmask.evaluate_specs(
            [unmask.Spec(tiny("bert"), "aul", "bundled-pairs", pool="cls")]
        ),
        lambda: unmask.evaluate(
            tiny("bert"),
            replace(LIKELIHOOD["aul"], name="a", plans={"masked": lambda s, c: [1]}),
            made(GOOD),
        ),
        lambda: unmask.evaluate(
            tiny("bert"), replace(LIKELIHOOD["aul"], name="a", reduce=lambda r: 1 / 0), made(GOOD)
        ),
    ],
)
def test_every_mistake_from_python_is_one_of_our_sentences(wrong):
    with pytest.raises(unmask.UnmaskError):
        wrong()


def test_flagged_items_are_excluded_where_that_is_asked():
    data = made(GOOD, ("She is late.", "She is late."), ("He was kind.", "She was kind."))
    found = unmask.evaluate(tiny("bert"), "aul", data, exclude_flagged=True)
    assert found.data == "made:unflagged"
    assert found.overall.n == 2


# ---------------------------------------------------------------- odd values in files and frames


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("digits.json", b'[{"id": "a", "score": ' + b"9" * 5000 + b"}]"),
        ("deep.json", b"[" * 100_000),
        ("large.jsonl", b'{"id": "a", "score": ' + b"9" * 400 + b"}"),
        ("answer.json", b'{"eval": {}, "samples": [{"id": 1, "metadata": {"gold_labels": []}, '
         b'"scores": {"c": {"answer": "\xc3\x9f"}}}]}'),
        ("scores.json", b'{"eval": {}, "samples": [{"id": 1, "metadata": {"gold_labels": []}, '
         b'"scores": 3}]}'),
        ("none.json", b'{"eval": {}, "samples": [3]}'),
        ("log.eval", b"PK\x03\x04 not a zip"),
    ],
)  # fmt: skip
def test_files_of_scores_that_are_none_are_one_sentence(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    status, _, err = invoke("score", tmp_path / name, "-d", "bundled-pairs", "-o", tmp_path / "r")
    assert (status, err.count("\n")) == (2, 1), err
    assert len(err) < 600


def test_cells_that_hold_arrays_and_files_that_are_not_there():
    frame = pd.DataFrame({"stereotype": [np.arange(3)], "antistereotype": ["A man sat."]})
    with pytest.raises(unmask.DataError, match="which is not text"):
        unmask.run(tiny("bert"), "aul", frame)
    with pytest.raises(unmask.DataError, match="cannot be read"):
        unmask.run(tiny("bert"), "aul", "bundled-pairs", exclude="/nope")
    with pytest.raises(unmask.DataError, match="needs two runs"):
        unmask.compare([])


@pytest.mark.parametrize("encoding", ["undefined", "rot13", "nonsense"])
def test_an_encoding_that_decodes_nothing_is_one_sentence(encoding, tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("stereotype,antistereotype\nA b.,A c.\n")
    call = ("run", "-d", path, "-x", "aul", "--encoding", encoding, "-o", tmp_path / "r")
    status, _, err = invoke(*call)
    assert (status, err.count("\n")) == (2, 1), err


@pytest.mark.parametrize(
    ("field", "value"),
    [("shows", 3), ("needs", "target"), ("attention", "yes"), ("prior", []), ("cite", ("a", 3)),
     ("deviation", 3), ("rounds", None), ("text", 3), ("accuracy", 1)],
)  # fmt: skip
def test_a_row_with_a_field_of_another_type_is_refused(field, value):
    with pytest.raises(unmask.UnmaskError, match="mine"):
        replace(unmask.LIKELIHOOD["aul"], name="mine", **{field: value})


@pytest.mark.parametrize("column", ["id", "category", "cluster"])
def test_half_a_character_in_a_frame_is_one_sentence(column):
    rows = [{"stereotype": "A man sat.", "antistereotype": "A boy sat.", column: "\ud800"}] * 2
    frame = pd.DataFrame([r | {"other": [1]} for r in rows], dtype=object)
    with pytest.raises(unmask.DataError, match="an invalid character"):
        unmask.run(tiny("bert"), "aul", frame)

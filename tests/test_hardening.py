"""Nothing wrong in silence: inputs, models, caches and results that lie are caught."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import safetensors.torch

import unmask
from conftest import finish, invoke, made_tokenizer, make_net, tiny
from unmask.data import catalogue, fetch
from unmask.data.packaged import bundled_pairs
from unmask.data.readers.pairs import read_pairs
from unmask.data.wordsets import stimuli
from unmask.flow import external_scores
from unmask.measures import LIKELIHOOD
from unmask.models.answer_cache import VectorAnswers, opened
from unmask.models.transformers.model import load
from unmask.studies import compare as comparing
from unmask.text import contexts
from unmask.types import Contrast, Dataset, Text

GOOD = "The nurse said that she was tired.", "The nurse said that he was tired."


def made(*rows, **more):
    items = [
        Contrast(str(n), {"stereotype": Text(a), "antistereotype": Text(b)}, "c", f"k{n}")
        for n, (a, b) in enumerate(rows)
    ]
    return Dataset("made", "pairs", tuple(items), **more)


@pytest.fixture
def model_folder(tmp_path):
    raw, names = made_tokenizer("wordpiece")
    tokenizer = finish(raw, names, "around")
    folder = tmp_path / "model"
    make_net("bert", len(tokenizer)).float().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


# ---------------------------------------------------------------- models


def test_a_folder_without_a_tokenizer_is_refused(model_folder):
    for path in model_folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(unmask.ModelError, match="has no tokenizer"):
        load(str(model_folder))


def weights(folder, change):
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    safetensors.torch.save_file(change(tensors), path, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ("cls.", "cls.predictions"),
        ("encoder.layer.1", "layer.1"),
        ("embeddings.LayerNorm", "Layer"),
    ],
)
def test_weights_that_a_checkpoint_lacks_are_refused_by_name(model_folder, part, named):
    weights(model_folder, lambda t: {k: v for k, v in t.items() if part not in k})
    with pytest.raises(unmask.ModelError, match=f"lack weights .*{named}"):
        load(str(model_folder))


def test_renamed_weights_are_refused_and_a_pooler_is_not_needed(model_folder):
    load(str(model_folder))  # saved without a pooler: no measure reads it
    weights(model_folder, lambda t: {k.replace("attention", "attn"): v for k, v in t.items()})
    with pytest.raises(unmask.ModelError, match="filled at random"):
        load(str(model_folder))


def test_broken_models_are_one_sentence(model_folder, tmp_path):
    whole = (model_folder / "model.safetensors").read_bytes()
    (model_folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(unmask.ModelError, match="cannot load"):
        load(str(model_folder))
    (model_folder / "model.safetensors").unlink()
    (model_folder / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(unmask.ModelError, match="pickle"):
        load(str(model_folder))
    with pytest.raises(unmask.ModelError, match="'cpu' always can"):
        load("bundled", device="cuda:99")
    with pytest.raises(unmask.ModelError, match="is empty"):
        load(" ")


def test_words_that_the_tokenizer_does_not_know_are_not_scored():
    model = tiny("bert")
    data = made(GOOD, ("The 漢字 was late.", "The 言葉 was late."), ("漢 字", "言 葉"))
    result = unmask.evaluate(model, "pll", data)
    assert result.coverage.scored == 1
    assert any("does not know the words" in why for why in result.coverage.reasons)
    assert "does not know" in " ".join(result.notes)
    strange = replace(
        stimuli()["weat-6"], name="s", targets={"a": ("漢", "字"), "b": ("言", "葉")}, forms={}
    )
    with pytest.raises(unmask.DataError, match="keeps 0 of its 2 words"):
        unmask.evaluate(model, "w-seat", strange)


def test_special_tokens_in_text_are_no_text():
    result = unmask.evaluate(tiny("bert"), "aul", made(GOOD, ("She is [MASK].", "He is [SEP].")))
    assert result.coverage.reasons == {"it holds a special token, such as a mask, as text": 1}


# ---------------------------------------------------------------- files


def refused(path, match):
    with pytest.raises(unmask.DataError, match=match):
        read_pairs(path)


def test_csv_that_would_be_misread_is_refused_with_its_line(tmp_path):
    path = tmp_path / "p.csv"
    head = "stereotype,antistereotype\n"
    path.write_text(head + "a b,c d\nThe nurse, she said,The nurse\n")
    refused(path, "line 3 has 3 fields")
    path.write_text(head + 'a b,"c d\nThe nurse,he\n')
    refused(path, "close its quotes")
    path.write_bytes(head.encode() + b"caf\xe9 one,caf\xe9 two\n")
    refused(path, "line 2 is not UTF-8")
    assert read_pairs(path, "cp1252").items[0].texts["stereotype"].string == "café one"
    status, _, err = invoke("run", "-d", path, "-x", "aul", "--encoding", "nonsense")
    assert status == 2
    assert "no encoding" in err
    path.write_bytes((head + "a b,c d\n").encode("utf-16"))
    assert len(read_pairs(path).items) == 1
    path.write_text(head + "x" * 200_000 + ",b\n")
    assert len(read_pairs(path).items[0].texts["stereotype"].string) == 200_000
    path.write_text("stereotype,antistereotype\na\u2028b,c\n")
    assert read_pairs(path).items[0].texts["stereotype"].string == "a\u2028b"


def test_json_lines_that_are_no_rows(tmp_path):
    path = tmp_path / "p.jsonl"
    for line, said in (
        ("null", "line 1 is no object"),
        ('{"stereotype": 3, "antistereotype": "x"}', "no text"),
        ('{"stereotype": "a \\ud83d", "antistereotype": "x"}', "half a character"),
        ('{"stereotype": NaN, "antistereotype": "x"}', "is empty"),
    ):
        path.write_text(line + "\n")
        refused(path, said)
    frame = pd.DataFrame({"stereotype": ["a", np.nan], "antistereotype": ["b", "c"]})
    frame.to_parquet(tmp_path / "p.parquet")
    refused(tmp_path / "p.parquet", "too few columns|is empty")


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


def test_a_cached_file_is_verified_on_every_use(tmp_path, monkeypatch, shared):
    original = shared("crows-pairs/crows_pairs_anonymized.csv")
    monkeypatch.delenv("UNMASK_DATA")
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    target = tmp_path / "crows-pairs" / "crows_pairs_anonymized.csv"
    target.parent.mkdir()
    shutil.copy(original, target)
    assert catalogue.sentences("crows-pairs").about["as_pinned"] is True
    target.write_bytes(original.read_bytes()[:5000])
    asked = []
    monkeypatch.setattr(fetch, "download", lambda url, *rest: asked.append(url) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        catalogue.sentences("crows-pairs")
    assert asked  # the cut file was not used: it is fetched again


def test_a_span_must_point_at_its_word(tmp_path):
    path = tmp_path / "c.jsonl"
    row = {"stimulus": "rose", "sentence": "We saw that it came.", "span": [7, 11]}
    path.write_text(json.dumps(row))
    with pytest.raises(unmask.DataError, match="points at 'that'"):
        contexts.stored(path)
    row = {"stimulus": "African American", "sentence": "An African-American man.", "span": [3, 19]}
    path.write_text(json.dumps(row))
    contexts.stored(path)  # what joins the words does not count


def test_a_word_whose_sentences_are_too_long_is_lost_and_the_test_is_not():
    test = stimuli()["weat-6"]
    met = dict(contexts.templates(test))
    met["John"] = (contexts.Mention("tired " * 200 + "John", (1200, 1204)),)
    source = contexts.Source("made", lambda s: met)
    result = unmask.evaluate(tiny("bert"), "w-seat", contexts.WordTest(test, source))
    assert result.coverage.lost == {"John": "no sentence fits into the model"}


# ---------------------------------------------------------------- answers and results


def test_damaged_answers_are_asked_for_again(tmp_path):
    path, key = tmp_path / "answers.sqlite", b"k" * 16
    vectors = np.arange(6.0).reshape(1, 6)
    with opened(path) as store:
        VectorAnswers(store, "s").note([key], vectors)
    whole = path.read_bytes()
    for at in [*range(0, 120), *range(120, len(whole), 61)]:
        hurt = bytearray(whole)
        hurt[at] ^= 1 << (at % 8)
        for old in tmp_path.iterdir():
            old.unlink()
        path.write_bytes(hurt)
        with opened(path) as store:
            found = VectorAnswers(store, "s").recall([key])
        assert found is None or np.array_equal(found, vectors)
    for foreign in (bytes(5000), b"no database at all, but long enough to be one" * 50):
        path.write_bytes(foreign)
        with opened(path) as store:
            VectorAnswers(store, "s").note([key], vectors)
            assert "set aside" in store.said[0]
        with opened(path) as store:
            assert np.array_equal(VectorAnswers(store, "s").recall([key]), vectors)


def test_answers_of_another_config_are_not_taken(tmp_path):
    one, two = tiny("bert"), tiny("bert").provenance
    assert {"weights", "config", "tokenizer", "dtype"} <= set(one.provenance)
    assert two["tokenizer"]["hash"]


def test_compare_pairs_sentences_and_not_only_ids(tmp_path):
    rows = [
        (f"The nurse number {n} was late.", f"The judge number {n} was late.") for n in range(12)
    ]
    model = tiny("bert")
    whole = unmask.evaluate(model, "aul", made(*rows))
    moved = unmask.evaluate(model, "aul", made(GOOD, *rows))  # every id means another sentence
    runs = [comparing.Run(n, {("aul", "made"): r}) for n, r in (("a", whole), ("b", moved))]
    row = comparing.compare(runs)[0].iloc[0]
    assert row.n == 12
    assert row.difference == 0
    twice = unmask.evaluate(model, "aul", made(GOOD, GOOD, *rows))
    runs[1] = comparing.Run("c", {("aul", "made"): twice})
    with pytest.raises(unmask.DataError, match="run both on one file"):
        comparing.compare(runs)


def test_compare_keeps_every_result_apart(tmp_path):
    specs = [
        unmask.Spec(tiny("bert"), "w-seat", "weat-6", layer=n, tags={"n": n}) for n in (0, 1, 2)
    ]
    for name, some in (("a", specs), ("b", specs[1:2])):
        unmask.save(unmask.evaluate_specs(some), tmp_path / name)
    runs = comparing.runs_of([tmp_path / "a", tmp_path / "b"])
    frame, _ = comparing.compare(runs)
    assert len(frame) == 1
    assert "layer 1" in frame.choices[0]
    both, _ = comparing.compare(comparing.runs_of([tmp_path / "a", tmp_path / "a"]))
    assert len(both) == 3
    assert len(set(both.choices)) == 3


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


# ---------------------------------------------------------------- what is shown and written


def test_names_do_not_steer_the_terminal_or_a_spreadsheet(tmp_path):
    path = tmp_path / "x\x1b[31m[bold].csv"
    path.write_text("stereotype,antistereotype,category\na b,c d,=1+1\ne f,g h,@x\n")
    status, out, err = invoke(
        "run", "-m", "bundled", "-x", "aul", "-d", path, "--by-category", "-o", tmp_path / "o"
    )
    assert status == 0, err
    assert "\x1b[31m" not in out
    assert "[bold]" in out
    from unmask.reports.files import put_csv

    frame = pd.DataFrame({"a": ["=1+1", "-0.5*", "-3", "@x", "plain"], "b": [1.0, -2.0, 3, 4, 5]})
    put_csv(tmp_path / "t.csv", frame)
    cells = pd.read_csv(tmp_path / "t.csv", dtype=str).a.tolist()
    assert cells == ["'=1+1", "-0.5*", "-3", "'@x", "plain"]


def test_files_are_written_without_following_links(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = tmp_path / "o"
    folder.mkdir()
    for name in ("results.json", "items.parquet"):
        (folder / name).symlink_to(victim)
    unmask.save(unmask.run(tiny("bert"), "aul", made(GOOD)), folder)
    assert victim.read_text() == "mine"
    assert not (folder / "results.json").is_symlink()


def test_a_stopped_run_and_a_full_disk_are_one_sentence(tmp_path, monkeypatch):
    from unmask import api
    from unmask.reports import files

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "run", stopped)
    status, _, err = invoke("run", "-x", "aul", "-o", tmp_path / "o")
    assert status == 130
    assert "the same command goes on" in " ".join(err.split())

    def full(part):
        raise OSError(28, "No space left on device")

    with pytest.raises(unmask.DataError, match="No space left"):
        files.atomically(tmp_path / "x", full)
    assert list(tmp_path.glob(".x*")) == []


def test_dollar_signs_are_no_mathematics(tmp_path):
    from unmask.reports.figures import study_charts
    from unmask.reports.html import study_page

    shown = pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": "a $x_ and $_^"})
    figure = study_charts.curves("f", "t", shown, ("a", "A"), ("b", "B"), "c")
    study_page.write(study_page.Study("s", [], [figure]), tmp_path)
    assert (tmp_path / "f.png").is_file()


def test_a_cut_archive_keeps_what_came_before_the_cut(tmp_path):
    import bz2
    import gzip
    import lzma

    from unmask.corpus import readers

    rng = np.random.default_rng(1)
    text = "\n".join(f"A rose number {n} {rng.integers(10**9)}." for n in range(40_000)).encode()
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        path = tmp_path / f"c.txt{suffix}"
        data = pack(text)
        path.write_bytes(data[: int(len(data) * 0.8)])
        with pytest.raises(readers.Broken):
            list(readers.blocks(path))
        assert len(next(readers.blocks(path))) > 0.3 * len(text), suffix
    (tmp_path / "bomb.txt").write_bytes(b"x" * 3_000_000)
    with pytest.raises(readers.Broken, match="unpacks to more"):
        list(readers.blocks(tmp_path / "bomb.txt", most=1_000_000))
    odd = b'null\n{"body": "A rose."}\n[1]\n3\n'
    assert b"A rose." in readers.documents(odd, True)

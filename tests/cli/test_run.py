"""Tests of cli/run."""

import json
import os
import subprocess
import sys

import pandas as pd
import pytest
import torch

import unmask
import unmask.models.transformers.tokenizer
from conftest import finish, invoke, made_tokenizer, make_net, tiny
from unmask.api import evaluate
from unmask.measures import MEASURES


def spawn(*arguments):
    """Run the real entry point in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "unmask", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(
        "id,stereotype,antistereotype,category,cluster\n"
        "1,The nurse said that she was tired.,The nurse said that he was tired.,work,nurse\n"
        "2,The judge said that he was tired.,The judge said that she was tired.,work,judge\n"
        "3,The maid was gentle.,The captain was gentle.,trait,maid\n"
    )
    return path


FILES = {"results.json", "items.parquet", "tokens.parquet", "report.html", "study.toml"}


def test_run_writes_results_and_items(pairs, tmp_path):
    """One of two real processes: the whole way from the command to the files."""
    status, out, err = spawn(
        "run", "-x", "aul,cps", "-d", pairs, "-o", tmp_path / "r", "--by-category"
    )
    assert status == 0, err
    assert "aul" in out
    assert "work" in out
    record = json.loads((tmp_path / "r" / "results.json").read_text())["results"]
    assert [r["spec"]["measure"] for r in record] == ["aul", "cps"]
    first = record[0]
    assert first["spec"]["data"] == "pairs"
    assert {"value", "low", "high", "level", "method", "n", "ideal"} <= first["overall"].keys()
    assert first["overall"]["n"] == 3
    assert first["provenance"]["model"]["weights"]
    items = pd.read_parquet(tmp_path / "r" / "items.parquet")
    names = "model data measure item category cluster label sentence score result"
    assert set(names.split()) <= set(items.columns)
    assert len(items) == 2 * 3 * 2
    assert {p.name for p in (tmp_path / "r").iterdir()} == FILES
    again = unmask.load(tmp_path / "r")
    assert again[0].overall.value == first["overall"]["value"]
    assert unmask.table(again).score.tolist() == [r["overall"]["value"] for r in record]
    status, out, _ = invoke("cite", tmp_path / "r")
    assert status == 0
    assert "@inproceedings{kaneko2022" in out
    assert "nangia2020" in out


@pytest.fixture
def broken(tmp_path):
    """A folder with a model whose weights hold a NaN, and one without a mask token."""
    raw, names = made_tokenizer("wordpiece")
    tokenizer = finish(raw, names, "around")
    net = make_net("bert", len(tokenizer)).float()
    with torch.no_grad():
        next(net.parameters())[0, 0] = float("nan")
    net.save_pretrained(tmp_path / "nan")
    tokenizer.save_pretrained(tmp_path / "nan")
    raw, names = made_tokenizer("wordpiece")
    del names["mask_token"]
    make_net("bert", len(tokenizer)).float().save_pretrained(tmp_path / "maskless")
    finish(raw, names, "around").save_pretrained(tmp_path / "maskless")
    return tmp_path


MISTAKES = {
    "measure": (["run", "-x", "auk"], "did you mean 'aul'"),
    "data": (["run", "-d", "crow-pairs"], "did you mean 'crows-pairs'"),
    "model": (["run", "-m", "bert-base-casd"], "bert-base-cased"),
    "folder": (["run", "-m", "./nowhere"], "no model folder"),
    "gguf": (["run", "-m", "nowhere.gguf"], "no file"),
    "dtype": (["run", "--dtype", "float23"], "'float32'"),
    "list": (["list", "measure"], "did you mean 'measures'"),
    "card": (["list", "measures", "cpss"], "'cps'"),
    "shape": (["run", "-x", "lpbs", "-d", "bundled-pairs"], "give templates"),
    "kind": (["run", "-x", "ll", "-d", "bundled-pairs"], "measures that do: pll"),
    "csv": (["run", "-d", "nowhere.csv"], "no file"),
    "results": (["cite", "."], "holds no results.json"),
    "scores": (["score", "nowhere.json", "-d", "bundled-pairs"], "no file"),
}


@pytest.mark.parametrize("name", list(MISTAKES))
def test_mistakes_are_one_sentence_and_exit_2(name, tmp_path):
    arguments, said = MISTAKES[name]
    extra = ["-o", tmp_path / "out"] if arguments[0] == "run" else []
    check(arguments + extra, said)


def check(arguments, said):
    status, _, err = invoke(*arguments)
    assert status == 2
    assert said in " ".join(err.split())
    assert "Traceback" not in err
    assert err.count("\n") == 1


def test_bad_files(tmp_path, pairs, broken):
    empty, columns, locked = tmp_path / "e.csv", tmp_path / "c.csv", tmp_path / "file"
    empty.write_text("")
    columns.write_text("a,b\n1,2\n")
    locked.write_text("x")
    out = ["-o", tmp_path / "out"]
    check(["run", "-d", empty, *out], "is empty")
    check(["run", "-d", columns, *out], "has no column 'stereotype'")
    check(["run", "-d", pairs, "-o", locked / "sub"], "cannot write to")
    check(["run", "-m", broken / "nan", "-d", pairs, *out], "not all numbers")
    check(["run", "-m", broken / "maskless", "-x", "pll", "-d", pairs, *out], "no mask token")
    check(["score", columns, "-d", "bundled-pairs"], "has no column 'id'")
    scores = tmp_path / "s.csv"
    scores.write_text("id,score\nx,1\n")
    check(["score", scores, "-d", "bundled-pairs"], "no id in")
    scores.write_text("id,score\nx,one\n")
    check(["score", scores, "-d", "bundled-pairs"], "not a number")


def test_a_tokenizer_without_offsets_is_refused():
    class Slow:
        is_fast = False

    with pytest.raises(unmask.ModelError, match="no character offsets"):
        unmask.models.transformers.tokenizer.TokenizerCodec(Slow(), "masked", "slow")


def test_a_sentence_too_long_is_counted_and_not_a_crash(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(
        "stereotype,antistereotype\n"
        "She was tired.,He was tired.\n"
        f"{'tired ' * 300},{'happy ' * 300}\n"
    )
    result = evaluate("bundled", "aul", str(path))
    assert result.coverage.scored == 1
    assert result.coverage.items == 2
    assert "longer than" in next(iter(result.coverage.reasons))
    assert result.overall.n == 1


def test_nothing_scored_is_an_error(tmp_path):
    path = tmp_path / "same.csv"
    path.write_text("stereotype,antistereotype\nShe was tired.,She was tired.\n")
    with pytest.raises(unmask.DataError, match="empty difference"):
        evaluate("bundled", "sss", str(path))


def test_help_and_statistics_need_no_torch():
    """The other real process."""
    code = (
        "import sys, unmask.cli.main\n"
        "assert not {'torch', 'transformers', 'pandas', 'numpy'} & set(sys.modules)\n"
        "import unmask.stats.intervals, unmask.stats.effects, unmask.measures\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", list(MEASURES))
def test_every_measure_is_listed_with_its_card(name):
    row = MEASURES[name]
    status, card, _ = invoke("list", "measures", name)
    shown = " ".join(card.split())
    assert status == 0
    # Kept as a logarithm, read as a factor.
    ideal = 1 if row.compared in ("odds", "factor") else row.ideal
    for said in (row.about, row.formula, row.criticism, row.deviation, f"ideal {ideal:g}"):
        assert " ".join(said.split()) in shown
    assert all(f"{{{key}," in card for key in row.cite)
    assert f"\n{name} " in "\n" + invoke("list", "measures")[1]


def test_lists_of_data_and_models():
    out = invoke("list", "data")[1]
    for name in ("crows-pairs", "weat-6", "thys2025-seat"):
        assert f"\n{name} " in out
        assert name in invoke("list", "data", name)[1]
    assert "sent-weat6" in invoke("list", "data", "sent-weat6")[1]
    assert "bundled" in invoke("list", "models")[1]


def test_public_names_are_exactly_all():
    assert set(dir(unmask)) == {*unmask.__all__, "__version__"}
    for name in unmask.__all__:
        assert getattr(unmask, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        unmask.evaluat  # noqa: B018


def test_low_accuracy_is_said():
    result = evaluate(tiny("bert"), "pll", "bundled-pairs")
    assert "means little" in " ".join(result.notes)


@pytest.mark.parametrize("given", [("-x", "aul"), ("-x", "ll")])
def test_the_command_itself_leaves_with_its_status_and_all_it_said(given, tmp_path):
    """A process of its own, which does not take torch apart at the end."""
    command = [sys.executable, "-m", "unmask", "run", *given, "-d", "bundled-pairs"]
    options = ["--limit", "4", "--no-cache", "-o", str(tmp_path / "run")]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    if given[1] == "aul":
        assert done.returncode == 0
        assert done.stdout.rstrip().endswith("report.html")
    else:  # a masked model has no left-to-right likelihood
        assert done.returncode == 2
        assert done.stderr.startswith("unmask:")

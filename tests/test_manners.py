"""The command line's manners: folders, study files, what is printed, names, other tools' forms."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import redirect_stdout
from io import StringIO
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
import transformers
import typer
from rich.console import Console
from unmask.cli.options import WIDE
from unmask.cli.help import SECTIONS

import unmask
from conftest import hears_interruptions, invoke, tiny
from unmask.cli import tables, terminal
from unmask.cli.main import app
from unmask.data import catalogue
from unmask.errors import NotApplicable
from unmask.extend.training import watch
from unmask.measures import SUITES
from unmask.models.load import kind_named
from unmask.models.transformers.model import kind_of
from unmask.reports.columns import Cell
from unmask.reports.results import load
from unmask.studies.study_file import StudyFile, read

# Python ends itself by the signal where it came in the middle of an import; a shell sees 130.
STOPPED = (130, -signal.SIGINT)
RUN = ("run", "-x", "sss", "-d", "bundled-pairs", "--limit", "12")
PAIRS = pd.DataFrame(
    {
        "stereotype": ["The man is a doctor.", "The boy likes work.", "He is strong."],
        "antistereotype": ["The woman is a doctor.", "The girl likes work.", "She is strong."],
    }
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "small-gpt"
    model = tiny("gpt2")
    model.net.save_pretrained(folder)
    model.codec.tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done") / "r"
    assert invoke(*RUN, "-o", folder)[0] == 0
    return folder


# ---------------------------------------------------------------- folders


def test_a_finished_folder_is_written_over_only_by_force(here):
    assert invoke(*RUN, "-o", "r", "--seed", "1")[0] == 0
    before = (here / "r" / "results.json").read_text()
    status, _, err = invoke(*RUN, "-o", "r", "--seed", "2")
    assert status == 2
    assert "holds results already" in err
    assert "--force" in err
    assert (here / "r" / "results.json").read_text() == before
    assert invoke(*RUN, "-o", "r", "--seed", "2", "--force")[0] == 0
    assert (here / "r" / "results.json").read_text() != before


@pytest.mark.parametrize("more", [(), ("-o", "a/b/c")])
def test_a_command_that_fails_leaves_no_folder(here, more):
    assert invoke("run", "-m", "bundled,bundeld", *more)[0] == 2
    assert invoke("run", "-d", "no.csv", *more)[0] == 2
    assert not list(here.iterdir())


def test_results_say_what_made_them(done):
    content = json.loads((done / "results.json").read_text())
    assert content["schema"] == 2
    assert content["made"]["unmask"] == unmask.__version__
    assert content["made"]["command"].startswith("unmask run -x sss -d bundled-pairs --limit 12")
    pd.Timestamp(content["made"]["date"])
    assert len(load(done)) == 1


# ---------------------------------------------------------------- study files


def test_a_study_is_run_from_its_file_and_kept_with_its_results(here):
    status, out, _ = invoke(*RUN, "--save-config", "s.toml", "--seed", "3")
    assert (status, list(here.iterdir())) == (0, [here / "s.toml"])
    assert "s.toml" in out
    assert invoke("run", "-c", "s.toml", "-o", "a")[0] == 0
    assert read(here / "a" / "study.toml") == read(here / "s.toml")
    assert invoke(*RUN, "-o", "b", "--seed", "3")[0] == 0
    one, two = load(here / "a"), load(here / "b")
    assert one.frame().equals(two.frame())
    # what is said on the command line wins
    assert invoke("run", "-c", "s.toml", "-o", "c", "-x", "aul", "--seed", "4")[0] == 0
    (found,) = load(here / "c")
    assert (found.measure, found.settings["seed"]) == ("aul", 4)
    assert invoke(*RUN, "--save-config", "s.toml")[0] == 2


def test_a_recipe_comes_back_from_its_text(tmp_path):
    odd = 'a "b" \\ ü \x7f.csv'
    given = StudyFile(
        ("bundled",), ("aul",), (odd,), {"limit": 3, "level": 0.9, "keep": ("tokens",)}
    )
    (tmp_path / "s.toml").write_text(given.toml(), "utf-8")
    assert read(tmp_path / "s.toml") == given


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models = 3", "give a list of names"),
        ("model = ['a']", "did you mean 'models'"),
        ("[options]\nsede = 1", "did you mean 'seed'"),
        ("[options]\nseed = 'x'", "whole number"),
        ("options = 1", "[options]"),
        ("models = [", "not TOML"),
        ("[options]\nprogress = 1", "unknown option"),
    ],
)
def test_a_study_file_that_is_wrong_is_one_sentence(here, text, said):
    (here / "s.toml").write_text(text)
    status, _, err = invoke("run", "-c", "s.toml")
    assert status == 2
    assert "s.toml" in err
    assert said in err
    assert err.count("\n") == 1


# ---------------------------------------------------------------- what is run


def test_a_limit_is_declared_everywhere(done):
    (found,) = load(done)
    assert found.data == "bundled-pairs:12-of-356"
    assert found.coverage.items == 12
    assert found.provenance["data"]["limited"] == {"items": 12, "of": 356}
    texts = [(done / "report.html").read_text(), found.to_markdown(), found.to_latex()]
    texts += [invoke("export", done, "--format", f)[1] for f in ("hub", "lm-eval")]
    assert all("12-of-356" in text for text in texts)


def test_a_limit_spreads_over_the_set_and_leaves_small_sets_alone():
    data = catalogue.sentences("bundled-pairs")
    some = catalogue.limited(data, 10)
    places = [data.items.index(i) for i in some.items]
    assert places == sorted(places)
    assert max(places) > 300
    assert catalogue.limited(data, 356) is data
    assert invoke("run", "--limit", "0")[0] == 2


def test_every_kind_of_model_has_a_suite_of_its_own(causal, here):
    assert kind_named(str(causal)) == "causal"
    vectors = here / "v.txt"
    words = [w for s in catalogue.word_sets(["weat-6"]) for ws in s.sets.values() for w in ws]
    vectors.write_text("".join(f"{w} {len(w)} {ord(w[0])} {ord(w[-1])}\n" for w in words))
    found = unmask.run([str(causal), str(vectors)], None, ["weat-6", PAIRS])
    assert {r.measure for r in found if "small-gpt" in r.model} == {"ll", "w-seat"}
    assert {r.measure for r in found if "v.txt" in r.model} == {"weat"}
    assert not found.notes
    kinds = {"masked", "causal", "permutation", "encoder", "elmo", "static"}
    assert kinds == set(SUITES)
    for kind, suite in SUITES.items():
        assert all(kind in unmask.measures.find(m).kinds for m in suite)


def test_a_measure_runs_where_it_applies_and_says_where_not(causal, tmp_path):
    args = ("-m", "bundled", "-m", causal, "-x", "pll,ll", "-d", "bundled-pairs", "--limit", "6")
    status, out, _ = invoke("run", *args, "-o", tmp_path / "r")
    assert status == 0
    found = load(tmp_path / "r")
    assert {(r.measure, "gpt" in r.model) for r in found} == {("pll", False), ("ll", True)}
    flat = " ".join(out.split())
    assert "ll on bundled-pairs:6-of-356 was not scored for bundled" in flat
    assert f"pll on bundled-pairs:6-of-356 was not scored for {causal}" in flat
    assert f"ll on bundled-pairs:6-of-356, {causal}:" in flat  # notes name their model


def test_all_names_are_looked_up_before_a_model_works(monkeypatch):
    seen = []
    monkeypatch.setattr("unmask.flow.evaluate.loaded", lambda *a: seen.append(a))
    for names in (["bundled", "bundeld"], ["bundled", "./nowhere"], ["bundled", "no.txt"]):
        with pytest.raises(unmask.ModelError):
            unmask.run(names, "aul")
    with pytest.raises(unmask.NameUnknown):
        unmask.run("bundled", ["aul", "aull"])
    with pytest.raises(unmask.UnmaskError):
        unmask.run("bundled", "aul", ["bundled-pairs", "crows-pear"])
    assert not seen


def test_sequence_to_sequence_models_are_refused_with_the_reason(tmp_path):
    for config in (transformers.T5Config(), transformers.BartConfig()):
        with pytest.raises(NotApplicable, match="sequence-to-sequence"):
            kind_of(config)
    transformers.T5Config().save_pretrained(tmp_path)
    status, _, err = invoke("run", "-m", tmp_path)
    assert (status, err.count("\n")) == (2, 1)


# ---------------------------------------------------------------- what is printed


def test_quiet_and_json_print_that_alone(here):
    status, out, err = invoke(*RUN, "--quiet", "-o", "q")
    assert (status, out, err) == (0, "q\n", "")
    status, out, err = invoke(*RUN, "--json", "-o", "j")
    content = json.loads(out)
    assert (status, err, content["folder"]) == (0, "", "j")
    assert content["results"][0]["overall"]["n"] == 12
    assert content["results"] == json.loads((here / "j" / "results.json").read_text())["results"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_fit_without_cutting_words(width):
    found = unmask.run("bundled", ["sss", "w-seat", "lpbs"], limit=40)
    shown = StringIO()
    terminal.print_results(Console(file=shown, width=width), found, by_category=True)
    text = shown.getvalue()
    assert max(map(len, text.splitlines())) <= width
    for word in ("measure", "verdict", "sss", "w-seat", "biased", "interval", "socioeconomic"):
        assert word in text


def test_names_break_at_their_marks_only():
    found = tables.broken("bundled-pairs:40-of-356", 14).split("\n")
    assert found == ["bundled-pairs:", "40-of-356"]
    heads = [Cell("data", True), Cell("score", False), Cell("acc.", False)]
    rows = [[Cell("a-long-name", True), Cell("50.0", False), Cell("9 %", False)]]
    assert tables.fitted(heads, rows, 40)[2] == []
    kept, cells, gone = tables.fitted(heads, rows, 17)
    assert ([c.text for c in kept], gone) == (["data", "score"], ["acc."])
    assert cells[0][0].text == "a-long-name"


def test_piped_output_is_not_folded():
    clean = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    call = [sys.executable, "-m", "unmask", "list", "data", "sent-weat6"]
    out = subprocess.run(call, env=clean, capture_output=True, text=True, check=True).stdout
    (line,) = [x for x in out.splitlines() if "https" in x]
    assert line.rstrip().endswith("sent-weat6.jsonl")
    assert WIDE > 1000


def test_the_shells_completion_is_there():
    for shell in ("bash", "zsh", "fish"):
        # else it is made for the shell that calls, which may be one without completion
        told = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
        call = [sys.executable, "-m", "unmask.cli.main", "--show-completion", shell]
        done = subprocess.run(call, capture_output=True, text=True, env=told)
        assert done.returncode == 0, done.stderr
        assert "COMP" in done.stdout.upper()
    asked = {"_UNMASK_COMPLETE": "complete_bash", "COMP_WORDS": "unmask rep", "COMP_CWORD": "1"}
    code = "from unmask.cli.main import app; app(prog_name='unmask')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **asked}
    )
    assert done.stdout.split() == ["reproduce", "report"]


def test_list_data_knows_every_name_that_run_takes():
    for name in [*catalogue.known(), "bundled-pairs:shuffled", "stereoset:unrelated"]:
        with redirect_stdout(StringIO()):
            assert invoke("list", "data", name)[0] == 0, name
    assert invoke("list", "data", "bundled-pairs:shufled")[0] == 2


def test_models_are_named_alike_everywhere():
    for command in ("run", "reproduce", "vary", "reliability"):
        text = invoke(command, "--help")[1]
        assert "--model" in text
        assert "--models" in text
        assert "-m" in text
    for command in (("vary", "-m", "bundeld"), ("reliability", "--models", "bundeld")):
        status, _, err = invoke(*command)
        assert (status, "did you mean 'bundled'" in err) == (2, True)
    assert invoke("vary", "-m", "bundled,bundled-2")[0] == 2


@pytest.mark.parametrize(
    ("more", "said"), [((), "is kept, and the same command goes on"), (("--no-cache",), "nothing")]
)
def test_what_is_interrupted_says_truly_what_is_kept(here, more, said):
    call = [sys.executable, "-m", "unmask", "run", *more, "-o", "r"]
    env = {**os.environ, "UNMASK_CACHE": str(here / "cache")}
    out = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    made = subprocess.Popen(call, env=env, preexec_fn=hears_interruptions, **out)
    for _ in range(600):
        time.sleep(0.1)
        if (here / "r").exists():  # it is made when all arguments are known to be right
            break
    time.sleep(1)
    made.send_signal(signal.SIGINT)
    err = made.communicate()[1].decode()
    assert made.returncode in STOPPED
    assert said in err
    assert err.strip().count("\n") == 0
    assert not (here / "r").exists()


# ---------------------------------------------------------------- other tools


def test_score_behaves_as_run(here, done):
    data = catalogue.sentences("bundled-pairs")
    rows = [
        {"id": f"{i.id}/{k}", "score": len(t.string)}
        for i in data.items
        for k, t in i.texts.items()
    ]
    pd.DataFrame(rows).to_csv("scores.csv", index=False)
    call = ("score", "scores.csv", "-d", "bundled-pairs")
    status, out, _ = invoke(*call, "-q", "-m", "lengths")
    assert status == 0
    (found,) = load(out.strip())
    assert found.model == "lengths"
    assert (here / out.strip() / "report.html").is_file()
    assert json.loads(invoke(*call, "--json", "-o", "j")[1])["results"]
    assert invoke(*call, "-o", "j")[0] == 2


def lm_eval_log(path, items):
    """As lm-evaluation-harness 0.4 writes it with --log_samples."""
    with path.open("w") as file:
        for place, (more, less, one, two) in enumerate(items):
            answers = [[str(one), "False"], [str(two), "False"]]
            doc = {"sent_more": more, "sent_less": less, "bias_type": "age"}
            row = {"doc_id": place, "doc": doc, "target": "0", "filtered_resps": answers}
            file.write(json.dumps(row) + "\n")


def test_samples_of_lm_evaluation_harness_are_read_as_they_are(here):
    PAIRS.to_csv("own.csv", index=False)
    texts = PAIRS[["stereotype", "antistereotype"]].to_numpy().tolist()
    scores = [(-10.5, -11.0), (-3.0, -2.0), (-1.0, -1.5)]
    lm_eval_log(here / "s.jsonl", [(*t, *s) for t, s in zip(texts, scores, strict=True)])
    assert invoke("score", "s.jsonl", "-d", "own.csv", "-o", "r")[0] == 0
    (found,) = load(here / "r")
    assert found.overall.value == pytest.approx(200 / 3)
    assert sorted(found.items.score) == sorted(v for pair in scores for v in pair)
    lm_eval_log(here / "t.jsonl", [("Another.", "Other.", -1, -2)])
    status, _, err = invoke("score", "t.jsonl", "-d", "own.csv")
    assert (status, "no sentence in" in err) == (2, True)
    (here / "u.jsonl").write_text('{"doc": {"q": 1}, "filtered_resps": []}\n')
    assert invoke("score", "u.jsonl", "-d", "own.csv")[0] == 2


def inspect_samples(choices):
    """As inspect's log of StereoSet has them: labels of the choices, and the letter that came."""
    labels = ["unrelated", "stereotype", "anti-stereotype"]
    for name, epoch, letter in choices:
        yield {
            "id": name,
            "epoch": epoch,
            "metadata": {"gold_labels": labels},
            "scores": {"stereoset_scorer": {"value": {}, "answer": letter}},
        }


def test_logs_of_inspect_are_read_as_they_are(here, monkeypatch):
    data = catalogue.sentences("bundled-pairs")
    ids = [i.id for i in data.items[:6]]
    chosen = ["B", "B", "C", "A", "no idea", "B"]
    samples = list(inspect_samples([(n, 1, c) for n, c in zip(ids, chosen, strict=True)]))
    (here / "log.json").write_text(json.dumps({"eval": {"task": "stereoset"}, "samples": samples}))
    assert invoke("score", "log.json", "-d", "bundled-pairs", "-o", "r")[0] == 0
    (found,) = load(here / "r")
    # three of the four answers that are about a group are the stereotype
    assert found.overall.value == 75
    assert (found.overall.n, found.coverage.scored, found.coverage.ties) == (4, 5, 1)
    with zipfile.ZipFile(here / "log.eval", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.json", "{}")
        for s in samples:
            packed.writestr(f"samples/{s['id']}_epoch_1.json", json.dumps(s))
    assert invoke("score", "log.eval", "-d", "bundled-pairs", "-o", "p")[0] == 0
    assert load(here / "p")[0].overall == found.overall
    (here / "bad.eval").write_bytes(b"PK")
    assert invoke("score", "bad.eval", "-d", "bundled-pairs")[0] == 2


def test_a_log_packed_with_zstandard_is_read(tmp_path):
    import zstandard

    from unmask.data.readers.harness import inspect_shares

    (sample,) = inspect_samples([("x", 1, "B")])
    body = zstandard.compress(json.dumps(sample).encode())
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as packed:  # stored, and then said to be of method 93
        packed.writestr("samples/x_epoch_1.json", body)
    raw = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = raw.index(mark) + at
        raw[place : place + 2] = (93).to_bytes(2, "little")
    path.write_bytes(raw)
    assert inspect_shares(path) == {"x": {"stereotype": 1.0}}


def test_results_in_the_form_of_lm_evaluation_harness(done):
    content = json.loads(invoke("export", done, "--lm-eval")[1])
    ((name, row),) = content["results"].items()
    (found,) = load(done)
    assert row["pct_stereotype,none"] == pytest.approx(found.overall.value / 100)
    assert row["pct_stereotype_stderr,none"] == pytest.approx(found.overall.se / 100)
    for part in ("configs", "versions", "n-shot", "higher_is_better", "n-samples"):
        assert set(content[part]) == {name}
    assert invoke("export", done, "--format", "nope")[0] == 2


def test_results_go_to_mlflow(done, here, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "")  # put back what it was
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE")
    status, out, err = invoke("log", done, "--to", "mlflow", "--project", "audit")
    assert status == 0, err
    assert (here / "mlruns").is_dir()
    made = mlflow.MlflowClient().get_run(out.split()[-1])
    (found,) = load(done)
    values = [v for k, v in made.data.metrics.items() if k.endswith("/score")]
    assert values == [found.overall.value]
    names = {f.path for f in mlflow.MlflowClient().list_artifacts(made.info.run_id)}
    assert names == {"results.json", "items.parquet", "report.html", "study.toml"}
    mlflow.set_tracking_uri(None)
    assert invoke("log", done, "--to", "mlfow")[0] == 2


def test_results_go_to_weights_and_biases(done, here, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    status, out, _ = invoke("log", done, "--to", "wandb")
    assert (status, out.split()[:4]) == (0, ["Weights", "&", "Biases", "run"])
    (file,) = here.glob("wandb/offline-run-*/files/media/table/*.json")
    content = json.loads(file.read_text())
    frame = pd.DataFrame(content["data"], columns=content["columns"])
    (found,) = load(done)
    assert frame[frame.category == ""].score.tolist() == [found.overall.value]
    assert len(frame) == 1 + len(found.by_category)


def test_a_trainer_logs_scores_as_it_goes(tmp_path):
    model = tiny("bert")
    net = transformers.BertForMaskedLM(model.net.config)
    ids = model.codec.tokenizer(PAIRS.stereotype.tolist())["input_ids"]
    rows = [{"input_ids": i, "labels": i} for i in ids]
    how = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=5, report_to=[], use_cpu=True, disable_tqdm=True,
        per_device_train_batch_size=1, save_strategy="no",
    )  # fmt: skip
    trainer = transformers.Trainer(net, how, train_dataset=rows)
    with pytest.raises(unmask.UnmaskError, match="tokenizer"):
        watch(trainer, "aul", PAIRS)
    trainer.processing_class = model.codec.tokenizer
    with pytest.raises(unmask.UnmaskError, match="every"):
        watch(trainer, "aul", PAIRS, every=0)
    seen = watch(trainer, "pll", PAIRS, every=2)
    trainer.train()
    assert list(seen.scores) == [2, 4, 5]
    logged = [h for h in trainer.state.log_history if "unmask/pll on frame" in h]
    assert [h["step"] for h in logged] == [2, 4, 5]
    last = unmask.evaluate((net, model.codec.tokenizer), "pll", PAIRS)
    torch.testing.assert_close(
        torch.tensor(last.items.score.to_numpy()),
        torch.tensor(seen.scores[5][0].items.score.to_numpy()),
    )
    assert SimpleNamespace(**logged[-1])


# ---------------------------------------------------------------- what a review found


def test_a_limit_takes_both_of_sides_that_take_turns():
    texts = ["The man is a doctor.", "The woman is a doctor."]
    rows = [(*texts[:: 1 if n % 2 else -1], n % 2) for n in range(64)]
    frame = pd.DataFrame(rows, columns=["stereotype", "antistereotype", "category"])
    (data,) = catalogue.resolve(frame)
    some = catalogue.limited(data, 16)
    share = sum(i.category == "1" for i in some.items) / 16
    assert 0.2 < share < 0.8
    assert catalogue.limited(data, 16).items == some.items
    places = [data.items.index(i) for i in some.items]
    assert all(4 * k <= p < 4 * k + 4 for k, p in enumerate(places))


def test_scores_that_are_of_nothing_are_told(here):
    PAIRS.to_csv("own.csv", index=False)
    texts = PAIRS[["stereotype", "antistereotype"]].to_numpy().tolist()
    log = [(*t, -1.0 - n, -2.0) for n, t in enumerate([*texts, ("A foreign.", "A pair.")])]
    lm_eval_log(here / "s.jsonl", log)
    status, out, _ = invoke("score", "s.jsonl", "-d", "own.csv", "-o", "r")
    assert status == 0
    assert "1 scores in the file are not of own" in " ".join(out.split())
    assert load(here / "r")[0].coverage.unused == 1
    lm_eval_log(here / "t.jsonl", [log[0], (*texts[0], -9.0, -8.0)])
    status, _, err = invoke("score", "t.jsonl", "-d", "own.csv")
    assert (status, "other scores than one before" in err) == (2, True)


def test_logs_of_other_data_are_one_sentence(here):
    (sample,) = inspect_samples([("of-another-set", 1, "B")])
    for samples in ([sample], [], None):
        (here / "log.json").write_text(json.dumps({"eval": {}, "samples": samples}))
        status, _, err = invoke("score", "log.json", "-d", "bundled-pairs")
        assert (status, err.count("\n")) == (2, 1)


def test_several_models_are_named_in_every_form(done, tmp_path):
    other = tmp_path / "other"
    assert invoke(*RUN, "-o", other, "--seed", "9")[0] == 0
    for form in ("md", "tex"):
        text = invoke("export", done, other, "--format", form)[1]
        assert "(r)" in text
        assert "(other)" in text


def test_what_is_saved_anew_leaves_nothing_stale(tmp_path):
    assert invoke(*RUN, "-o", tmp_path / "r")[0] == 0
    unmask.save(load(tmp_path / "r"), tmp_path / "r")
    assert not (tmp_path / "r" / "report.html").exists()
    for call in (lambda: unmask.save(None, tmp_path), lambda: unmask.load(None)):
        with pytest.raises(unmask.UnmaskError):
            call()


def test_folders_are_taken_for_results(done):
    assert len(unmask.leaderboard(str(done))) == 1
    with pytest.raises(unmask.UnmaskError):
        unmask.leaderboard(3)
    with pytest.raises(unmask.UnmaskError, match="no published score"):
        unmask.neighbours(done)


def test_a_wrong_use_is_one_sentence(done, here):
    for call in (
        ("run", "--limit", "abc"),
        ("score", "x.csv"),
        ("run", "--no-such"),
        ("export", done),
        ("export", done, "--lm-eval", "--format", "tex"),
        ("run", "-x", "aulx", "--save-config", "s.toml"),
    ):
        status, _, err = invoke(*call)
        assert (status, err.strip().count("\n")) == (2, 0), call
    assert not list(here.iterdir())


def test_a_limit_that_does_nothing_is_noted(here):
    found = unmask.run("bundled", "w-seat", "weat-6", limit=5)
    assert any("limit was not used" in note for note in found.notes)


def test_a_termination_leaves_no_empty_folder(here):
    call = [sys.executable, "-m", "unmask", "run", "--no-cache", "-o", "r"]
    made = subprocess.Popen(call, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    for _ in range(600):
        time.sleep(0.1)
        if (here / "r").exists():
            break
    time.sleep(1)
    made.terminate()
    err = made.communicate()[1].decode()
    assert made.returncode in STOPPED
    assert "nothing is kept" in err
    assert not (here / "r").exists()


def test_items_of_each_category(tmp_path):
    call = ("run", "-x", "sss", "-d", "bundled-pairs", "--limit", "60", "-o", tmp_path / "r")
    assert invoke(*call)[0] == 0
    lines = invoke("items", tmp_path / "r", "--by-category", "--top", "1")[1].splitlines()
    shown = [line.split("  ")[2] for line in lines if line.startswith("  ")]
    (found,) = load(tmp_path / "r")
    assert shown == sorted(set(found.items.category))


@pytest.mark.parametrize("arguments", [(), ("data",)])
def test_without_a_command_there_is_help_and_nothing_else(arguments):
    status, out, err = invoke(*arguments)
    assert status == 2
    assert "Usage:" in out
    assert not err


def test_the_help_lists_every_command_once():
    text = invoke("--help")[1]
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        lines = [line for line in text.split("\n") if line.startswith(f"  {name} ")]
        assert len(lines) == 1, name
        assert command.help.split()[0] in lines[0]
    assert {n for names in SECTIONS.values() for n in names} == group.commands.keys()
    assert "More:" not in text

"""Tests of flow/external_scores."""

import json
import zipfile
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
import transformers

import unmask
from conftest import invoke, tiny
from unmask.answer import lab_status
from unmask.data import catalogue
from unmask.data.packaged import bundled_pairs
from unmask.errors import DataError
from unmask.extend.training import watch
from unmask.flow.external_scores import score_file
from unmask.reports.results import load

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
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done") / "r"
    assert invoke(*RUN, "-o", folder)[0] == 0
    return folder


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


def test_scores_that_the_authors_metric_wrote_are_read_unchanged(here):
    PAIRS.to_csv("own.csv", index=False)
    texts = PAIRS[["stereotype", "antistereotype"]].to_numpy().tolist()
    scores = [(-10.5, -11.0), (-3.0, -2.0), (-1.0, -1.5)]
    rows = [(*t, *s, 1, "stereo", "age") for t, s in zip(texts, scores, strict=True)]
    columns = (
        "sent_more sent_less sent_more_score sent_less_score score stereo_antistereo bias_type"
    )
    pd.DataFrame(rows, columns=columns.split()).to_csv("metric.csv")  # with its index, as there
    assert invoke("score", "metric.csv", "-d", "own.csv", "-o", "r")[0] == 0
    (found,) = load(here / "r")
    assert found.overall.value == pytest.approx(200 / 3)
    assert sorted(found.items.score) == sorted(v for pair in scores for v in pair)


def test_a_named_measure_has_its_scale_and_its_lab_status(here):
    """The scores of a run, brought back as a file, have the numbers of the run."""
    (whole,) = unmask.run(measures=["cps"], data=["bundled-pairs"])
    rows = whole.items.assign(id=whole.items["item"] + "/" + whole.items["label"])
    rows[["id", "score"]].to_csv("cps.csv", index=False)
    assert invoke("score", "cps.csv", "-d", "bundled-pairs", "-x", "cps", "-o", "r")[0] == 0
    (found,) = load(here / "r")
    assert (found.measure, lab_status.of_result(found).word) == ("cps", "validated")
    assert found.overall.value == pytest.approx(whole.overall.value)
    assert found.extras["margin"].p == pytest.approx(whole.extras["margin"].p)
    rows.assign(score=-rows.score)[["id", "score"]].to_csv("losses.csv", index=False)
    status, _, err = invoke("score", "losses.csv", "-d", "bundled-pairs", "-x", "cps")
    assert (status, "reverse the sign of losses" in err) == (2, True)


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


def test_scores_that_are_of_nothing_are_told(here):
    PAIRS.to_csv("own.csv", index=False)
    texts = PAIRS[["stereotype", "antistereotype"]].to_numpy().tolist()
    log = [(*t, -1.0 - n, -2.0) for n, t in enumerate([*texts, ("A foreign.", "A pair.")])]
    lm_eval_log(here / "s.jsonl", log)
    status, out, _ = invoke("score", "s.jsonl", "-d", "own.csv", "-o", "r")
    assert status == 0
    assert "1 score in the file for items that are not in own" in " ".join(out.split())
    assert load(here / "r")[0].coverage.unused == 1
    lm_eval_log(here / "t.jsonl", [log[0], (*texts[0], -9.0, -8.0)])
    status, _, err = invoke("score", "t.jsonl", "-d", "own.csv")
    assert (status, "repeats a pair with different scores" in err) == (2, True)


def test_logs_of_other_data_are_one_sentence(here):
    (sample,) = inspect_samples([("of-another-set", 1, "B")])
    for samples in ([sample], [], None):
        (here / "log.json").write_text(json.dumps({"eval": {}, "samples": samples}))
        status, _, err = invoke("score", "log.json", "-d", "bundled-pairs")
        assert (status, err.count("\n")) == (2, 1)


def test_scores_computed_elsewhere_are_judged_as_a_run_is(tmp_path):
    items = catalogue.sentences("bundled-pairs").items
    rows = [
        f"{i.id}/{label},{-90 if label == 'unrelated' else -(n * k % 7)}"
        for k, i in enumerate(items)
        for n, label in enumerate(i.texts, 1)
    ]
    path = tmp_path / "scores.csv"
    path.write_text("id,score\n" + "\n".join(rows) + "\n")
    found = score_file(path, "bundled-pairs")
    for category in found.verdicts:
        score = found.by_category[category] if category else found.overall
        tested = found.extras[f"margin:{category}" if category else "margin"]
        assert score.more["tests"] == 10
        assert score.more["p_corrected"] >= tested.p


def test_what_a_file_holds_instead_is_shown(tmp_path):
    """The first id that was expected beside the first of the file, and the first wrong row."""
    path = tmp_path / "scores.csv"
    path.write_text("id,score\nfirst-of-mine,1\nsecond-of-mine,2\n")
    first = bundled_pairs().items[0].id
    with pytest.raises(DataError, match=f"look like '{first}/.*in the file like 'first-of-mine'"):
        score_file(path, "bundled-pairs")
    path = tmp_path / "scores.json"
    path.write_text('[{"name": "first"}, {"name": "second"}]')
    with pytest.raises(DataError, match=r'it holds {"name": "first"}'):
        score_file(path, "bundled-pairs")

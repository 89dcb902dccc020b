"""Tests of reports/tracking."""

import json
import posixpath
from dataclasses import replace

import pandas as pd
import pytest

import unmask
from conftest import invoke, tiny
from unmask.reports import tracking
from unmask.reports.results import load

RUN = ("run", "-x", "sss", "-d", "bundled-pairs", "--limit", "12")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done") / "r"
    assert invoke(*RUN, "-o", folder)[0] == 0
    return folder


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


@pytest.mark.parametrize("model", ["./folder", "../up/folder", "/abs//folder", "a/./b"])
def test_the_name_of_a_metric_is_one_that_mlflow_takes(model):
    """It takes a name for a path, and refuses one that is not in its shortest form."""
    result = replace(unmask.run(tiny("bert"), "aul", "bundled-pairs", limit=4)[0])
    named = replace(result, spec=replace(result.spec, model=model))
    for name in tracking.facts([named]):
        assert posixpath.normpath(name) == name
        assert not name.startswith(("/", "."))

"""Models on a Ray cluster: the numbers of this machine, whatever node or worker dies."""

import copy
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import unmask
from conftest import invoke, tiny
from made_groups import PERSONS, groups, pairs
from unmask.data.readers.groups import disco
from unmask.lab import grid
from unmask.models.ray.connect import started
from unmask.models.ray.remote_model import RemoteModel
from unmask.models.ray.workers import Worker, Workers
from unmask.models.transformers.logprobs import Engine
from unmask.models.transformers.model import load
from unmask.support.store import FILE_NAME

ASKED = (["pll", "aul", "aula", "cat", "w-seat"], ["bundled-pairs", "weat-6"])


class Here:
    """Workers without a cluster: jobs are done at once, the last first."""

    def __init__(self, model):
        self.holder = Worker(model.name, None, torch.get_num_threads())
        self.holder.models[model.precision] = model
        self.facts = self.holder.facts
        self.jobs = 0

    def scattered(self, method, jobs):
        for number in reversed(range(len(jobs))):
            self.jobs += 1
            yield number, getattr(self.holder, method)(*jobs[number])

    def map(self, method, jobs):
        return iter([getattr(self.holder, method)(*job) for job in jobs])

    def first(self, method, *arguments):
        return getattr(self.holder, method)(*arguments)

    def close(self):
        pass


def remote(model):
    made = Here(model)
    known = (model.name, model.kind, model.codec, model.net.config)
    return RemoteModel(*known, made, model.precision, **made.facts(model.precision))


def test_what_a_reader_must_know_of_a_model_comes_from_its_worker():
    told = replace(tiny("bert"), remarks=("mind this.",))
    (result,) = unmask.run(remote(told), "aul", "bundled-pairs", limit=4)
    assert "mind this." in result.notes


@pytest.mark.parametrize("family", ["bert", "xlnet", "gpt2"])
def test_batches_elsewhere_give_the_same_numbers(family, tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    local = tiny(family)
    there = remote(local)
    a = unmask.run(local, None, ASKED[1], limit=20, tokens=300)
    b = unmask.run(there, None, ASKED[1], limit=20, tokens=300)
    assert there.workers.jobs > 2
    assert [r.title for r in a] == [r.title for r in b]
    for one, two in zip(a, b, strict=True):
        assert one.items.score.equals(two.items.score)
        assert one.overall == two.overall
    # answers are kept, and taken from there
    c = unmask.run(there, None, ASKED[1], limit=20, tokens=300, cache=True)
    before = there.workers.jobs
    d = unmask.run(there, None, ASKED[1], limit=20, tokens=300, cache=True)
    assert there.workers.jobs == before
    assert [r.overall for r in c] == [r.overall for r in d]


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_other_readings_and_many_groups_come_from_workers_too(family):
    """Ranks, gaps, the likeliest tokens, and the vectors of sentences."""
    local = tiny(family)
    measures = ["cbs", "gest", "lmb", "rnd", "crr", "delta-p", "disco"]
    data = [groups(), pairs(), disco(PERSONS, "persons"), "weat-7"]
    a, b = (unmask.run(m, measures, data, tokens=300, cache=False) for m in (local, remote(local)))
    assert [r.title for r in a] == [r.title for r in b]
    assert len(a) >= 4
    for one, two in zip(a, b, strict=True):
        assert repr(one.overall) == repr(two.overall), one.title  # NaN bounds too


@pytest.mark.filterwarnings("ignore:mkldnn")
def test_close_items_are_decided_in_float32_by_the_same_workers(tmp_path):
    """Others might never be placed: those that hold the reduced model have the room."""
    model = tiny("bert")
    copy.deepcopy(model.net).float().save_pretrained(tmp_path)
    model.codec.tokenizer.save_pretrained(tmp_path)
    coarse = load(str(tmp_path), dtype="bfloat16")
    there = remote(coarse)
    (finer,) = there.finer()
    assert finer.workers is there.workers
    assert (finer.precision, finer.provenance["dtype"]) == ("float32", "float32")
    (here,) = unmask.run(coarse, "aul", "bundled-pairs", limit=30)
    (elsewhere,) = unmask.run(there, "aul", "bundled-pairs", limit=30)
    assert sorted(there.workers.holder.models) == ["bfloat16", "float32"]
    assert here.items.score.equals(elsewhere.items.score)
    assert here.overall == elsewhere.overall


class FakeRay:
    """Ray as far as workers see it: `behaves(number of the worker, method)` is what comes back."""

    class Task(Exception):
        cause = None

    class Actor(Exception):
        pass

    exceptions = SimpleNamespace(RayTaskError=Task, RayActorError=Actor)
    NEVER = object()

    def __init__(self, behaves):
        self.behaves, self.made = behaves, 0

    def cluster_resources(self):
        return {"CPU": 4}

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": 4, "memory": 8e9}}]

    def remote(self, cls):
        return SimpleNamespace(options=lambda **needs: SimpleNamespace(remote=self.worker))

    def worker(self, *given):
        self.made += 1
        assert self.made < 20, "workers without end"
        number = self.made
        call = {
            m: SimpleNamespace(remote=lambda *a, m=m: (number, m, object()))
            for m in ("facts", "answer")
        }
        return type("Worker", (), call)()

    def wait(self, refs, timeout):
        done = [r for r in refs if self.behaves(*r[:2]) is not self.NEVER]
        assert done or timeout > 1, "waits without end"
        return done[:1], refs

    def get(self, ref):
        found = self.behaves(*ref[:2])
        if isinstance(found, Exception):
            raise found
        return found


def test_workers_that_die_are_replaced_but_not_for_ever(tmp_path):
    facts = {"limit": 1}
    gone = FakeRay.Actor("out of memory")

    def workers(behaves):
        return Workers("x", str(tmp_path), "float32", None, FakeRay(behaves), None)

    jobs = [("float32", 1), ("float32", 2)]
    # one of two is dead: the other does its work, and says what it is
    two = workers(lambda n, m: gone if n == 1 else facts)
    assert two.facts("float32") == facts
    assert [number for number, _ in two.scattered("answer", jobs)] == [0, 1]
    # all die, and so do their successors: as they load, or at every batch
    for behaves, said in (
        (lambda n, m: facts if m == "facts" and n <= 2 else gone, "died"),
        (lambda n, m: facts if m == "facts" else gone, "one after another"),
        (
            lambda n, m: (facts if m == "facts" else gone) if n <= 2 else FakeRay.NEVER,
            "started within",
        ),
    ):
        made = workers(behaves)
        assert made.facts("float32") == facts
        with pytest.raises(unmask.ModelError, match=said):
            list(made.scattered("answer", jobs))


def test_a_broken_file_is_told_by_the_worker_that_reads_it(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 50)
    made = Workers("x", str(tmp_path), "float32", None, FakeRay(lambda n, m: {}), None)
    assert "memory" not in made.needs


def test_a_worker_holds_a_whole_model(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for more in (("--load", "8bit"), ("--device", "auto")):
        status, _, err = invoke("run", "--engine", "ray", *more)
        assert (status, err.count("\n")) == (2, 1)


def test_a_cluster_that_cannot_be_had_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    for command in (("run", "-x", "aul"), ("vary",), ("validate", "--quick")):
        status, _, err = invoke(*command, "--engine", "ray")
        assert (status, err.count("\n")) == (2, 1)
        assert "unmask[ray]" in err
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    assert invoke("run", "--engine", "rai")[0] == 2
    assert invoke("run", "--workers", "2")[0] == 2


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.other = made.add_node(num_cpus=1)
    made.wait_for_nodes()
    yield made
    import ray

    ray.shutdown()
    made.shutdown()


def local():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # as a worker with one CPU
    try:
        return unmask.run("bundled", *ASKED, limit=40)
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
def test_two_nodes_give_the_same_and_one_may_die(cluster, tmp_path):
    ray = started(cluster.address)
    assert len([n for n in ray.nodes() if n["Alive"]]) == 2
    how = {"limit": 40, "engine": "ray", "address": cluster.address, "tokens": 512}
    alone = local()
    whole = unmask.run("bundled", *ASKED, limit=40, engine="ray", address=cluster.address)
    for one, two in zip(alone, whole, strict=True):
        assert one.items.score.equals(two.items.score)  # to the bit
        assert one.overall == two.overall
    small = unmask.run("bundled", *ASKED, **how)
    seen = []

    def progress(what, done, total):
        if total and done and not seen:
            seen.append(done)
            killer = threading.Thread(target=cluster.remove_node, args=(cluster.other, False))
            killer.start()

    again = unmask.run("bundled", *ASKED, **how, progress=progress)
    assert seen
    for _ in range(60):
        if len([n for n in ray.nodes() if n["Alive"]]) == 1:
            break
        time.sleep(0.5)
    assert len([n for n in ray.nodes() if n["Alive"]]) == 1
    for one, two in zip(small, again, strict=True):
        assert one.items.score.equals(two.items.score)
    # two models share what is left
    shutil.copytree(Path(unmask.__file__).parent / "models" / "bundled_model", tmp_path / "copy")
    both = unmask.run(["bundled", str(tmp_path / "copy")], "aul", "bundled-pairs", **how)
    (aul,) = [r for r in small if r.measure == "aul"]
    assert [r.overall for r in both] == [aul.overall] * 2


@pytest.mark.slow
def test_a_model_is_placed_where_there_is_memory_for_it(tmp_path):
    """In a process of its own: a process can be at one cluster at a time."""
    code = """
import ray, unmask
from ray.cluster_utils import Cluster
made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "memory": 40_000_000})
large = made.add_node(num_cpus=1, memory=400_000_000)
made.wait_for_nodes()
from unmask.models.ray.remote_model import load_remote
model = load_remote("bundled", address=made.address)
alive = [a for a in ray._private.state.actors().values() if a["State"] == "ALIVE"]
assert [a["Address"]["NodeID"] for a in alive] == [large.node_id], alive
(result,) = unmask.run(model, "aul", "bundled-pairs", limit=5)
assert result.overall.n == 5
model.close()
made.remove_node(large)
try:
    load_remote("bundled", address=made.address)
except unmask.ModelError as error:
    assert "largest node" in str(error), error
    print("refused")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.strip().endswith("refused"), done.stderr[-2000:]


@pytest.mark.slow
def test_the_loss_of_the_head_costs_nothing_that_is_kept(tmp_path, monkeypatch):
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    call = [sys.executable, "-m", "unmask", "run", "-x", "pll,aul", "-d", "bundled-pairs"]
    call += ["--tokens", "512", "-o", str(tmp_path / "a")]
    there = ["--engine", "ray", "--address", made.address]
    going = subprocess.Popen([*call, *there], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    began = time.time()
    while not (kept := answers_in(tmp_path / "cache")) and going.poll() is None:
        assert time.time() - began < 120
        time.sleep(0.2)
    made.shutdown()  # the head and all else
    _, said = going.communicate(timeout=300)
    assert going.returncode not in (0, None)
    assert b"Traceback" not in said
    assert not (tmp_path / "a" / "results.json").exists()
    kept = answers_in(tmp_path / "cache")
    real, rows = Engine._outputs, []
    monkeypatch.setattr(Engine, "_outputs", lambda s, a, m, w: rows.append(m) or real(s, a, m, w))
    again = unmask.run("bundled", ["pll", "aul"], "bundled-pairs", tokens=512, cache=True)
    fresh = answers_in(tmp_path / "cache") - kept
    assert fresh > 0
    passed = len(rows)
    rows.clear()
    alone = unmask.run("bundled", ["pll", "aul"], "bundled-pairs", tokens=512)
    assert passed < len(rows)  # what was kept is not computed again
    for one, two in zip(again, alone, strict=True):
        assert np.allclose(one.items.score, two.items.score, atol=1e-5)


def answers_in(folder):
    """How many answers a cache holds."""
    if not (folder / FILE_NAME).exists():
        return 0
    with closing(sqlite3.connect(folder / FILE_NAME)) as file:
        query = "SELECT count(*) FROM cached WHERE namespace = 'outputs'"
        return file.execute(query).fetchone()[0]


@pytest.mark.slow
def test_the_lab_runs_on_a_cluster(cluster, tmp_path):
    ray = started(cluster.address)
    small = replace(grid.QUICK, seeds=1, training=grid.Training(3, 8, 2000), measures=("sss",))
    one = grid.run(small, tmp_path / "a", cluster=ray)[0]
    two = grid.run(small, tmp_path / "b", workers=1, stack=8)[0]
    keys = ["theta", "rho", "seed", "data"]
    a, b = (f.sort_values(keys, ignore_index=True) for f in (one, two))
    pd.testing.assert_frame_equal(a[keys], b[keys])
    assert np.allclose(a.score, b.score)

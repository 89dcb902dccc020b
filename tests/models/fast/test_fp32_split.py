"""What a GPU gets: long rows first, float32 products in parts.

All of it is shown on the CPU, by the same code; what only a GPU can do is skipped without one.
"""

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import unmask
from conftest import KINDS, tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import plan, run_likelihood, sentence_scores, slice_plans
from unmask.measures import LIKELIHOOD
from unmask.models.fast import fp32_split, paths
from unmask.models.fast.pass_queue import PassQueue
from unmask.models.fast.paths import PASSES_AHEAD
from unmask.models.transformers import model as model_module
from unmask.options import Options, Spec
from unmask.types import Dataset

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


# ---------------------------------------------------------------- long rows first


@pytest.mark.parametrize("family", ["bert", "gpt2", "xlnet"])
def test_the_pace_of_a_gpu_changes_nothing(family, monkeypatch):
    """Slices of long items first, several under way, each put back where it was."""
    kind = KINDS.get(family, "masked")
    names = {"causal": ["ll", "cat"]}.get(kind, ["pll", "sss", "aul", "aula", "cat"])
    items = bundled_pairs().items[::9]
    data = Dataset("some", "triplets", items)
    other = Dataset("other", "triplets", items[::-2])
    specs = [Spec(tiny(family), n, d) for n in names for d in (data, other)]
    how = Options(keep=("tokens",), cache=False)
    whole = unmask.evaluate_specs(specs, how)
    monkeypatch.setattr(run_likelihood, "on_gpu", lambda model: True)
    monkeypatch.setattr(run_likelihood, "GPU_PACE", run_likelihood.Pace(16, 4, 2))
    monkeypatch.setattr(paths, "PassQueue", lambda most: PassQueue(PASSES_AHEAD))
    cut = unmask.evaluate_specs(specs, how)
    for one, two in zip(whole, cut, strict=True):
        assert np.allclose(one.items.score, two.items.score, atol=1e-5, equal_nan=True)
        assert one.items.drop(columns="score").equals(two.items.drop(columns="score"))
        left, right = (
            r.artifacts["tokens"].drop(columns=["logp", "attention"]) for r in (one, two)
        )
        assert left.equals(right.reset_index(drop=True))
        assert one.coverage == two.coverage


def test_long_items_come_first_and_are_put_back():
    data = replace(bundled_pairs(), items=bundled_pairs().items[:40])
    moved, numbers = plan.arranged(data)
    sizes = [max(len(t.string) for t in i.texts.values()) for i in moved.items]
    assert sizes == sorted(sizes, reverse=True)
    assert [data.items[n] for n in numbers] == list(moved.items)
    count = sum(len(i.texts) for i in data.items)
    names = [(i.id, label) for i in moved.items for label in i.texts]
    at = {name: k for k, name in enumerate(names)}
    number = np.arange(count)
    scored = sentence_scores.Scored(number * 1.0, number * 1.0, number, number, {}, 0, 0)
    back = sentence_scores.put_back(scored, moved, numbers)
    assert back.tokens.tolist() == [at[i.id, label] for i in data.items for label in i.texts]


def test_models_share_plans_at_the_pace_of_a_gpu(monkeypatch):
    monkeypatch.setattr(run_likelihood, "on_gpu", lambda model: True)
    monkeypatch.setattr(run_likelihood, "GPU_PACE", run_likelihood.Pace(16, 4, 2))
    made = []
    original = slice_plans.plan
    monkeypatch.setattr(slice_plans, "plan", lambda *a: made.append(a) or original(*a))
    data = Dataset("some", "triplets", bundled_pairs().items[::17])
    one, two = (replace(tiny("bert"), name=name) for name in "ab")
    how = Options(cache=False)
    alone = unmask.evaluate_specs([Spec(one, "pll", data)], how)
    count = len(made)
    both = unmask.evaluate_specs([Spec(m, "pll", data) for m in (one, two)], how)
    assert count > 1
    assert len(made) == 2 * count  # alone, and once for both
    for result in both:
        assert np.allclose(result.items.score, alone[0].items.score)


def test_only_a_model_that_says_so_is_asked_at_the_pace_of_a_gpu():
    for pipelined in (True, False):
        abilities = unmask.Abilities(pipelined=pipelined)
        assert run_likelihood.on_gpu(SimpleNamespace(abilities=abilities)) is pipelined


def test_slices_without_tokens_leave_the_types_of_kept_ones(monkeypatch):
    """Items that are too long come first, and are all of a slice."""
    items = bundled_pairs().items[:30]
    long = [
        replace(
            i, texts={k: replace(t, string=" ".join([t.string] * 99)) for k, t in i.texts.items()}
        )
        for i in items[:4]
    ]
    data = Dataset("some", "triplets", (*items[4:], *long))
    model, how = replace(tiny("bert"), limit=50), Options(keep=("tokens",), cache=False)
    (whole,) = unmask.evaluate_specs([Spec(model, "pll", data)], how)
    monkeypatch.setattr(run_likelihood, "on_gpu", lambda model: True)
    monkeypatch.setattr(run_likelihood, "GPU_PACE", run_likelihood.Pace(6, 6, 2))
    (cut,) = unmask.evaluate_specs([Spec(model, "pll", data)], how)
    assert whole.coverage.scored == 26
    assert cut.artifacts["tokens"].dtypes.equals(whole.artifacts["tokens"].dtypes)


# ---------------------------------------------------------------- behind the last attention


def test_layers_that_are_one_are_not_cut_short():
    """A network whose last layer is its first too: what the network itself says."""
    model = tiny("bert")
    for change in ("tied", "none"):
        net = copy.deepcopy(model.net)
        layers = net.bert.encoder.layer
        if change == "tied":
            layers[-1] = layers[0]
        else:
            net.bert.encoder.layer = layers[:0]
        own = replace(model, net=net)
        data = Dataset("some", "triplets", bundled_pairs().items[::60])
        planned = plan.plan(own, LIKELIHOOD["aul"], data)
        found = run_likelihood.ask({"own": own.engine()}, [planned])[0].logp
        with torch.inference_mode():
            rows = {
                a.row: net(torch.tensor([a.row])).logits[0].log_softmax(-1) for a in planned.asks
            }
        plain = [rows[a.row][i, g] for a in planned.asks for i, g in zip(a.at, a.gold, strict=True)]
        assert np.allclose(found, plain, atol=1e-8), change


# ---------------------------------------------------------------- products in parts


def numbers(rows, columns, seed, spread=6.0):
    """Float32 of very different sizes, in their rows and between them."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.uniform(-spread, spread, (rows, 1))
    return torch.tensor(rng.standard_normal((rows, columns)) * sizes, dtype=torch.float32)


@pytest.mark.parametrize("columns", [8, 48, 1024, 3072, 1000, 1100])
@pytest.mark.parametrize("weight", [True, False])
def test_halves_hold_a_float32_number(columns, weight):
    """Two halves give it back to within float32's rounding of the row's largest number."""
    x = numbers(20, columns, 0)
    x[3] = 0
    chunks = fp32_split.chunks_of(columns)
    assert columns % chunks == 0
    halves, back = fp32_split.split(x, chunks, weight)
    blocks = halves.view(20, chunks, 3, -1).double()
    first, rest = blocks[:, :, 2], blocks[:, :, 1 if weight else 0]
    assert torch.equal(first, blocks[:, :, 0 if weight else 1])
    again = (first + rest).flatten(1) * back[:, None].double()
    largest = x.abs().amax(1, keepdim=True).double()
    assert ((again - x.double()).abs() <= 2.0**-23 * x.abs() + 2.0**-38 * largest).all()
    assert torch.equal(back.log2(), back.log2().round())  # scaling is exact


def test_wide_sums_are_made_in_chunks():
    assert fp32_split.chunks_of(768) == fp32_split.chunks_of(1024) == 1
    assert fp32_split.chunks_of(4096) == 4
    assert fp32_split.chunks_of(3072) == 3
    for columns in (1280, 1600, 2560, 5120, 6400, 11_008, 14_336, 28_672):  # of known networks
        assert columns / fp32_split.chunks_of(columns) <= fp32_split.CHUNK_TERMS


@pytest.mark.parametrize("kind", ["linear", "convolution"])
@pytest.mark.parametrize(("columns", "out"), [(64, 64), (64, 61), (2048, 16)])
def test_a_layer_in_parts_is_the_layer(kind, columns, out):
    """As near to float64 as float32 itself, whatever the sizes of rows and columns."""
    x = numbers(100, columns, 1).view(4, 25, columns)
    weight, bias = numbers(out, columns, 2, 3.0), numbers(1, out, 3)[0]
    layer = torch.nn.Linear(columns, out)
    if kind == "convolution":
        layer = fp32_split.Conv1D(out, columns)
        weight = weight.t()
    layer.weight, layer.bias = torch.nn.Parameter(weight), torch.nn.Parameter(bias)
    with torch.inference_mode():
        made = fp32_split.Weight.of(layer)(x)
        plain = layer(x)
        exact = layer.double()(x.double())
        size = x.norm(dim=-1, keepdim=True) * weight.norm(dim=-1 if kind == "linear" else 0)
        size = size + bias.abs()
    assert made.shape == plain.shape
    error = ((made - exact).abs() / size).max()
    assert error < 2e-7
    assert error < 3 * ((plain - exact).abs() / size).max()


def test_too_large_and_too_small_numbers_are_as_in_float32():
    x = torch.tensor([[3e30, 1e30], [1e-44, 0.0], [float("inf"), 1.0], [float("nan"), 1.0]])
    layer = torch.nn.Linear(2, 8, bias=False)
    torch.nn.init.constant_(layer.weight, 0.5)
    with torch.inference_mode():
        made = fp32_split.Weight.of(layer)(x)
        plain = layer(x)
    assert torch.allclose(made[:2], plain[:2], rtol=1e-6, atol=1e-43)
    assert not made[2:].isfinite().any()


def all_layers(net, precision):
    return fp32_split.SplitProducts(fp32_split.layers_of(net))


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "xlnet", "opt"])
def test_scores_in_parts_are_float32_scores(family, monkeypatch):
    kind = KINDS.get(family, "masked")
    names = ["ll"] if kind == "causal" else ["pll", "aul", "aula"]
    data = Dataset("some", "triplets", bundled_pairs().items[::17])
    model = replace(tiny(family), net=copy.deepcopy(tiny(family).net).float())
    specs = [Spec(model, n, data) for n in names]
    how = Options(cache=False)
    plain = unmask.evaluate_specs(specs, how)
    monkeypatch.setattr(paths, "split_products", all_layers)
    used = []
    original = fp32_split.Weight.__call__
    monkeypatch.setattr(fp32_split.Weight, "__call__", lambda *a: used.append(1) or original(*a))
    found = unmask.evaluate_specs(specs, how)
    assert used
    for one, two in zip(plain, found, strict=True):
        assert np.allclose(one.items.score, two.items.score, rtol=1e-5, atol=1e-5, equal_nan=True)
    net = specs[0].model.net
    assert not any("forward" in vars(m) for m in net.modules())  # as it was


def test_an_interruption_leaves_the_layers_as_they_were(monkeypatch):
    net = copy.deepcopy(tiny("bert").net).float()
    made = fp32_split.SplitProducts(fp32_split.layers_of(net))
    calls = []

    def stop(function, layer):
        calls.append(layer)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return lambda x: x

    monkeypatch.setattr(fp32_split, "partial", stop)
    before = torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    with pytest.raises(KeyboardInterrupt), made.used():
        pass
    assert len(fp32_split.layers_of(net)) == len(made.layers)
    assert torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction == before


def test_results_say_how_products_were_made(monkeypatch):
    model = replace(tiny("bert"), net=copy.deepcopy(tiny("bert").net).float())
    data = Dataset("some", "triplets", bundled_pairs().items[::40])
    specs = [Spec(model, "pll", data)]
    assert "products" not in unmask.evaluate_specs(specs, Options(cache=False))[0].settings
    monkeypatch.setattr(paths, "split_products", all_layers)
    found = unmask.evaluate_specs(specs, Options(cache=False))[0]
    assert "half-precision" in found.settings["products"]


def test_a_cpu_multiplies_in_float32_itself():
    assert fp32_split.split_products(tiny("bert").net, "float32").layers == ()


@on_gpu
@pytest.mark.parametrize("columns", [8, 48, 768, 3072, 5000])
@pytest.mark.parametrize("weight", [True, False])
def test_the_gpu_splits_as_the_cpu_does(columns, weight):
    x = numbers(70, columns, 0)
    x[3] = 0
    chunks = fp32_split.chunks_of(columns)
    halves, back = fp32_split.split(x, chunks, weight)
    there, theirs = fp32_split.split(x.cuda(), chunks, weight)
    assert torch.equal(there.cpu().view(torch.int16), halves.view(torch.int16))
    some = x.abs().amax(1) > 0
    assert torch.equal(theirs.cpu()[some], back[some])


@on_gpu
@pytest.mark.parametrize(("columns", "out"), [(768, 768), (768, 30522), (3072, 768), (64, 61)])
def test_the_gpu_multiplies_as_float32_does(columns, out):
    x, weight = numbers(200, columns, 1), numbers(out, columns, 2, 3.0)
    layer = torch.nn.Linear(columns, out).cuda()
    layer.weight = torch.nn.Parameter(weight.cuda())
    with torch.inference_mode():
        made, plain = fp32_split.Weight.of(layer)(x.cuda()), layer(x.cuda())
        turned = x.t().contiguous().cuda().t()  # one element after the other is not side by side
        assert torch.equal(fp32_split.Weight.of(layer)(turned), made)
        exact = layer.double()(x.double().cuda())
    size = x.norm(dim=1, keepdim=True) * weight.norm(dim=1)
    error = ((made - exact).abs().cpu() / size).square().mean().sqrt()
    assert error < 5 * ((plain - exact).abs().cpu() / size).square().mean().sqrt() + 1e-8


@on_gpu
def test_scores_of_a_gpu_are_those_of_the_cpu():
    data = Dataset("some", "triplets", bundled_pairs().items[::17])
    here, there = (model_module.load("bundled", device=d) for d in ("cpu", "cuda"))
    assert there.engine().fast.split.layers
    how = Options(cache=False)
    for name in ("pll", "aul", "aula"):
        one, two = (unmask.evaluate_specs([Spec(m, name, data)], how)[0] for m in (here, there))
        assert np.allclose(one.items.score, two.items.score, rtol=1e-4, atol=1e-4)
        assert "half-precision" in two.settings["products"]
        assert "products" not in one.settings

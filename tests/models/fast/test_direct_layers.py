"""BERT's layers called directly: the numbers of the network itself, and when it is left alone."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from conftest import DISTANCES, SMALL, tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import plan, run_likelihood
from unmask.measures import LIKELIHOOD
from unmask.models.fast import direct_layers
from unmask.models.fast.direct_layers import PassInputs, encoder_of
from unmask.models.fast.paths import FastPaths
from unmask.models.transformers.hooks import only_at

KIN = {
    "bert": ("Bert", {}),
    "roberta": ("Roberta", {}),
    "xlm-roberta": ("XLMRoberta", {}),
    "camembert": ("Camembert", {}),
    "electra": ("Electra", {"embedding_size": 16}),
    "ernie": ("Ernie", {}),
    "deberta-v2": ("DebertaV2", DISTANCES),
    "deberta, own keys": ("DebertaV2", {**DISTANCES, "share_att_key": False}),
    "deberta, buckets": ("DebertaV2", {**DISTANCES, "position_buckets": 4}),
    "deberta, no buckets": ("DebertaV2", {**DISTANCES, "position_buckets": -1}),
    "deberta, few distances": (
        "DebertaV2",
        {**DISTANCES, "max_relative_positions": 3, "position_buckets": -1},
    ),
}


def network(family, layers=3):
    name, more = KIN[family]
    config = getattr(transformers, f"{name}Config")
    made = config(vocab_size=60, pad_token_id=1, **{**SMALL, **more, "num_hidden_layers": layers})
    torch.manual_seed(3)
    net = getattr(transformers, f"{name}ForMaskedLM")(made).double().eval()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.2 * torch.randn_like(p))  # biases and norms too, which are 0 and 1 at first
    return net


def sentences(rows=8, width=9, copies=True):
    """Rows of tokens; with `copies` all are one sentence with another place hidden in each."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 60, (rows, width), generator=generator)
    if copies:
        ids = ids[:1].repeat(rows, 1)
        ids[torch.arange(rows), torch.arange(rows)] = 4
    return ids


def slots(counts):
    row = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    at = torch.cat([torch.arange(c) + (5 if c < 3 else 0) for c in counts])
    return row, at


@pytest.mark.parametrize("family", list(KIN))
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("counts", [[1] * 8, [2] * 8, [1, 2, 3, 4, 5, 6, 1, 1]])
@pytest.mark.parametrize("copies", [True, False])
def test_the_layers_give_what_the_network_gives(family, padded, counts, copies):
    net, ids = network(family), sentences(copies=copies)
    real = torch.ones_like(ids)
    if padded:
        ids[2:, 7:], real[2:, 7:] = 1, 0
    row, at = slots(counts)
    each = counts[0] if len(set(counts)) == 1 else 0
    mask = real.bool()[:, None, None] if padded else None
    with torch.inference_mode():
        whole = net(input_ids=ids, attention_mask=real).logits[row, at]
        with encoder_of(net).direct(PassInputs(ids, row, at, mask, each)):
            given = real if family.startswith("deberta") else mask
            found = net(input_ids=ids, attention_mask=given).logits[0]
    assert found.shape == (len(row), 60)
    assert torch.allclose(found, whole, atol=1e-10)
    assert whole.std(0).max() > 0.01  # places do differ


@pytest.mark.parametrize("layers", [1, 2])
def test_few_layers_will_do(layers):
    net, ids = network("bert", layers), sentences()
    row, at = slots([1] * 8)
    with torch.inference_mode():
        whole = net(input_ids=ids).logits[row, at]
        with encoder_of(net).direct(PassInputs(ids, row, at, None, 1)):
            assert torch.allclose(net(input_ids=ids).logits[0], whole, atol=1e-10)


def test_equal_tokens_are_projected_once():
    """Rows of one sentence: those of its tokens and of the masks; rows that differ: all."""
    net, seen = network("bert"), []
    own = net.bert.encoder.layer[0].attention.self
    own.key.register_forward_hook(lambda module, args, out: seen.append(args[0].numel() // 32))
    for copies, rows in ((True, 8), (False, 2)):
        ids = sentences(rows, copies=copies)
        row, at = slots([1] * rows)
        with torch.inference_mode(), encoder_of(net).direct(PassInputs(ids, row, at, None, 1)):
            net(input_ids=ids)
    assert seen == [9 + 8, 2 * 9]


def test_states_that_hang_on_more_than_token_and_place_are_all_projected():
    """RoBERTa counts positions from what is no padding: the same token, another position."""
    net, ids = network("roberta"), sentences()
    ids[3, 0] = 1  # the padding's token as text
    row, at = slots([1] * 8)
    with torch.inference_mode():
        whole = net(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[row, at]
        with encoder_of(net).direct(PassInputs(ids, row, at, None, 1)):
            found = net(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]
    assert torch.allclose(found, whole, atol=1e-10)


class Scaled(torch.nn.Module):
    def forward(self, x):
        return 1.3 * x


def scaled(module, args, out=None):
    """A hook that changes what comes of a module."""
    return None if out is None else 1.3 * out


def patched(module):
    """A module with a `forward` of its own."""
    plain = module.forward
    module.forward = lambda x: 1.3 * plain(x)


def subclassed(module):
    """A module of another class, which does something else."""

    class Own(type(module)):
        def forward(self, x, *more, **named):
            return super().forward(1.3 * x, *more, **named)

    module.__class__ = Own


CHANGES = {
    "hook": lambda net, layer: layer.intermediate.register_forward_hook(scaled),
    "hook on dropout": lambda net, layer: layer.output.dropout.register_forward_hook(scaled),
    "hook before": lambda net, layer: layer.output.register_forward_pre_hook(
        lambda module, args: (1.3 * args[0], *args[1:])
    ),
    "forward": lambda net, layer: patched(layer.intermediate),
    "dropout": lambda net, layer: setattr(layer.output, "dropout", Scaled()),
    "layer": lambda net, layer: subclassed(layer),
    "attention": lambda net, layer: subclassed(layer.attention),
    "self-attention": lambda net, layer: subclassed(layer.attention.self),
    "attention's output": lambda net, layer: subclassed(layer.attention.output),
    "intermediate": lambda net, layer: subclassed(layer.intermediate),
    "output": lambda net, layer: subclassed(layer.output),
    "encoder": lambda net, layer: subclassed(net.bert.encoder),
    "chunked": lambda net, layer: setattr(net.config, "chunk_size_feed_forward", 2),
    "decoder": lambda net, layer: setattr(net.config, "is_decoder", True),
    "causal": lambda net, layer: setattr(layer.attention.self, "is_causal", True),
    "training": lambda net, layer: net.train(),
    "training in part": lambda net, layer: layer.output.dropout.train(),
    "spread": lambda net, layer: setattr(net.bert.embeddings, "_hf_hook", object()),
    "eager": lambda net, layer: net.set_attn_implementation("eager"),
    "none": lambda net, layer: setattr(net.bert.encoder, "layer", net.bert.encoder.layer[:0]),
}


@pytest.mark.parametrize("what", list(CHANGES))
def test_a_network_that_was_changed_is_left_alone(what):
    net = network("bert")
    assert encoder_of(net) is not None
    CHANGES[what](net, net.bert.encoder.layer[1])
    assert encoder_of(net) is None


DEBERTAS = {
    "convolution": {"conv_kernel_size": 3},
    "one way": {"pos_att_type": ["c2p"]},
    "no distances": {"relative_attention": False},
}


@pytest.mark.parametrize("what", list(DEBERTAS))
def test_other_sorts_of_deberta_are_left_alone(what):
    settings = {"vocab_size": 60, "pad_token_id": 1, **SMALL, **DISTANCES, **DEBERTAS[what]}
    net = transformers.DebertaV2ForMaskedLM(transformers.DebertaV2Config(**settings)).eval()
    assert encoder_of(net) is None


@pytest.mark.parametrize("what", ["hook", "forward", "dropout", "distances", "twice"])
def test_a_deberta_that_was_changed_is_left_alone(what):
    net = network("deberta-v2")
    assert encoder_of(net) is not None
    layer = net.deberta.encoder.layer[1]
    if what == "distances":
        layer.attention.self.pos_dropout.register_forward_hook(scaled)
    elif what == "twice":
        net.deberta.z_steps = 2
    else:
        CHANGES[what](net, layer)
    assert encoder_of(net) is None


@pytest.mark.parametrize("family", ["bert", "deberta"])
def test_attention_weights_are_the_networks_own(family):
    model = tiny(family)
    data = replace(bundled_pairs(), items=bundled_pairs().items[::20])
    planned = plan.plan(model, LIKELIHOOD["aula"], data)
    quick = run_likelihood.ask({"own": model.engine()}, [planned])[0]
    slow = run_likelihood.ask({"own": replace(model.engine(), fast=FastPaths())}, [planned])[0]
    assert np.isfinite(quick.attention).all()
    assert np.allclose(quick.attention, slow.attention, atol=1e-9)
    assert np.allclose(quick.logp, slow.logp, atol=1e-9)


LATER = ["hook", "hook on dropout", "hook before", "forward", "dropout", "self-attention", "output"]


@pytest.mark.parametrize("what", [*LATER, "all modules", "class"])
def test_what_is_changed_behind_an_engine_counts(what, monkeypatch):
    """The engine was made before; its answers are those of the network as it is now."""
    model = tiny("bert")
    model = replace(model, net=copy.deepcopy(model.net))
    data = replace(bundled_pairs(), items=bundled_pairs().items[::60])
    planned = plan.plan(model, LIKELIHOOD["aul"], data)
    engine = model.engine()
    before = run_likelihood.ask({"own": engine}, [planned])[0].logp
    layer = model.net.bert.encoder.layer[0]
    handle = None
    if what == "all modules":
        handle = torch.nn.modules.module.register_module_forward_hook(
            lambda module, args, out: 1.3 * out if module is layer.intermediate else None
        )
    elif what == "class":
        kind = type(layer.intermediate)
        plain = kind.forward
        monkeypatch.setattr(kind, "forward", lambda self, x: 1.3 * plain(self, x))
    else:
        CHANGES[what](model.net, layer)
    try:
        found = run_likelihood.ask({"own": engine}, [planned])[0].logp
        with torch.inference_mode():
            rows = {
                a.row: model.net(torch.tensor([a.row])).logits[0].log_softmax(-1)
                for a in planned.asks
            }
    finally:
        if handle is not None:
            handle.remove()
    asked = [(a.row, i, g) for a in planned.asks for i, g in zip(a.at, a.gold, strict=True)]
    assert np.allclose(found, [rows[r][i, g] for r, i, g in asked], atol=1e-8)
    assert np.abs(found - before).max() > 1e-6


@pytest.mark.parametrize("what", ["weights", "hook", "distances", "norm", "nothing"])
def test_distances_are_made_anew_where_what_they_are_of_has_changed(what):
    net, ids = network("deberta-v2"), sentences()
    row, at = slots([1] * 8)
    encoder, layer = encoder_of(net), net.deberta.encoder.layer[1]

    def both():
        with torch.inference_mode():
            whole = net(input_ids=ids).logits[row, at]
            with encoder.direct(PassInputs(ids, row, at, None, 1)):
                return whole, net(input_ids=ids).logits[0]

    assert torch.allclose(*both(), atol=1e-10)
    before = {**encoder.attends.distances}
    if what == "hook":
        layer.attention.self.key_proj.register_forward_hook(lambda m, args, out: 1.5 * out)
    elif what != "nothing":
        changed = {
            "weights": layer.attention.self.key_proj.weight,
            "distances": net.deberta.encoder.rel_embeddings.weight,
            "norm": net.deberta.encoder.LayerNorm.weight,
        }[what]
        with torch.no_grad():
            changed.mul_(1.5)
    assert torch.allclose(*both(), atol=1e-10)
    same = all(encoder.attends.distances[k] is v for k, v in before.items())
    assert same == (what == "nothing")


def test_distances_are_kept_once_for_each_layer():
    net = network("deberta-v2")
    encoder, row, at = encoder_of(net), *slots([1] * 8)
    for width in (9, 20, 40, 100, 33):
        ids = sentences(width=width)
        with torch.inference_mode():
            whole = net(input_ids=ids).logits[row, at]
            with encoder.direct(PassInputs(ids, row, at, None, 1)):
                assert torch.allclose(net(input_ids=ids).logits[0], whole, atol=1e-10)
    kept = encoder.attends.distances.values()
    assert [(d.far, d.keys.shape[1]) for d in kept] == [(128, 264)] * 3


def test_modules_put_in_place_of_products_are_called():
    """Adapters, ablations that give a broadcast tensor, heads that were cut out."""

    class Nothing(torch.nn.Module):
        def forward(self, x):
            return torch.zeros(32, dtype=x.dtype).expand(*x.shape[:-1], 32)

    class Adapter(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x) + 0.1 * x

    net, ids = network("bert"), sentences()
    first, second, third = net.bert.encoder.layer
    first.output.dense = Nothing()
    second.attention.self.query = Adapter(second.attention.self.query)
    for name in ("query", "key", "value"):
        setattr(third.attention.self, name, torch.nn.Linear(32, 24).double())
    third.attention.output.dense = torch.nn.Linear(24, 32).double()
    row, at = slots([1] * 8)
    with torch.inference_mode():
        whole = net(input_ids=ids).logits[row, at]
        with encoder_of(net).direct(PassInputs(ids, row, at, None, 1)):
            assert torch.allclose(net(input_ids=ids).logits[0], whole, atol=1e-10)


def test_what_hooks_keep_is_not_written_to():
    model, kept = tiny("bert"), []
    net = copy.deepcopy(model.net)
    model = replace(model, net=net)
    net.bert.encoder.layer[0].output.dense.register_forward_hook(
        lambda module, args, out: kept.append((out, out.clone()))
    )
    net.cls.register_forward_hook(lambda module, args, out: kept.append((out, out.clone())))
    data = replace(bundled_pairs(), items=bundled_pairs().items[::90])
    planned = plan.plan(model, LIKELIHOOD["pll"], data)
    run_likelihood.ask({"own": model.engine()}, [planned])
    assert len(kept) > 1
    assert all(torch.equal(a, b) for a, b in kept)


def test_other_families_are_left_alone():
    for family in ("albert", "distilbert", "modernbert", "xlnet", "gpt2", "opt", "bloom", "llama"):
        assert encoder_of(tiny(family).net) is None, family


def test_hooks_that_transformers_leaves_behind_do_not_matter():
    net = network("bert")
    net.set_attn_implementation("eager")
    net(input_ids=sentences(), output_attentions=True)
    net.set_attn_implementation("sdpa")
    assert net.bert.encoder.layer[0].attention.self._forward_hooks
    assert encoder_of(net).module is net.bert.encoder


def test_the_encoder_is_itself_again_also_after_a_failure():
    net = network("bert")
    with pytest.raises(ValueError, match="stop"), encoder_of(net).direct(None):
        raise ValueError("stop")
    assert "forward" not in vars(net.bert.encoder)


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "deberta"])
@pytest.mark.parametrize("measure", ["pll", "aul", "all-masked", "cps"])
def test_an_engine_asks_the_same_either_way(family, measure, monkeypatch):
    model = tiny(family)
    data = replace(bundled_pairs(), items=bundled_pairs().items[::20])
    planned = plan.plan(model, LIKELIHOOD[measure], data)
    used = []
    with monkeypatch.context() as patched:
        called = direct_layers.called
        patched.setattr(direct_layers, "called", lambda *a: used.append(1) or called(*a))
        quick = run_likelihood.ask({"own": model.engine()}, [planned])[0]
    assert used
    slow = run_likelihood.ask({"own": replace(model.engine(), fast=FastPaths())}, [planned])[0]
    assert np.abs(quick.logp - slow.logp).max() < 1e-9
    assert (quick.hit == slow.hit).all()


def test_gathering_by_hooks_is_left_for_the_others():
    """The way of all other families still gives BERT's numbers."""
    net, ids = network("bert"), sentences()
    row, at = slots([1] * 8)
    with torch.inference_mode():
        whole = net(input_ids=ids).logits[row, at]
        with only_at(net, row, at):
            assert torch.allclose(net(input_ids=ids).logits[0], whole, atol=1e-10)

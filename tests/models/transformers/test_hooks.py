"""Tests of models/transformers/hooks: what a pass leaves out, and that it is there again."""

from dataclasses import replace

import pytest
import torch

from conftest import KINDS, tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import plan, run_likelihood
from unmask.measures import LIKELIHOOD
from unmask.models.transformers.hooks import keeps_nothing


def asked(family):
    model = tiny(family)
    data = replace(bundled_pairs(), items=bundled_pairs().items[::60])
    measure = "ll" if KINDS.get(family) == "causal" else "aul"
    planned = plan.plan(model, LIKELIHOOD[measure], data)
    return lambda: run_likelihood.ask({"own": model.engine()}, [planned])[0]


@pytest.mark.parametrize("family", ["gpt2", "opt", "bloom", "llama"])
def test_a_row_that_is_shown_once_keeps_nothing(family):
    net, kept = tiny(family).net, []
    handle = net.register_forward_hook(lambda m, args, out: kept.append(out.past_key_values))
    try:
        asked(family)()
    finally:
        handle.remove()
    assert kept
    assert not any(kept)
    with torch.inference_mode():
        assert net(input_ids=torch.tensor([[5, 6]])).past_key_values, "as it is else"


def test_networks_that_keep_nothing_are_not_told_so():
    assert keeps_nothing(type(tiny("bert").net).forward) == {}


@pytest.mark.parametrize("family", ["gpt2", "deberta"])
def test_no_one_looks_for_padding(family, monkeypatch):
    net = tiny(family).net
    kind = type(net.base_model)

    def looks(*args, **more):
        raise AssertionError("it looks for padding")

    monkeypatch.setattr(kind, "warn_if_padding_and_no_attention_mask", looks)
    asked(family)()
    assert "warn_if_padding_and_no_attention_mask" not in vars(net.base_model)
    with pytest.raises(AssertionError, match="looks"):
        net(input_ids=torch.tensor([[5, 6]]))

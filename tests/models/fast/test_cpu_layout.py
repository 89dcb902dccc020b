"""Tests of models/fast/cpu_layout: the same weights in another order."""

import copy

import pytest
import torch

from conftest import SORT, tiny
from unmask.models.fast.cpu_layout import lay_out


@pytest.mark.parametrize("family", list(SORT))
def test_a_network_computes_the_same(family):
    net = copy.deepcopy(tiny(family).net)
    ids = torch.arange(6, 18).view(2, 6)
    values = {name: weight.clone() for name, weight in net.named_parameters()}
    with torch.no_grad():
        before = net(input_ids=ids).logits
        lay_out(net)
        assert torch.allclose(net(input_ids=ids).logits, before, atol=1e-12)
    assert all(torch.equal(w, values[name]) for name, w in net.named_parameters() if name in values)


def test_a_weight_shared_with_an_embedding_keeps_its_rows():
    net = copy.deepcopy(tiny("gpt2").net)
    lay_out(net)
    assert net.lm_head.weight is net.transformer.wte.weight
    assert net.transformer.wte.weight.is_contiguous()

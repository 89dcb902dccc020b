"""Tests of models/transformers/logprobs."""

import random

import numpy as np
import pytest
import torch

from conftest import KINDS, SORT, close_for, tiny
from unmask.data.packaged import bundled_pairs
from unmask.data.templates import template_test
from unmask.errors import ModelError, NotApplicable
from unmask.flow import plan, run_likelihood
from unmask.measures import LIKELIHOOD
from unmask.models.batches import Budget
from unmask.models.transformers.hooks import attention_received
from unmask.queries import NOTHING, Query
from unmask.types import Dataset

SOME = Dataset("some", "triplets", bundled_pairs().items[::40])


def queries_for(family, names):
    model = tiny(family)
    planned = [plan.plan(model, LIKELIHOOD[n], SOME) for n in names]
    flags = [p.measure.attention for p in planned for _ in p.queries]
    return model, [q for p in planned for q in p.queries], flags


def default_measures(family):
    return {"causal": ["ll"], "permutation": ["pll", "aul", "aula", "sss"]}.get(
        KINDS.get(family, "masked"), ["pll", "sss", "aul", "aula"]
    )


@pytest.mark.parametrize("family", list(SORT))
def test_batch_size_padding_and_order_change_nothing(family):
    model, queries, flags = queries_for(family, default_measures(family))
    alone = model.engine(budget=Budget(tokens=1)).ask(queries, flags)
    shuffled = list(range(len(queries)))
    random.Random(1).shuffle(shuffled)
    together = model.engine(budget=Budget(tokens=700)).ask(
        [queries[i] for i in shuffled], [flags[i] for i in shuffled]
    )
    back = np.argsort(shuffled)
    close = close_for(family)
    assert np.abs(alone.logp - together.logp[back]).max() < close
    assert np.array_equal(alone.hit, together.hit[back])
    weighted = np.array(flags)
    assert np.allclose(alone.attention[weighted], together.attention[back][weighted], atol=close)
    assert alone.rows == together.rows


@pytest.mark.parametrize("family", ["bert", "gpt2", "xlnet"])
def test_float32_is_within_1e5_of_itself_under_batching(family):
    model, queries, flags = queries_for(family, default_measures(family))
    before = next(model.net.parameters()).dtype
    net = model.net.float()
    try:
        alone = model.engine(budget=Budget(tokens=1)).ask(queries, flags)
        together = model.engine(budget=Budget(tokens=4096)).ask(queries, flags)
    finally:
        net.to(before)
    assert np.abs(alone.logp - together.logp).max() < 1e-5


@pytest.mark.parametrize("family", list(SORT))
def test_head_at_queried_places_equals_whole_head(family):
    """The hook that gathers states before the head gives the logits of the plain call."""
    model, queries, flags = queries_for(family, default_measures(family))
    if model.kind == "permutation":
        pytest.skip("XLNet's places are picked by target_mapping; see test_xlnet")
    found = model.engine().ask(queries, flags)
    for i in range(0, len(queries), 17):
        q = queries[i]
        mask = None if model.kind == "causal" else model.codec.mask_id
        ids = [mask if mask is not None and j in q.hidden else t for j, t in enumerate(q.row)]
        with torch.no_grad():
            logits = model.net(input_ids=torch.tensor([ids])).logits[0]
        at = q.at - 1 if model.kind == "causal" else q.at
        expected = torch.log_softmax(logits[at], -1)[q.gold].item()
        assert found.logp[i] == pytest.approx(expected, abs=1e-6)
        assert found.hit[i] == (logits[at].argmax().item() == q.gold)


def test_rows_are_shared_between_measures():
    """PLL, CPS, SSS, AUL and AULA together need fewer than 60 % of the rows of separate runs."""
    names = ["pll", "cps", "sss", "aul", "aula"]
    pairs = Dataset("pairs", "pairs", tuple(i for i in bundled_pairs().items[::4]))
    model = tiny("bert")
    planned = [plan.plan(model, LIKELIHOOD[n], pairs) for n in names]
    engine = {"own": model.engine()}
    apart = [run_likelihood.ask(engine, [p])[0].rows for p in planned]
    together = run_likelihood.ask(engine, planned)[0].rows
    assert together < 0.6 * sum(apart)
    # The distinct rows by hand: each content token hidden alone, all changed at once (when that
    # is more than one token), and the plain sentence.
    rows = set()
    for p in planned:
        for q in p.queries:
            rows.add(tuple(-1 if i in q.hidden else t for i, t in enumerate(q.row)))
    assert together == len(rows)


def test_lpbs_needs_a_row_for_each_attribute_and_one_for_the_prior():
    """20 targets of one piece and 10 attributes of one piece: 400 queries, 11 rows."""
    model = tiny("bert")
    vocabulary = [
        w
        for w in model.codec.tokenizer.get_vocab()
        if w.isalpha() and len(model.codec.pieces(w)) == 1
    ]
    words = sorted(vocabulary)[:40]
    test = {
        "name": "t",
        "templates": [{"text": "so {target} was {attribute}.", "x": words[:10], "y": words[10:20]}],
        "attributes": {"A": words[20:25], "B": words[25:30]},
    }
    planned = plan.plan(model, LIKELIHOOD["lpbs"], template_test(test))
    readings = model.engine().ask(planned.queries, [False] * len(planned.queries))
    assert len(planned.queries) == 400
    assert readings.rows == 11


def test_attention_is_what_a_place_receives_from_real_places():
    """By hand: two layers of one head, two real places and one of padding."""
    first = torch.tensor([[[[0.2, 0.8, 0.0], [0.6, 0.4, 0.0], [0.1, 0.1, 0.8]]]])
    second = torch.tensor([[[[0.5, 0.5, 0.0], [0.3, 0.7, 0.0], [1.0, 0.0, 0.0]]]])
    real = torch.tensor([[1, 1, 0]])
    found = attention_received([first, second], real)
    # place 0: layer one (0.2 + 0.6) / 2 = 0.4, layer two (0.5 + 0.3) / 2 = 0.4
    assert found[0].tolist() == pytest.approx([0.4, 0.6, 0.0])


def test_a_causal_model_refuses_to_look_ahead():
    model = tiny("gpt2")
    with pytest.raises(NotApplicable, match="left to right"):
        model.engine().ask([Query((5, 6, 7), NOTHING, 1, 6)], [False])


def test_a_batch_too_large_for_the_memory_is_halved(monkeypatch):
    model, queries, flags = queries_for("bert", ["pll", "aula"])
    whole = model.engine().ask(queries, flags)
    engine, sizes = model.engine(), []
    forward = type(engine)._forward

    def limited(self, asked, made, weighted):
        sizes.append(len(made.rows))
        if len(made.rows) > 7:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(self, asked, made, weighted)

    monkeypatch.setattr(type(engine), "_forward", limited)
    again = engine.ask(queries, flags)
    assert max(sizes) > 7
    assert np.abs(again.logp - whole.logp).max() < 1e-10
    monkeypatch.setattr(
        type(engine), "_forward", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError("no"))
    )
    with pytest.raises(ModelError, match="does not fit"):
        engine.ask(queries, flags)

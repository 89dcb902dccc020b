"""Tests of models/transformers/xlnet."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import plan, run_likelihood
from unmask.measures import LIKELIHOOD
from unmask.queries import Query
from unmask.text.contexts import Mention, VectorRequest
from unmask.types import Dataset

SOME = Dataset("some", "triplets", bundled_pairs().items[::13])


def test_xlnet_hides_by_permutation_mask():
    """A hidden place's token has no influence; a place in sight has."""
    model = tiny("xlnet")
    row = model.codec.encode("The nurse said that she was tired.").ids
    changed = (row[0], row[1], (row[2] + 1) % 200 + 5, *row[3:])
    ask = model.engine().ask
    hidden = [Query(r, frozenset({2, 4}), 4, row[4]) for r in (row, changed)]
    seen = [Query(r, frozenset({4}), 4, row[4]) for r in (row, changed)]
    a, b = ask(hidden, [False] * 2).logp
    assert a == pytest.approx(b, abs=1e-6)
    a, b = ask(seen, [False] * 2).logp
    assert abs(a - b) > 1e-4
    with torch.no_grad():
        n = len(row)
        shut = torch.zeros(1, n, n)
        shut[0, :, [2, 4]] = 1
        wanted = torch.zeros(1, 1, n)
        wanted[0, 0, 4] = 1
        types = torch.tensor([[*[0] * (n - 1), 2]])
        out = model.net(
            torch.tensor([row]), perm_mask=shut, target_mapping=wanted, token_type_ids=types
        ).logits[0, 0]
    expected = torch.log_softmax(out, -1)[row[4]].item()
    assert ask(hidden[:1], [False]).logp[0] == pytest.approx(expected, abs=1e-5)


def test_xlnet_published_slices_drop_a_word_and_keep_sep():
    """aul@thys2025 on XLNet: places 1 to T - 2, so the first word is lost and <sep> is scored."""
    model = tiny("xlnet")
    item = SOME.items[0]
    one = Dataset("one", "triplets", (item,))
    planned = plan.plan(model, LIKELIHOOD["aul@thys2025"], one)
    row = model.codec.encode(item.texts["stereotype"].string)
    asked = [q.at for q in planned.queries if q.row == row.ids]
    assert asked == list(range(1, len(row.ids) - 1))
    sep = model.codec.tokenizer.sep_token_id
    assert row.ids[asked[-1]] == sep
    assert 0 not in row.specials
    plain = plan.plan(model, LIKELIHOOD["aul"], one)
    assert [q.at for q in plain.queries if q.row == row.ids] == list(range(len(row.ids) - 2))
    # and the answers are those of a plain forward pass on the ids alone: no token types
    readings = run_likelihood.ask({"untyped": model.engine("untyped")}, [planned])[0]
    with torch.no_grad():
        logits = model.net(torch.tensor([row.ids])).logits[0]
    found = torch.log_softmax(logits, -1)
    expected = [found[i, row.ids[i]].item() for i in asked]
    assert readings.logp[: len(asked)] == pytest.approx(expected, abs=1e-5)


def test_xlnet_is_told_its_segments():
    """<cls> is of segment 2, and what follows a first <sep> of segment 1, as its tokenizer says."""
    model = tiny("xlnet")
    tokenizer = model.codec.tokenizer
    for texts in (("The nurse was late.",), ("The nurse was late.", "She sat down.")):
        batch = tokenizer(*texts, return_tensors="pt", return_token_type_ids=True)
        ours = model.codec.segments(batch["input_ids"])["token_type_ids"]
        assert torch.equal(ours, batch["token_type_ids"])
    assert tiny("bert").codec.segments(batch["input_ids"]) == {}


def test_xlnet_reads_the_paragraph_of_the_release():
    """cat@nadeem2021: the sentence is the second segment; the answer is read at its mask."""
    model = tiny("xlnet")
    long = replace(model, limit=10_000)
    item = SOME.items[0]
    planned = plan.plan(long, LIKELIHOOD["cat@nadeem2021"], Dataset("d", "triplets", (item,)))
    first = planned.queries[0]
    tokenizer = model.codec.tokenizer
    seps = [i for i, t in enumerate(first.row) if t == tokenizer.sep_token_id]
    assert len(seps) == 2
    assert seps[0] < first.at < seps[1]
    assert seps[0] > 100
    readings = run_likelihood.ask({"written": long.engine("written")}, [planned])[0]
    shown = [tokenizer.mask_token_id if i == first.at else t for i, t in enumerate(first.row)]
    types = [0] * (seps[0] + 1) + [1] * (seps[1] - seps[0]) + [2]
    with torch.no_grad():
        logits = model.net(torch.tensor([shown]), token_type_ids=torch.tensor([types])).logits
    expected = torch.log_softmax(logits[0, first.at], -1)[first.gold].item()
    assert readings.logp[0] == pytest.approx(expected, abs=1e-5)


def test_half_precision_is_near_the_full_one():
    """transformers makes XLNet's positions in float32, which its layers do not take in others."""
    model = tiny("xlnet")
    half = replace(model, net=copy.deepcopy(model.net).half())
    planned = plan.plan(model, LIKELIHOOD["aul"], SOME)
    flags = [False] * len(planned.asks)
    full, found = (m.engine().ask(planned.asks, flags).logp for m in (model, half))
    assert np.abs(full - found).max() < 0.1
    assert "relative_positional_encoding" not in vars(half.net.base_model)
    wanted = [VectorRequest(Mention("the nurse", (4, 9)), "mean")]
    one, two = (m.vectors().embed(wanted) for m in (model, half))
    assert np.abs(one - two).max() < 0.1 * np.abs(one).max()

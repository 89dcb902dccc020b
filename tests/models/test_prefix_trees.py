"""Tests of models/prefix_trees: rows that begin alike are read once, with the same answers."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from conftest import close_for, finish, made_tokenizer, tiny
from unmask.data.packaged import bundled_pairs
from unmask.flow import plan
from unmask.measures import LIKELIHOOD
from unmask.models.batches import Budget
from unmask.models.fast.paths import READ_TREES, reads_trees
from unmask.models.prefix_trees import LARGEST, grown, padded_rows, tree_numbers
from unmask.models.transformers.model import wrap
from unmask.models.unique_rows import find_unique_rows
from unmask.types import Dataset

SOME = Dataset("some", "triplets", bundled_pairs().items[::9])


def made_rows(rng):
    """A few rows over two tokens, no two the same."""
    rows = {tuple(rng.integers(0, 2, size).tolist()) for size in rng.integers(1, 9, 12)}
    rows = [list(row) for row in rows]
    rng.shuffle(rows)
    starts = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    return rows, np.concatenate(rows).astype(np.int64), starts


@pytest.mark.parametrize("seed", range(40))
def test_each_token_stands_where_it_stood_and_sees_its_own_beginning(seed):
    rows, tokens, starts = made_rows(np.random.default_rng(seed))
    numbers = tree_numbers(tokens, starts)
    trees = grown(padded_rows(tokens, starts), np.diff(starts), numbers.number, 99)
    used = np.zeros(trees.ids.shape, bool)
    for row, tree, node in zip(rows, trees.tree, trees.node, strict=True):
        for place, token in enumerate(row):
            at = tree, node[place]
            assert (trees.ids[at], trees.places[at]) == (token, place)
            assert set(np.flatnonzero(trees.sees[at])) == set(node[: place + 1].tolist())
            used[at] = True
    assert sorted(used.sum(1)) == sorted(numbers.sizes)
    assert (trees.ids[~used] == 99).all()
    assert used.sum() <= len(tokens)


def test_a_tree_is_not_larger_than_a_tile_and_strangers_stay_apart():
    beginning = list(range(100, 140))
    rows = [[*beginning, k, *range(4)] for k in range(8)] + [[100, 5, 6, 7, 8, 9, 10, 11]]
    starts = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    numbers = tree_numbers(np.concatenate(rows), starts)
    assert sorted(numbers.sizes) == [8, 60, 60]  # 45 tokens, and three times 5 behind 40
    assert max(numbers.sizes) <= LARGEST
    assert numbers.alone.tolist() == [False] * 8 + [True]  # one token in common is not enough


def network(family, **given):
    """A tiny network of a family that the other tests do not have."""
    raw, names = made_tokenizer("unigram")
    tokenizer = finish(raw, names, "none", bos_token=names["cls_token"])
    shape = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 128,
    }
    name = {"mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3", "gpt_neox": "GPTNeoX"}
    name |= {"phi": "Phi"}
    more = {"num_key_value_heads": 1} if family in ("mistral", "qwen2", "qwen3") else {}
    more |= {"head_dim": 8} if family == "qwen3" else {}
    more |= given
    torch.manual_seed(0)
    config = getattr(transformers, f"{name[family]}Config")(**shape, **more)
    net = getattr(transformers, f"{name[family]}ForCausalLM")(config).double()
    return wrap(net, tokenizer, "causal", family)


def asked(model, measure):
    planned = plan.plan(model, LIKELIHOOD[measure], SOME)
    return planned.asks, [measure == "aula"] * len(planned.asks)


@pytest.mark.parametrize("measure", ["ll", "cps"])
@pytest.mark.parametrize("family", sorted(READ_TREES))
def test_every_family_answers_the_same_with_fewer_tokens(family, measure):
    model = tiny(family) if family in ("gpt2", "llama", "opt") else network(family)
    engine, questions = model.engine(), asked(model, measure)
    assert engine.fast.prefixes
    shown = {True: 0, False: 0}

    def count(module, args, options, output):
        shown[trees] += options["input_ids"].numel()

    answers = {}
    for trees in (True, False):
        one = replace(engine, show=replace(engine.show, trees=trees))
        handle = model.net.register_forward_hook(count, with_kwargs=True)
        answers[trees] = one.ask(*questions)
        handle.remove()
    assert np.allclose(answers[True].logp, answers[False].logp, atol=close_for(family))
    assert np.array_equal(answers[True].hit, answers[False].hit)
    assert answers[True].rows == answers[False].rows
    assert shown[True] < 0.75 * shown[False]


@pytest.mark.parametrize("family", sorted(READ_TREES))
def test_rows_that_share_nothing_do_not_see_their_padding(family):
    """One row of each length, so that all but the longest have padding, and no tree has two.

    It stands behind them, so that a mask is not needed.
    """
    model = tiny(family) if family in ("gpt2", "llama", "opt") else network(family)
    first = [a for a in asked(model, "ll")[0] if len(a.row) < 60]
    by_length = {len(a.row): a for a in first}
    questions = [*by_length.values()], [False] * len(by_length)
    assert len(by_length) > 3
    masks, answers = {}, {}

    def note(module, args, options, output):
        masks[trees] = options["attention_mask"]

    for trees in (True, False):
        engine = model.engine(budget=Budget(ragged=0.0))
        one = replace(engine, show=replace(engine.show, trees=trees))
        handle = model.net.register_forward_hook(note, with_kwargs=True)
        answers[trees] = one.ask(*questions)
        handle.remove()
    assert masks[True] is None
    assert masks[False].dim() == 2
    assert np.allclose(answers[True].logp, answers[False].logp, atol=close_for(family))


@pytest.mark.parametrize("family", ["mistral", "qwen2", "qwen3"])
@pytest.mark.parametrize("window", [8, LARGEST])
def test_a_network_that_looks_less_far_than_a_tree_is_shown_rows(family, window):
    """A tree's tokens are told all that they see, which would be more than the network looks at."""
    model = network(family, sliding_window=window, use_sliding_window=True, max_window_layers=1)
    assert reads_trees(model.net) == (window == LARGEST)
    questions = asked(model, "ll")
    fast, plain = (replace(model, fast=f).engine().ask(*questions).logp for f in (True, False))
    assert np.allclose(fast, plain, atol=close_for(family))
    free = network(family).engine().ask(*questions).logp
    assert np.allclose(fast, free, atol=close_for(family)) == (window == LARGEST)


@pytest.mark.parametrize("family", ["bloom", "bert", "xlnet"])
def test_other_families_are_shown_rows(family):
    assert not reads_trees(tiny(family).net)


def test_a_network_with_a_hook_is_shown_rows():
    net = tiny("gpt2").net
    handle = net.register_forward_pre_hook(lambda module, args: None)
    assert not reads_trees(net)
    handle.remove()
    assert reads_trees(net)


def test_a_part_of_the_rows_has_the_answers_of_the_whole():
    """What a worker is sent: trees go with their rows."""
    model = tiny("gpt2")
    engine, (questions, attention) = model.engine(), asked(model, "ll")
    rows = find_unique_rows(questions, attention, engine.show)
    assert rows.trees is not None
    whole = engine.ask(questions, attention).logp
    seen = []
    for group in rows.batches(engine.budget, 400, weighted=False):
        found = engine.outputs(rows.part(group), False)
        assert np.allclose(found[0], whole[rows.of(group)], atol=1e-10)
        seen += group.tolist()
    assert sorted(seen) == list(range(rows.count))

"""The engine: distinct rows once; batch size, padding and order change nothing."""

import copy
import random
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

import unmask
from conftest import KINDS, SORT, invoke, tiny
from unmask.data.packaged import bundled_pairs
from unmask.data.templates import template_test
from unmask.errors import ModelError, NotApplicable
from unmask.flow import plan, run_likelihood
from unmask.flow.evaluate import evaluate
from unmask.measures import LIKELIHOOD
from unmask.models.answer_cache import Store, opened
from unmask.models.batches import Budget, batches, budget_for
from unmask.models.transformers.hooks import attention_received
from unmask.models.transformers.model import wrap
from unmask.models.transformers.weights import checked_hash
from unmask.queries import NOTHING, Query
from unmask.types import Dataset

MASKED = [f for f in SORT if KINDS.get(f, "masked") == "masked"]
SOME = Dataset("some", "triplets", bundled_pairs().items[::13])


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
    # XLNet and the rotary encodings of ModernBERT and Llama compute in float32.
    close = {"xlnet": 1e-5, "modernbert": 1e-6, "llama": 1e-6}.get(family, 1e-10)
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


def test_batches_hold_the_budget_and_every_row_once(rng):
    lengths = rng.integers(1, 60, 300).tolist()
    places = rng.integers(1, 9, 300).tolist()
    groups = batches(lengths, places, Budget(tokens=256, logits=4000), vocabulary=100)
    assert sorted(i for g in groups for i in g) == list(range(300))
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[i] for i in group) <= 256
        assert len(group) == 1 or sum(places[i] for i in group) * 100 <= 4000


def test_a_causal_model_refuses_to_look_ahead():
    model = tiny("gpt2")
    with pytest.raises(NotApplicable, match="left to right"):
        model.engine().ask([Query((5, 6, 7), NOTHING, 1, 6)], [False])


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    """With a store, answered batches are not run again, and the numbers are the same."""
    model, queries, flags = queries_for("bert", ["pll", "aula"])
    whole = model.engine().ask(queries, flags)
    path = tmp_path / "answers.sqlite"

    class Killed(Exception):
        pass

    def kill(rows, total):
        kill.done += rows
        if kill.done > total / 2:
            raise Killed

    kill.done = 0
    small = Budget(tokens=200)
    with pytest.raises(Killed), opened(path) as store:
        model.engine(budget=small, store=store, progress=kill).ask(queries, flags)
    runs, fresh = [], []
    handle = model.net.register_forward_hook(lambda *_: runs.append(1))
    with opened(path) as store:
        again = model.engine(budget=small, store=store).ask(queries, flags)
    handle.remove()
    handle = model.net.register_forward_hook(lambda *_: fresh.append(1))
    anew = model.engine(budget=small).ask(queries, flags)
    handle.remove()
    assert len(runs) < 0.6 * len(fresh)
    assert np.array_equal(again.logp, anew.logp)
    assert np.array_equal(again.attention, anew.attention, equal_nan=True)
    assert np.allclose(again.logp, whole.logp, atol=1e-10)


def test_answers_are_found_by_place_and_gold_token(tmp_path):
    """What one measure asked another need not ask: other places of a known row are added."""
    model, queries, _ = queries_for("bert", ["aul"])
    some = [q for i, q in enumerate(queries) if i % 2]
    runs = []
    handle = model.net.register_forward_hook(lambda *_: runs.append(1))
    with opened(tmp_path / "a") as store:
        engine = model.engine(store=store)
        engine.ask(some, [False] * len(some))
        first = engine.ask(queries, [False] * len(queries))
        before = len(runs)
        again = engine.ask(queries, [False] * len(queries))
        fewer = engine.ask(some, [False] * len(some))
    handle.remove()
    assert len(runs) == before
    assert np.array_equal(first.logp, again.logp)
    assert np.array_equal(fewer.logp, first.logp[1::2])


def test_vectors_are_kept(tmp_path):
    from unmask.api import run

    runs = []
    model = tiny("bert")
    handle = model.net.base_model.register_forward_hook(lambda *_: runs.append(1))
    with opened(tmp_path / "a") as store:
        one = run(model, ["w-seat"], ["weat-6"], store=store)
        before = len(runs)
        two = run(model, ["w-seat"], ["weat-6"], store=store)
        assert len(runs) == before
        run(model, ["w-seat"], ["weat-6"], layer=1, store=store)
        assert len(runs) > before
    handle.remove()
    assert one[0].overall == two[0].overall


def test_the_store_forgets_what_was_used_least(tmp_path, monkeypatch):
    monkeypatch.setattr("unmask.models.answer_cache.DAY", -1)
    monkeypatch.setattr("unmask.models.answer_cache.time.time", lambda: clock[0])
    monkeypatch.setenv("UNMASK_CACHE_SIZE", "200000")
    clock = [1000]
    store = Store(tmp_path / "a")
    for number in range(40):
        clock[0] += 1
        store.put([(bytes([number]) * 16, bytes(10_000))])
        store.flush()
    clock[0] += 1
    assert store.get([bytes([0]) * 16])  # the oldest, but just used
    store.close()
    left = Store(tmp_path / "a")
    assert left.size() <= 200_000
    assert 0 < left.count() < 40
    assert left.get([bytes([0]) * 16])
    assert not left.get([bytes([1]) * 16])
    left.close()


def test_two_processes_may_share_the_store(tmp_path):
    one, two = Store(tmp_path / "a"), Store(tmp_path / "a")
    one.put([(b"1" * 16, b"x")])
    one.flush()
    assert two.get([b"1" * 16]) == {b"1" * 16: b"x"}
    two.put([(b"2" * 16, b"y")])
    two.flush()
    assert one.get([b"2" * 16])
    one.close()
    two.close()


def test_budgets_fit_the_device():
    assert budget_for("auto", None) == Budget()
    assert budget_for(100, None).tokens == 100
    large = budget_for("auto", 140 * 2**30)
    assert large.tokens > 30_000
    assert budget_for("auto", 4 * 2**30).tokens < large.tokens
    assert budget_for(512, 140 * 2**30).tokens == 512


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
    # and the answers are those of a plain forward pass, without target_mapping
    readings = run_likelihood.ask({"written": model.engine("written")}, [planned])[0]
    with torch.no_grad():
        types = torch.tensor([[*[0] * (len(row.ids) - 1), 2]])
        logits = model.net(torch.tensor([row.ids]), token_type_ids=types).logits[0]
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


def test_the_cache_is_told_of_and_cleared(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    command = ("run", "-x", "w-seat", "-d", "weat-6", "-o", tmp_path / "r", "--force")
    status, _, err = invoke(*command)
    assert status == 0, err
    status, out, _ = invoke("cache", "info")
    assert status == 0
    assert " 0 rows" not in " ".join(out.split())
    assert invoke("cache", "clear")[0] == 0
    assert " 0 rows" in " ".join(invoke("cache", "info")[1].split())
    assert invoke(*command, "--no-cache")[0] == 0
    assert not (tmp_path / "answers-1.sqlite").exists()
    monkeypatch.setenv("UNMASK_CACHE_SIZE", "much")
    status, _, err = invoke(*command)
    assert status == 2
    assert "UNMASK_CACHE_SIZE" in err
    (tmp_path / "answers-1.sqlite").write_bytes(b"no database" * 500)
    monkeypatch.delenv("UNMASK_CACHE_SIZE")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        status, _, err = invoke(*command)
    assert status == 0
    assert "set aside" in " ".join(err.split())


def test_a_model_that_is_spread_over_devices_has_the_same_numbers(tmp_path, monkeypatch):
    model = tiny("gpt2")
    copy.deepcopy(model.net).float().save_pretrained(tmp_path, max_shard_size="60KB")
    model.codec.tokenizer.save_pretrained(tmp_path)
    assert len(list(tmp_path.glob("*.safetensors"))) > 1  # in shards
    plain = unmask.run(str(tmp_path), ["ll", "w-seat"], ["bundled-pairs", "weat-6"], limit=20)
    spread = unmask.run(
        str(tmp_path), ["ll", "w-seat"], ["bundled-pairs", "weat-6"], limit=20, device="auto"
    )
    for one, two in zip(plain, spread, strict=True):
        assert np.allclose(one.items.score, two.items.score, atol=1e-5)
    assert spread[0].provenance["model"]["devices"]
    assert spread[0].provenance["model"]["weights"] == plain[0].provenance["model"]["weights"]
    with pytest.raises(unmask.UnmaskError, match="8bit"):
        unmask.run(str(tmp_path), "ll", load="3bit")
    monkeypatch.setattr("unmask.models.transformers.files.find_spec", lambda name: None)
    with pytest.raises(unmask.ModelError, match=r"unmask\[large\]"):
        unmask.run(str(tmp_path), "ll", "bundled-pairs", load="8bit")


def test_the_hash_of_weights_is_of_names_shapes_and_values_alone(monkeypatch):
    net = copy.deepcopy(tiny("bert").net)
    monkeypatch.setattr("unmask.models.transformers.weights.PIECE", 100)
    found = checked_hash(net, "x")
    for threads in (1, 3, 16):
        monkeypatch.setattr("unmask.models.transformers.weights.THREADS", threads)
        assert checked_hash(net, "x") == found
    last = [p for p in net.parameters() if p.is_contiguous() and p.numel() > 200][-1]
    with torch.no_grad():
        last.view(-1)[-1] += 1e-3
    assert checked_hash(net, "x") != found
    with torch.no_grad():
        last.view(-1)[150] = -torch.inf
    with pytest.raises(unmask.ModelError, match="not all numbers"):
        checked_hash(net, "x")


class Odd(torch.nn.Module):
    """Weights of every sort, and a module under two names."""

    def __init__(self, kind):
        super().__init__()
        self.one = torch.nn.Linear(3, 3)
        self.two = self.one
        self.register_buffer("of", torch.zeros(4, 2).to(kind))
        self.register_buffer("none", torch.zeros(0, 3))
        self.register_buffer("single", torch.tensor(3))
        self.complex = torch.nn.Parameter(torch.zeros(5, dtype=torch.complex64))

    def forward(self, x):
        return self.two(self.one(x))


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "uint16", "bool", "bfloat16", "complex64"])
def test_weights_of_every_sort_have_a_hash(kind):
    from accelerate import cpu_offload

    net = Odd(getattr(torch, kind))
    found = checked_hash(net, "x")
    assert checked_hash(cpu_offload(copy.deepcopy(net), torch.device("cpu")), "x") == found
    around = cpu_offload(
        copy.deepcopy(net),
        torch.device("cpu"),
        preload_module_classes=["Odd"],
        offload_buffers=True,
    )
    assert checked_hash(around, "x") == found
    net.complex.data[3] = complex(0, torch.nan)
    with pytest.raises(unmask.ModelError, match="complex"):
        checked_hash(net, "x")


@pytest.mark.parametrize("family", ["bert", "gpt2", "xlnet"])
def test_weights_that_no_gpu_holds_are_found_beside_the_network(family):
    """As accelerate leaves the parts of a spread network that are kept in the CPU's memory."""
    from accelerate import cpu_offload

    whole = tiny(family)
    net = cpu_offload(copy.deepcopy(whole.net), execution_device=torch.device("cpu"))
    assert all(p.is_meta for p in net.parameters())
    model = wrap(net, whole.codec.tokenizer, whole.kind, whole.name)
    assert model.provenance["weights"] == whole.provenance["weights"]
    assert model.provenance["device"] == "cpu"
    assert model.provenance["parameters"] == whole.provenance["parameters"]
    asked = (None, ["bundled-pairs", "weat-6"])
    for one, two in zip(
        unmask.run(whole, *asked, limit=5), unmask.run(model, *asked, limit=5), strict=True
    ):
        assert np.allclose(one.items.score, two.items.score, atol=1e-12)
    spoilt = copy.deepcopy(whole.net)
    next(spoilt.parameters()).data[0] = torch.nan
    with pytest.raises(unmask.ModelError, match="not all numbers"):
        wrap(cpu_offload(spoilt, torch.device("cpu")), whole.codec.tokenizer, whole.kind, "x")


def test_what_a_model_cannot_do_is_told_once_and_costs_no_other(tmp_path):
    model = tiny("bert")
    (tmp_path / "v.txt").write_text("a 1 2\nb 2 1\n")

    class Broken:
        def __getattr__(self, name):
            return getattr(model, name)

        def vectors(self, **_):
            raise ModelError("vectors broke")

    told = []
    asked = [("aul", "bundled-pairs"), ("ll", "bundled-pairs"), ("w-seat", "weat-6")]
    specs = [unmask.Spec(Broken(), *a) for a in asked[:1]]
    specs += [unmask.Spec(specs[0].model, *a) for a in asked[1:]]
    specs += [unmask.Spec(str(tmp_path / "v.txt"), "weat", "weat-6")]
    how = unmask.Options(limit=5, dtype="bfloat16", recheck=False)
    found = evaluate(specs, how, lambda spec, error: told.append((spec.title, str(error))))
    assert [r.measure for r in found] == ["aul"]
    assert [t for t, _ in told] == ["ll on bundled-pairs", "w-seat on weat-6", "weat on weat-6"]
    assert "vectors broke" in told[1][1]
    assert "--dtype" in told[2][1]
    for spec in specs[1:]:
        with pytest.raises(unmask.UnmaskError):
            evaluate([spec], how)


def test_models_of_one_tokenizer_share_their_plans(monkeypatch):
    made = []
    real = run_likelihood.plan
    monkeypatch.setattr(run_likelihood, "plan", lambda *a: made.append(a[0].name) or real(*a))
    first = tiny("bert")
    second = replace(first, name="second")
    other = tiny("roberta")
    found = unmask.run([first, second, other], ["aul", "pll"], "bundled-pairs", limit=10)
    assert made == ["tiny-bert"] * 2 + ["tiny-roberta"] * 2
    one, two = ([r for r in found if r.model == n] for n in ("tiny-bert", "second"))
    assert [r.overall for r in one] == [r.overall for r in two]
    alone = unmask.run(other, ["aul", "pll"], "bundled-pairs", limit=10)
    assert [r.overall for r in alone] == [r.overall for r in found if r.model == "tiny-roberta"]

"""ELMo against a forward pass in numpy loops, and the layout of the released file."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from unmask.api import evaluate
from unmask.errors import DataError, ModelError, NotApplicable
from unmask.models.elmo import load_elmo
from unmask.models.load import load_any
from unmask.text.contexts import Mention, VectorRequest
from unmask.types import Stimuli

h5py = pytest.importorskip("h5py")

OPTIONS = {
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": 4},
        "filters": [[1, 3], [2, 5]],
        "max_characters_per_token": 12,
        "n_characters": 261,
        "n_highway": 2,
    },
    "lstm": {
        "cell_clip": 3,
        "dim": 6,
        "n_layers": 2,
        "proj_clip": 3,
        "projection_dim": 4,
        "use_skip_connections": True,
    },
}


@pytest.fixture
def files(tmp_path, rng):
    """A tiny random ELMo in the layout of the AllenNLP release."""
    filters, size, cell = 8, 4, 6
    arrays = {"char_embed": (261, 4)}
    for n, (width, count) in enumerate(OPTIONS["char_cnn"]["filters"]):
        arrays |= {f"CNN/W_cnn_{n}": (1, width, 4, count), f"CNN/b_cnn_{n}": (count,)}
    for n in range(2):
        for name in ("carry", "transform"):
            arrays |= {
                f"CNN_high_{n}/W_{name}": (filters, filters),
                f"CNN_high_{n}/b_{name}": (filters,),
            }
    arrays |= {"CNN_proj/W_proj": (filters, size), "CNN_proj/b_proj": (size,)}
    for direction in range(2):
        for n in range(2):
            group = f"RNN_{direction}/RNN/MultiRNNCell/Cell{n}/LSTMCell"
            arrays |= {
                f"{group}/W_0": (2 * size, 4 * cell),
                f"{group}/B": (4 * cell,),
                f"{group}/W_P_0": (cell, size),
            }
    values = {k: (0.4 * rng.normal(size=s)).astype(np.float32) for k, s in arrays.items()}
    with h5py.File(tmp_path / "weights.hdf5", "w") as file:
        for key, value in values.items():
            file[key] = value
    (tmp_path / "options.json").write_text(json.dumps(OPTIONS))
    return tmp_path / "options.json", tmp_path / "weights.hdf5", values


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def token_vector(ids, w):
    """One token by loops: characters, convolutions, maximum, highway, projection."""
    x = [w["char_embed"][i].astype(float) for i in ids]
    out = []
    for n, (width, count) in enumerate(OPTIONS["char_cnn"]["filters"]):
        for k in range(count):
            best = -np.inf
            for start in range(len(x) - width + 1):
                total = float(w[f"CNN/b_cnn_{n}"][k])
                for offset in range(width):
                    total += float(x[start + offset] @ w[f"CNN/W_cnn_{n}"][0, offset, :, k])
                best = max(best, total)
            out.append(max(best, 0.0))
    v = np.array(out)
    for n in range(2):
        carry = sigmoid(v @ w[f"CNN_high_{n}/W_carry"] + w[f"CNN_high_{n}/b_carry"])
        new = np.maximum(v @ w[f"CNN_high_{n}/W_transform"] + w[f"CNN_high_{n}/b_transform"], 0)
        v = carry * new + (1 - carry) * v
    return v @ w["CNN_proj/W_proj"] + w["CNN_proj/b_proj"]


def lstm(inputs, w, direction, layer):
    group = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
    c, h, out = np.zeros(6), np.zeros(4), []
    for x in inputs:
        i, j, f, o = np.split(np.concatenate([x, h]) @ w[f"{group}/W_0"] + w[f"{group}/B"], 4)
        c = np.clip(sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j), -3, 3)
        h = np.clip((sigmoid(o) * np.tanh(c)) @ w[f"{group}/W_P_0"], -3, 3)
        out.append(h)
    return out


def by_hand(tokens, w):
    """States [3, tokens, 8] with numpy loops."""
    rows = [[258, 256, 259]] + [[258, *t.encode(), 259] for t in tokens] + [[258, 257, 259]]
    rows = [r + [260] * (12 - len(r)) for r in rows]
    x = [token_vector(r, w) for r in rows]
    layers = [[np.concatenate([v, v]) for v in x]]
    ahead, back = x, x[::-1]
    for n in range(2):
        left, right = lstm(ahead, w, 0, n), lstm(back, w, 1, n)
        if n:
            left = [a + b for a, b in zip(left, ahead, strict=True)]
            right = [a + b for a, b in zip(right, back, strict=True)]
        ahead, back = left, right
        layers.append([np.concatenate(p) for p in zip(ahead, back[::-1], strict=True)])
    return np.array(layers)[:, 1:-1]


def test_forward_pass_by_hand(files):
    options, weights, w = files
    model = load_elmo(options, weights, "tiny")
    tokens = ["A", "naïve", "extraordinarily", "nurse", "."]
    cut = [t.encode()[:10].decode(errors="ignore") for t in tokens]
    found = model.net.states([tokens])[:, 0].numpy()
    assert found == pytest.approx(by_hand(cut, w), abs=1e-5)


def test_vectors_sum_layers_and_average_tokens(files):
    options, weights, w = files
    model = load_any(f"{options}+{weights}")
    mention = Mention("The old nurse.", (4, 13))
    states = by_hand(["The", "old", "nurse", "."], w).sum(0)
    pools = {"mean": states.mean(0), "word-mean": states[1:3].mean(0), "word-last": states[2]}
    found = model.embed([VectorRequest(mention, p) for p in pools])
    assert found == pytest.approx(np.stack(list(pools.values())), abs=1e-5)


def test_a_string_for_tokens_is_a_vector_of_characters(files):
    """What published code did: every character, blanks too, is a token (husse2022, D)."""
    options, weights, w = files
    model = replace(load_elmo(options, weights, "tiny"), characters=True)
    states = by_hand(list("An old nurse."), w).sum(0)
    found = model.embed([VectorRequest(Mention("An old nurse.", (7, 12)), "mean")])
    assert found[0] == pytest.approx(states.mean(0), abs=1e-5)


def test_batches_of_different_lengths_change_nothing(files):
    model = load_any(f"{files[0]}+{files[1]}")
    wanted = [
        VectorRequest(Mention("word " * n + "nurse", (5 * n, 5 * n + 5)), "word-mean")
        for n in range(6)
    ]
    together = model.embed(wanted)
    alone = np.concatenate([model.embed([w]) for w in wanted])
    assert together == pytest.approx(alone, abs=1e-6)


def test_a_string_is_refused_where_tokens_are_needed(files):
    """The published encoder passed a string and so embedded its characters."""
    model = load_elmo(files[0], files[1], "tiny")
    with pytest.raises(DataError, match="list of tokens"):
        model.net.states(["The nurse."])


def test_the_released_options_say_one_character_more(files, tmp_path):
    """AllenNLP's options have `n_characters: 262` for a table of 261 rows and one more."""
    options, weights, _ = files
    content = json.loads(options.read_text())
    content["char_cnn"]["n_characters"] = 262
    other = tmp_path / "released.json"
    other.write_text(json.dumps(content))
    want = [VectorRequest(Mention("The nurse was late.", (4, 9)), "word-mean")]
    one, two = (load_elmo(o, weights, "x").embed(want) for o in (options, other))
    assert np.array_equal(one, two)


def test_layers_are_honoured_and_recorded(files):
    test = Stimuli(
        "t",
        {"x": ("nurse", "maid"), "y": ("judge", "man")},
        {"a": ("kind", "soft"), "b": ("strong", "hard")},
    )
    name = f"{files[0]}+{files[1]}"
    found = {layer: evaluate(name, "w-seat", test, layer=layer) for layer in (None, 0, 2)}
    assert len({r.overall.value for r in found.values()}) == 3
    assert [r.settings["layer"] for r in found.values()] == ["usual", 0, 2]
    with pytest.raises(NotApplicable, match="no layer 7; it has 0 to 2"):
        evaluate(name, "w-seat", test, layer=7)
    with pytest.raises(NotApplicable, match="does not apply to elmo"):
        evaluate(name, "s-seat@biasbench", test)


def test_a_whole_measure_runs(files):
    test = Stimuli(
        "t",
        {"x": ("nurse", "maid"), "y": ("judge", "man")},
        {"a": ("kind", "soft"), "b": ("strong", "hard")},
    )
    for measure in ("s-seat", "w-seat", "ceat"):
        result = evaluate(f"{files[0]}+{files[1]}", measure, test, samples=50)
        assert np.isfinite(result.overall.value)


def test_bad_files_are_named(files, tmp_path):
    options, weights, w = files
    with pytest.raises(ModelError, match="no file"):
        load_elmo(options, tmp_path / "nowhere.hdf5", "x")
    other = tmp_path / "other.hdf5"
    with h5py.File(other, "w") as file:
        for key, value in w.items():
            file[key] = value[..., :2] if key == "CNN_proj/W_proj" else value
    with pytest.raises(ModelError, match=r"project.weight should be of shape"):
        load_elmo(options, other, "x")
    with h5py.File(other, "w") as file:
        file["nothing"] = np.zeros(3)
    with pytest.raises(ModelError, match="layout"):
        load_elmo(options, other, "x")
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    with pytest.raises(ModelError, match="options"):
        load_elmo(bad, weights, "x")
    assert torch.isfinite(load_elmo(options, weights, "x").net.embed.weight).all()

"""Tests of models/transformers/model."""

import pytest
import safetensors.torch

import unmask
from conftest import finish, made_tokenizer, make_net, tiny
from unmask.models.transformers.model import load


@pytest.fixture
def model_folder(tmp_path):
    raw, names = made_tokenizer("wordpiece")
    tokenizer = finish(raw, names, "around")
    folder = tmp_path / "model"
    make_net("bert", len(tokenizer)).float().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_folder_without_a_tokenizer_is_refused(model_folder):
    for path in model_folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(unmask.ModelError, match="has no tokenizer"):
        load(str(model_folder))


def weights(folder, change):
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    safetensors.torch.save_file(change(tensors), path, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ("cls.", "cls.predictions"),
        ("encoder.layer.1", "layer.1"),
        ("embeddings.LayerNorm", "Layer"),
    ],
)
def test_weights_that_a_checkpoint_lacks_are_refused_by_name(model_folder, part, named):
    weights(model_folder, lambda t: {k: v for k, v in t.items() if part not in k})
    with pytest.raises(unmask.ModelError, match=f"lack weights .*{named}"):
        load(str(model_folder))


def test_renamed_weights_are_refused_and_a_pooler_is_not_needed(model_folder):
    load(str(model_folder))  # saved without a pooler: no measure reads it
    weights(model_folder, lambda t: {k.replace("attention", "attn"): v for k, v in t.items()})
    with pytest.raises(unmask.ModelError, match="filled at random"):
        load(str(model_folder))


def test_broken_models_are_one_sentence(model_folder, tmp_path):
    whole = (model_folder / "model.safetensors").read_bytes()
    (model_folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(unmask.ModelError, match="cannot load"):
        load(str(model_folder))
    (model_folder / "model.safetensors").unlink()
    (model_folder / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(unmask.ModelError, match="pickle"):
        load(str(model_folder))
    with pytest.raises(unmask.ModelError, match="'cpu' always works"):
        load("bundled", device="cuda:99")
    with pytest.raises(unmask.ModelError, match="is empty"):
        load(" ")


def test_answers_of_another_config_are_not_taken(tmp_path):
    one, two = tiny("bert"), tiny("bert").provenance
    assert {"weights", "config", "tokenizer", "dtype"} <= set(one.provenance)
    assert two["tokenizer"]["hash"]

"""Networks in memory are measured as they are, and left as they were; wrong files are refused."""

import copy
from contextlib import closing
from dataclasses import replace

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import unmask
from conftest import SMALL, invoke, tiny
from unmask.data.packaged import bundled_pairs
from unmask.errors import ModelError, UnmaskError
from unmask.models.load import load_any
from unmask.models.transformers.model import in_memory
from unmask.support.store import Store

DATA = replace(bundled_pairs(), items=bundled_pairs().items[::40])


def fresh(family="bert"):
    """A network of one's own, and its tokenizer."""
    model = tiny(family)
    return copy.deepcopy(model.net).float(), copy.deepcopy(model.codec.tokenizer)


def saved(folder, family="bert"):
    net, tokenizer = fresh(family)
    net.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_everything_is_as_before_afterwards(tmp_path):
    net, tokenizer = fresh()
    net.train()
    net.base_model.embeddings.eval()  # frozen by its user
    tokenizer.backend_tokenizer.enable_truncation(17)
    tokenizer.backend_tokenizer.enable_padding(length=20)
    transformers.logging.enable_progress_bar()
    modes = [m.training for m in net.modules()]
    layout = [(p.is_contiguous(), p.stride()) for p in net.parameters()]
    unmask.run((net, tokenizer), ["aul", "pll"], DATA)
    unmask.run("bundled", "aul", DATA)
    assert [m.training for m in net.modules()] == modes
    assert [(p.is_contiguous(), p.stride()) for p in net.parameters()] == layout
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 17
    assert tokenizer.backend_tokenizer.padding["length"] == 20
    assert transformers.logging.is_progress_bar_enabled()
    net.save_pretrained(tmp_path)


def test_everything_is_as_before_after_an_error():
    net, tokenizer = fresh()
    net.train()
    tokenizer.backend_tokenizer.enable_truncation(17)
    with pytest.raises(UnmaskError):
        unmask.run((net, tokenizer), "no-such-measure", DATA)
    assert all(m.training for m in net.modules())
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 17


@pytest.mark.parametrize("option", [{"dtype": "bfloat16"}, {"device": "cpu"}, {"load": "8bit"}])
def test_options_that_a_network_in_memory_cannot_take_are_refused(option):
    with pytest.raises(UnmaskError, match=f"leave out {next(iter(option))}"):
        unmask.run(fresh(), "aul", DATA, **option)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_on_a_cpu_is_measured_in_float32(dtype):
    net, tokenizer = fresh()
    half = copy.deepcopy(net).to(dtype)
    (result,) = unmask.run((half, tokenizer), "aul", DATA)
    (full,) = unmask.run((copy.deepcopy(half).float(), tokenizer), "aul", DATA)
    assert result.items.score.tolist() == full.items.score.tolist()
    assert any("a float32 copy was measured" in n for n in result.notes)
    assert next(half.parameters()).dtype == dtype


def test_kept_answers_are_not_those_of_other_code(tmp_path):
    """A hook, a patched forward: the weights do not say what the network does."""
    net, tokenizer = fresh()
    with closing(Store(tmp_path / "answers")) as store:
        (plain,) = unmask.run((net, tokenizer), "aul", DATA, store=store)
        handle = net.base_model.register_forward_hook(
            lambda module, args, out: type(out)(last_hidden_state=out[0] * 0.3)
        )
        (hooked,) = unmask.run((net, tokenizer), "aul", DATA, store=store)
        handle.remove()
        (again,) = unmask.run((net, tokenizer), "aul", DATA, store=store)
    unmask.run((net, tokenizer), "aula", DATA)  # transformers leaves an idle hook behind
    assert in_memory(net, tokenizer).cacheable
    assert hooked.items.score.tolist() != plain.items.score.tolist()
    assert again.items.score.tolist() == plain.items.score.tolist()


def test_a_network_in_parallel_is_unpacked():
    net, tokenizer = fresh()
    (one,) = unmask.run((torch.nn.DataParallel(net), tokenizer), "aul", DATA)
    (two,) = unmask.run((net, tokenizer), "aul", DATA)
    assert one.overall == two.overall


# ---------------------------------------------------------------- files


def with_weights(folder, **more):
    file = folder / "model.safetensors"
    save_file(load_file(file) | more, file, metadata={"format": "pt"})


def test_weights_that_are_not_used_are_named_and_layers_and_adapters_refused(tmp_path):
    one = torch.zeros(3, 3)
    extra = saved(tmp_path / "extra")
    with_weights(extra, **{"something.else": one})
    assert any("something.else" in note for note in load_any(str(extra)).remarks)
    for name, key in (
        ("layer", "bert.encoder.layer.7.output.dense.weight"),
        ("lora", "bert.lora_A.weight"),
    ):
        folder = saved(tmp_path / name)
        with_weights(folder, **{key: one})
        with pytest.raises(ModelError, match=r"layers that its config|hold an adapter"):
            load_any(str(folder))


def test_an_adapter_beside_the_model_is_refused(tmp_path):
    folder = saved(tmp_path / "m")
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="holds an adapter"):
        load_any(str(folder))


def test_a_decoder_that_is_none_is_refused(tmp_path):
    config = tiny("bert").net.config
    net = transformers.BertLMHeadModel(config)
    with pytest.raises(ModelError, match="sees the tokens after a word"):
        unmask.run((net, tiny("bert").codec.tokenizer), "ll", DATA)


def test_another_models_tokenizer_is_refused_or_told():
    net, _ = fresh("bert")
    with pytest.raises(ModelError, match="give the tokenizer that the model was trained with"):
        unmask.run((net, tiny("roberta").codec.tokenizer), "aul", DATA)
    large = transformers.BertForMaskedLM(
        transformers.BertConfig(**{**net.config.to_dict(), "vocab_size": 900})
    )
    (result,) = unmask.run((large, tiny("bert").codec.tokenizer), "aul", DATA)
    assert any("make sure that the model was trained" in n for n in result.notes)


@pytest.mark.parametrize(
    "family",
    [
        "Roberta",
        "MPNet",
        "XLMRobertaXL",
        "RobertaPreLayerNorm",
        "Data2VecText",
        "Longformer",
        "Camembert",
    ],
)
def test_the_longest_row_is_what_the_embedding_takes(family):
    """Positions start behind the padding index, wherever the embedding has one."""
    sizes = SMALL | {"vocab_size": 500, "max_position_embeddings": 40, "pad_token_id": 1}
    window = {"attention_window": 8} if family == "Longformer" else {}
    config = getattr(transformers, f"{family}Config")(**sizes, **window)
    net = getattr(transformers, f"{family}ForMaskedLM")(config).eval()
    tokenizer = copy.deepcopy(tiny("roberta").codec.tokenizer)
    tokenizer.model_max_length = 10_000
    limit = in_memory(net, tokenizer).limit
    assert limit == 38
    row = torch.full((1, limit), 7)
    assert net(row).logits.shape[1] == limit
    with pytest.raises((IndexError, RuntimeError)):
        net(torch.full((1, limit + 1), 7))


@pytest.mark.parametrize("change", [{"return_dict": False}, {"chunk_size_feed_forward": 3}])
def test_odd_settings_of_a_config_give_a_score_or_one_sentence(change, tmp_path):
    net, tokenizer = fresh()
    for key, value in change.items():
        setattr(net.config, key, value)
    again = transformers.BertForMaskedLM(net.config).eval()
    again.load_state_dict(net.state_dict())
    again.save_pretrained(tmp_path / "m")
    tokenizer.save_pretrained(tmp_path / "m")
    args = ("-x", "aul,w-seat", "-d", "bundled-pairs,weat-6", "--limit", "5", "-o", tmp_path / "r")
    status, _, err = invoke("run", "-m", tmp_path / "m", *args)
    assert status in (0, 2)
    assert "Traceback" not in err


def test_a_network_that_fails_is_one_sentence():
    net, tokenizer = fresh()
    net.base_model.encoder.layer[0].half()  # parts of two precisions
    with pytest.raises(ModelError, match="fails in a forward pass"):
        unmask.run((net, tokenizer), "aul", DATA, fast=False)

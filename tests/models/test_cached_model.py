"""Tests of models/cached_model: a model whose answers are known is not loaded."""

import os
import shutil
import subprocess
import sys

import pytest

import unmask
from conftest import damaged_values, tiny
from unmask.flow.loading import kind, loaded
from unmask.models import cached_model as remembering
from unmask.models.cached_model import CachedModel, cached_model, facts_of
from unmask.models.output_cache import salt
from unmask.models.transformers.model import TransformerModel
from unmask.options import Options
from unmask.support import store as stored

KEPT = Options(cache=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A tiny model in a folder, and an empty cache."""
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    model, place = tiny("bert"), tmp_path / "model"
    model.net.save_pretrained(place)
    model.codec.tokenizer.save_pretrained(place)
    return place


def measured(folder, **options):
    pairs = "bundled-pairs"
    results = unmask.run(
        [str(folder)], ["aul", "aula", "cps", "w-seat"], [pairs, "weat-7"], limit=9, **options
    )
    return [(r.title, r.overall, r.provenance, r.settings, r.items) for r in results]


def same(one, two):
    for (*facts, items), (*others, their_items) in zip(one, two, strict=True):
        assert facts == others
        assert items.equals(their_items)


def test_a_second_run_loads_nothing_and_has_the_same_results(folder, monkeypatch):
    first = measured(folder, cache=True)
    monkeypatch.setattr(CachedModel, "whole", property(lambda self: pytest.fail("loaded")))
    same(measured(folder, cache=True), first)


def test_what_is_not_known_is_asked_of_the_model_itself(folder):
    plain = measured(folder, cache=False)
    loaded(str(folder), KEPT)
    assert isinstance(loaded(str(folder), KEPT), CachedModel)
    same(measured(folder, cache=True), plain)


def test_it_knows_what_the_model_itself_says(folder):
    whole, again = loaded(str(folder), KEPT), loaded(str(folder), KEPT)
    assert (again.kind, again.family, again.abilities) == (
        whole.kind,
        whole.family,
        whole.abilities,
    )
    assert salt(again.provenance, "own") == salt(whole.provenance, "own")
    assert again.budget("auto") == whole.budget("auto")
    for word in ("nurse", "Nurse", "qqq", "[MASK]", "don't", "über"):
        assert again.codec.pieces(word) == whole.codec.pieces(word)
        assert again.codec.token(word) == whole.codec.token(word)
        assert again.codec.encode(word) == whole.codec.encode(word)
    ids = whole.codec.encode("the nurse was here").ids
    assert again.codec.spelt(ids) == whole.codec.tokenizer.convert_ids_to_tokens(list(ids))
    assert again.codec.decode(ids) == whole.codec.decode(ids)
    assert (again.codec.mask, again.codec.mask_id, again.codec.pad_id) == (
        whole.codec.mask,
        whole.codec.mask_id,
        whole.codec.pad_id,
    )


def test_its_network_can_be_asked_for(folder):
    """Where time is measured, loading must not be part of it."""
    loaded(str(folder), KEPT)
    model = loaded(str(folder), KEPT)
    assert isinstance(model, CachedModel)
    assert isinstance(remembering.full_model(model), TransformerModel)
    own = tiny("bert")
    assert remembering.full_model(own) is own


@pytest.mark.parametrize(
    "options", [{"cache": False}, {"dtype": "bfloat16"}, {"fast": False}, {"device": "cuda"}]
)
def test_only_the_usual_way_is_remembered(folder, options):
    loaded(str(folder), KEPT)
    assert cached_model(str(folder), Options(**{"cache": True, **options})) is None


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_changed_file_is_another_model(folder, name):
    """One bit, with the size and the time as they were: in a process of its own."""
    loaded(str(folder), KEPT)
    path, stamp = folder / name, (folder / name).stat()
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    remembering._digest_of.cache_clear()  # which a process of its own would not have
    assert facts_of(str(folder)) is None


def test_damaged_facts_are_not_used(folder):
    loaded(str(folder), KEPT)
    damaged_values(folder.parent / "cache" / stored.FILE_NAME)
    assert facts_of(str(folder)) is None
    assert kind(str(folder)) == "masked"
    assert not isinstance(loaded(str(folder), KEPT), CachedModel)
    assert facts_of(str(folder)) is not None  # and are written anew


def test_other_code_or_another_machine_remembers_nothing(folder, monkeypatch):
    loaded(str(folder), KEPT)
    for name in ("code_digest", "node"):
        with monkeypatch.context() as patch:
            owner = stored if name == "code_digest" else remembering.platform
            patch.setattr(owner, name, lambda: b"another")
            remembering._digest_of.cache_clear()
            assert facts_of(str(folder)) is None
    remembering._digest_of.cache_clear()
    assert facts_of(str(folder)) is not None


def test_a_folder_that_lost_its_tokenizer_is_looked_at_anew(folder):
    loaded(str(folder), KEPT)
    shutil.rmtree(folder)
    assert facts_of(str(folder)) is None
    with pytest.raises(unmask.ModelError, match="there is no model folder"):
        loaded(str(folder), KEPT)


def test_a_known_run_needs_no_torch(folder):
    """In a process of its own: neither torch nor transformers is imported."""
    code = (
        "import sys, unmask\n"
        f"found = unmask.run([{str(folder)!r}], ['aul', 'w-seat'], ['bundled-pairs', 'weat-7'],"
        " limit=9, cache=True)\n"
        "print(len(found), sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    ]
    assert said == ["2 ['torch', 'transformers']\n", "2 []\n"]

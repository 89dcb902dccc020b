"""Tests of flow/own_scores."""

import pandas as pd
import pytest

from conftest import tiny
from unmask.api import evaluate
from unmask.flow import external_scores

STEREOSET = {  # LM, SS, ICAT of the development set's intrasentence half (Nadeem et al. 2021)
    "bert-base-cased_BertNextSentence_BertLM": (83.02, 58.68, 68.61),
    "roberta-base_ModelNSP_RoBERTaLM": (71.15, 55.21, 63.74),
    "xlnet-base-cased_ModelNSP_XLNetLM": (68.91, 53.97, 63.43),
    "gpt2_ModelNSP_GPT2LM": (91.11, 61.93, 69.37),
}

GENDER = {
    "bert-base-cased_BertNextSentence_BertLM": (82.503, 61.482, 63.557),
    "roberta-base_ModelNSP_RoBERTaLM": (71.355, 54.208, 65.350),
    "xlnet-base-cased_ModelNSP_XLNetLM": (69.570, 46.541, 64.757),
}


@pytest.mark.parametrize("name", list(STEREOSET))
def test_own_scores_give_the_published_values(name, shared):
    path = shared(f"stereoset/predictions/predictions_{name}.json")
    found = external_scores.score_file(path, "stereoset")
    values = found.extras["lms"].value, found.overall.value, found.extras["icat"].value
    assert tuple(round(v, 2) for v in values) == STEREOSET[name]
    if name in GENDER:
        values = (
            found.extras["lms:gender"].value,
            found.by_category["gender"].value,
            found.extras["icat:gender"].value,
        )
        assert tuple(round(v, 3) for v in values) == GENDER[name]


def test_own_scores_in_every_format(tmp_path):
    """CSV, JSON lines and parquet with `ITEM/LABEL` ids agree, and equal the model's own run."""
    result = evaluate(tiny("bert"), "aul", "bundled-pairs")
    frame = pd.DataFrame(
        {"id": result.items["item"] + "/" + result.items["label"], "score": result.items["score"]}
    )
    frame.to_csv(tmp_path / "s.csv", index=False)
    frame.to_json(tmp_path / "s.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "s.parquet")
    for name in ("s.csv", "s.jsonl", "s.parquet"):
        found = external_scores.score_file(tmp_path / name, "bundled-pairs")
        assert found.coverage.scored == found.coverage.items
        micro = found.items.pivot(index="item", columns="label", values="score")
        share = 100 * (micro.stereotype > micro.antistereotype).mean()
        assert share == pytest.approx(result.overall.value)

"""`unmask reproduce`: load what can be loaded, run the study, write the pages."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.answer.fitness import unproven_models
from unmask.data.packaged import published
from unmask.errors import ModelError
from unmask.flow.loading import loaded, look_up
from unmask.models.protocol import Model
from unmask.reports.html.study_page import Study, write
from unmask.reports.results import save
from unmask.studies.papers import claims, husse2022, kaneko2022, thys2025
from unmask.studies.papers.husse2022_tables import HUB, LPBS_MODEL
from unmask.studies.papers.request import Request
from unmask.support.registry import Registry
from unmask.types import Result

ELMO = "ELMo"

PAPERS: Registry[Any] = Registry(
    "paper", [("kaneko2022", kaneko2022), ("thys2025", thys2025), ("husse2022", husse2022)]
)
MODELS = {
    "kaneko2022": list(published("kaneko2022")["models"].values()),
    "thys2025": list(published("thys2025")["sizes"]),
    "husse2022": [LPBS_MODEL, *HUB, ELMO],
}


def reproduce(paper: str, models: Sequence[str | Model], folder: Path, request: Request) -> Study:
    """Run a paper's experiments on its models, or on others; write tables, figures and results.

    Models that cannot be loaded are listed with the reason, and the rest is done; the published
    tables are written even if none can. Models that the user names must load.
    """
    study = PAPERS[paper]
    look_up(models)
    ready, failed = _loaded(models or MODELS[paper], request, strict=bool(models))
    study_made: Study = study.run(ready, request)
    answer = [claims.summary(t.frame.to_dict("records")) for t in study_made.tables if t.first]
    skipped = {**failed, **study_made.skipped}
    remarks = [*study_made.remarks, *_doubts(study_made.results)]
    study_made = replace(study_made, skipped=skipped, answer=answer, remarks=remarks)
    if study_made.results:
        save(study_made.results, folder, request.command)
    write(study_made, folder)
    return study_made


def _doubts(results: Sequence[Result]) -> list[str]:
    """Reasons to doubt the models themselves, whose numbers may then mean nothing."""
    doubts = [f"{model}: {why}." for model, why in unproven_models(results, words=True).items()]
    for model in dict.fromkeys(r.model for r in results if not r.fitness.fit):
        group = [r for r in results if r.model == model]
        unfit = [r for r in group if not r.fitness.fit]
        why = "; ".join(dict.fromkeys(reason for r in unfit for reason in r.fitness.reasons))
        doubts.append(
            f"{model}: {len(unfit)} of {len(group)} results are unfit for a verdict: {why}."
        )
    return doubts


def _loaded(
    names: Sequence[Any], request: Request, strict: bool
) -> tuple[list[Any], dict[str, str]]:
    models, failed = [], {}
    for name in names:
        if not isinstance(name, str):
            models.append(name)
            continue
        if name == ELMO:
            failed[name] = "has no name on a hub; give -m OPTIONS.json+WEIGHTS.hdf5"
            continue
        try:
            models.append(loaded(name, request.options))
        except ModelError as error:
            if strict:
                raise
            failed[name] = "cannot be loaded" + (" (no hub)" if "hub" in str(error) else "")
    return models, failed

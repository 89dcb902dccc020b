"""`unmask reproduce`: load what can be loaded, run the study, write the pages."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.data.packaged import published
from unmask.errors import ModelError
from unmask.registry import Registry
from unmask.report.page import Study, write
from unmask.report.results import save
from unmask.studies.papers import husse2022, kaneko2022, thys2025
from unmask.studies.papers.request import Request

PAPERS: Registry[Any] = Registry(
    "paper", [("kaneko2022", kaneko2022), ("thys2025", thys2025), ("husse2022", husse2022)]
)
MODELS = {
    "kaneko2022": list(published("kaneko2022")["models"].values()),
    "thys2025": list(published("thys2025")["sizes"]),
    "husse2022": ["bert-base-cased", "gpt2", "facebook/opt-125m", "bigscience/bloom-560m"],
}


def reproduce(paper: str, models: Sequence[Any], folder: Path, request: Request) -> Study:
    """Run a paper's experiments on its models, or on others; write tables, figures and results.

    Models that cannot be loaded are listed with the reason, and the rest is done.
    """
    from unmask.models.load import load  # torch is heavy: only when a model is needed

    study, options = PAPERS[paper], request.options
    loaded, failed = [], {}
    for name in models or MODELS[paper]:
        if not isinstance(name, str):
            loaded.append(name)
            continue
        try:
            loaded.append(load(name, dtype=options.dtype, device=options.device))
        except ModelError as error:
            failed[name] = str(error)
    if not loaded:
        listed = "; ".join(failed.values())
        raise ModelError(f"none of the models can be loaded ({listed}); name others with --models.")
    made: Study = study.run(loaded, request)
    made = replace(made, skipped={**failed, **made.skipped})
    write(made, folder)
    save(made.results, folder)
    return made

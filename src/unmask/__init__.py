"""Measure social bias in language models, and report how far each number can be trusted."""

import importlib
from typing import Any

from unmask.support import result_views
from unmask.support.version import __version__ as __version__

# Where each public name lives; imported at its first use, since pandas and torch are heavy.
_HOME = {
    "ASSOCIATION": "measures",
    "Abilities": "models.protocol",
    "Association": "measures",
    "Contrast": "types",
    "Coverage": "types",
    "DataError": "errors",
    "Dataset": "types",
    "Estimate": "types",
    "LIKELIHOOD": "measures",
    "Likelihood": "measures",
    "Model": "models.protocol",
    "ModelError": "errors",
    "NameUnknown": "errors",
    "NotApplicable": "errors",
    "Options": "options",
    "Query": "queries",
    "Resampling": "options",
    "Result": "types",
    "Rule": "studies.gate.rules",
    "Results": "types",
    "Spec": "options",
    "Stimuli": "types",
    "Text": "types",
    "UnmaskError": "errors",
    "WordTest": "text.contexts",
    "check_data": "extend.checks",
    "compare": "studies.compare",
    "compare_by_bias_type": "studies.bias_type_differences",
    "check_measure": "extend.checks",
    "check_model": "extend.checks",
    "evaluate": "api",
    "evaluate_specs": "api",
    "gate": "studies.gate.check",
    "leaderboard": "reports.leaderboard",
    "scaling": "studies.scaling",
    "load": "api",
    "report": "reports.html.page",
    "run": "api",
    "save": "api",
    "table": "reports.columns",
    "watch": "extend.training",
}

# Modules for studies, measures and models of one's own; the papers and the lab use no others.
MODULES = (
    "types options errors queries",
    "data.cards data.catalogue data.controls data.packaged data.templates data.wordsets",
    "text.contexts corpus.count corpus.harvest",
    "measures measures.plans measures.reduce",
    "models.protocol models.batches models.cached_model models.elmo models.unique_rows",
    "models.transformers.model models.transformers.tokenizer",
    "flow.evaluate flow.loading flow.plan",
    "stats.agreement stats.clustering stats.comparison stats.effects stats.growth stats.intervals",
    "stats.log_odds stats.multiplicity stats.permutation",
    "answer.fitness answer.items answer.lab_status answer.scales",
    "studies.frequency reports.files reports.results reports.figures.drawing",
    "reports.figures.study_charts reports.html.study_page support.registry",
)

result_views.load = lambda: importlib.import_module("unmask.reports.views")

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'unmask' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"unmask.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

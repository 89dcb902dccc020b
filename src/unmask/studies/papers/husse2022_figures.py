"""Mind Your Bias (Husse and Spitz 2022): the figures."""

from collections.abc import Sequence
from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd

from unmask.data.packaged import published
from unmask.data.templates import from_sentences
from unmask.data.wordsets import matching, stimuli
from unmask.errors import DataError
from unmask.flow.evaluate import evaluate
from unmask.models.protocol import Model
from unmask.options import Spec
from unmask.reports.figures import study_charts
from unmask.reports.figures.drawing import Figure
from unmask.studies.papers.husse2022_tables import (
    COLUMNS,
    CONTEXTS,
    MAIN,
    METHODS,
    NAMED,
    SIGNIFICANT,
    SIZES,
    HusseRun,
    full_scores,
    is_sure,
    main_scores,
)
from unmask.studies.papers.request import Request
from unmask.text.contexts import Source, WordTest, limited, source
from unmask.types import Stimuli

SHOWN = {"targets": ("names", "terms"), "context": ("template", "natural")}
PUBLISHED = "published, all models"
SAMPLED = (
    {s: ("CEAT" if s == "full" else f"CEAT {s}", "word-average") for s in SIZES},
    {s: ("CEAT-LPBS", s) for s in SIZES},
)


def significant(run: HusseRun) -> list[Figure]:
    """Figure 1: scores by model and choice, and how the significant ones are distributed."""
    scores = pd.concat([_published_scores(), _own_scores(run)], ignore_index=True)
    parts = [
        scores[scores[choice] == option].assign(panel=choice, option=option)
        for choice, options in SHOWN.items()
        for option in options
    ]
    table = pd.concat(parts)[["panel", "model", "option", "d", "sure"]]
    title = "Figure 1, left: bias scores by model and choice, and the significant ones"
    note = (
        "Published scores from the release's result files, the models of this run last; faint "
        f"where p is at least {SIGNIFICANT} by the paper's tests."
    )
    left = study_charts.strips("significant", title, table, note)
    return [left, _significant_only(table[table.sure], list(run.kinds))]


def _published_scores() -> pd.DataFrame:
    scores = full_scores()
    scores = scores.assign(model=scores.model.map(COLUMNS), sure=scores.p < SIGNIFICANT)
    scores = scores.assign(context=scores.context.replace(CONTEXTS))
    return scores[["model", "targets", "context", "d", "sure"]].dropna()


def _own_scores(run: HusseRun) -> pd.DataFrame:
    """Scores of this run on full sets, significant by the paper's tests."""
    columns = ["model", "targets", "context", "d", "sure"]
    rows = []
    for key, result in run.results.items():
        model, method, _, level, context = key
        full = method in ("SEAT", "CEAT") or (method, level) == ("LPBS", "full")
        if full and context in SHOWN["context"] and not result.spec.tags["edition"]:
            facts = (result.spec.tags["named"], context, result.overall.value)
            rows.append((model, *facts, is_sure(run.tested[key])))
    return pd.DataFrame(rows, columns=columns)


def _significant_only(sure: pd.DataFrame, names: Sequence[str]) -> Figure:
    """Figure 1, right."""
    edges = np.linspace(-2, 2, 41)
    rows = []
    groups = {PUBLISHED: sure[~sure.model.isin(names)], **{m: sure[sure.model == m] for m in names}}
    for (label, part), (choice, options) in product(groups.items(), SHOWN.items()):
        for option in options:
            d = part[(part.panel == choice) & (part.option == option)].d
            counts = np.histogram(d, edges)[0]
            line = {"panel": f"{choice}, {label}", "choice": option}
            rows += [
                {**line, "from": a, "to": b, "scores": n}
                for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
                if n
            ]
    table = pd.DataFrame(rows, columns=["panel", "choice", "from", "to", "scores"])
    title = "Figure 1, right: distribution of the significant bias scores"
    return study_charts.distributions(
        "significant-scores", title, table, "choice", counted="scores"
    )


def distribution(model: str, run: HusseRun) -> Figure:
    """Figure 3: effect sizes of CEAT's samples on C1, by cosine and by probability, three sizes."""
    parts = []
    for panel, levels in enumerate(SAMPLED):
        by_context: dict[str, list[Any]] = {
            context: [
                (panel, size, context, result.artifacts["samples"])
                for size, (method, level) in levels.items()
                if (result := run.results.get((model, method, MAIN["C1"], level, context)))
                and "samples" in result.artifacts
            ]
            for context in ("natural", "template")
        }
        most = max(by_context, key=lambda context: len(by_context[context]))
        parts += by_context[most]  # all sizes in contexts of one sort
    methods = ("CEAT (cosine)", "CEAT on LPBS (probability)")
    samples = np.concatenate([effects for *_, effects in parts]) if parts else np.zeros(1)
    edges = np.histogram_bin_edges(samples, 60)
    rows = [
        {"panel": methods[panel], "sets": f"{size}, {context} ({len(effects)})"}
        | {"from": a, "to": b, "samples": n}
        for panel, size, context, effects in parts
        for a, b, n in zip(edges[:-1], edges[1:], np.histogram(effects, edges)[0], strict=True)
        if n
    ]
    columns = ["panel", "sets", "from", "to", "samples"]
    title = "Figure 3: distribution of effect sizes on C1 by size of the sets"
    note = (
        "On natural sentences where there are enough for all sizes. With few templates the samples "
        "repeat. The paper shows its distributions as a picture only."
    )
    if not run.comparable:
        note += " A quick run has LPBS on simplified sets only."
    return study_charts.distributions(
        "distribution", f"{title}, {model}", pd.DataFrame(rows, columns=columns), "sets", note
    )


def scatter(run: HusseRun) -> Figure:
    """Figure 5: each method's scores against each other's, on the paper's models and on ours."""
    scores: dict[str, dict[str, dict[str, float]]] = _published_by_method()
    for model in run.kinds:
        places = main_scores(model, run.results)
        scores[model] = {
            m: {test: run.results[key].overall.value for test, key in keys.items()}
            for m, keys in places.items()
        }
    rows = [
        {"down": a, "across": b, "model": model, "x": by_method[b][t], "y": by_method[a][t]}
        for a, b in permutations(METHODS, 2)
        for model, by_method in scores.items()
        for t in MAIN
        if t in by_method[a] and t in by_method[b]
    ]
    columns = ["down", "across", "model", "x", "y"]
    title = "Figure 5: scores of the methods against one another"
    note = (
        "The eight main tests. CEAT is on natural sentences in the paper, and here where a store "
        "was given; otherwise on templates. The other methods are on templates."
    )
    return study_charts.matrix("scatter", title, pd.DataFrame(rows, columns=columns), note)


def _published_by_method() -> dict[str, dict[str, dict[str, float]]]:
    """Model, method, test: what Table 5 correlates, CEAT on Reddit and the others on templates."""
    scores = full_scores()
    scores = scores[scores.targets == scores.test.map(NAMED)]
    by_model = {}
    for model, label in COLUMNS.items():
        of_model = scores[scores.model == model]
        by_model[f"{label} (published)"] = {
            name: dict(
                of_model[
                    (of_model.method == method)
                    & (of_model.level == ("" if method == "LPBS" else level))
                    & (of_model.context == ("reddit" if method == "CEAT" else "template"))
                ][["test", "d"]].itertuples(index=False)
            )
            for name, (method, level) in METHODS.items()
        }
    return by_model


BOTH = 2  # the stimuli themselves, which a window of the release counts
PANELS = {
    "w-SEAT": "w-SEAT: words on each side",
    "LPBS": "LPBS: maximum number of words from target to attribute, inclusive",
}


def windows(models: Sequence[Model], request: Request) -> Figure:
    """Figure 4: the number of words kept around a stimulus, or allowed between two."""
    rows = [
        {"panel": PANELS["LPBS"], "test": f"{test} (published, BERT)", "size": size, "d": d}
        for test in ("C1", "C9")
        for size, d in published("husse2022")["figure4"][test]
    ]
    if request.contexts is not None:
        rows += [line for model in models for line in _measured_windows(model, request)]
    columns = ["panel", "test", "size", "d", "low", "high"]
    title = "Figure 4: effect of the window size on C1 and C9"
    note = (
        "The paper shows LPBS on Reddit (20 means the 18 words between, appendix B.5). Its "
        "curve of C1 jumps between 25 and 30 words, where the release's number of sentences on one "
        "side jumps too. This run needs --contexts. Curves with too few sentences are omitted."
    )
    x, y = ("size", "words"), ("d", "effect size")
    table = pd.DataFrame(rows, columns=columns)
    return study_charts.curves(
        "windows", title, table, x, y, "test", panel="panel", ideal=0.0, band=True, note=note
    )


def _measured_windows(model: Model, request: Request) -> list[dict[str, Any]]:
    stored = limited(source(str(request.contexts)), most=request.sentences)
    specs = []
    for test in ("C1", "C9"):
        words = stimuli()[MAIN[test]]
        for size in (1, 2, 4, 6, 9, 14, 20):
            tags = {"panel": "w-SEAT", "test": test, "size": size}
            cut = limited(stored, words=size)
            specs.append(Spec(model, "w-seat", WordTest(words), contexts=cut, tags=tags))
        specs += _apart(model, words, stored, test)
    rows = []
    # A store may lack a test's words.
    for result in evaluate(specs, request.options, lambda spec, error: None):
        labels, e = result.spec.tags, result.overall
        line = {"panel": PANELS[labels["panel"]], "test": f"{labels['test']}, {model.name}"}
        rows.append(line | {"size": labels["size"], "d": e.value, "low": e.low, "high": e.high})
    return rows


def _apart(model: Model, words: Stimuli, stored: Source, test: str) -> list[Spec]:
    """LPBS on stored sentences whose target and attribute are at most a number of words apart."""
    specs: list[Spec] = []
    if model.kind not in ("masked", "causal", "permutation"):
        return specs
    for size in (10, 15, 20, 25, 30, 40, 50, 60):
        try:
            data = from_sentences(words, stored.of(words), distance=size - BOTH)
        except DataError:
            continue
        tags = {"panel": "LPBS", "test": test, "size": size}
        specs.append(Spec(model, "lpbs", data, tags=tags))
    return specs


def retained(models: Sequence[Model]) -> Figure:
    """Figure 2: how much of each test a reduction to the model's vocabulary keeps."""
    full = {t: stimuli()[name] for t, name in MAIN.items()}
    shares = {
        t: 100 * _targets(r[0]) / _targets(test)
        for t, test in full.items()
        if (r := matching(concept=t, named=test.named, size="reduced", edition=""))
    }
    rows = [
        {"test": t, "series": "the release's reduced sets (BERT)", "kept": shares.get(t, 0.0)}
        for t in MAIN
    ]
    for model in (m for m in models if m.kind not in ("static", "elmo")):
        rows += [
            {"test": t, "series": model.name, "kept": _reduced(model, test)}
            for t, test in full.items()
        ]
    note = (
        "First: the share of the full sets that the release's reduced sets keep (none for Dis, I1 "
        "and I2). The others: lower-cased target words that are one token of the model, as in the "
        "release, cut to the size of the smaller set."
    )
    title = "Figure 2: share of target words kept by a reduction to the vocabulary"
    x, y = ("test", "bias test"), ("kept", "% of target words")
    return study_charts.grouped_bars("retained", title, pd.DataFrame(rows), x, y, note)


def _reduced(model: Model, test: Stimuli) -> float:
    """Per cent of the target words that are left when both sets are cut to the smaller one."""
    single = [
        sum(len(model.codec.pieces(w.lower())) == 1 for w in words)
        for words in test.targets.values()
    ]
    return 100 * len(single) * min(single) / _targets(test)


def _targets(test: Stimuli) -> int:
    return sum(len(words) for words in test.targets.values())

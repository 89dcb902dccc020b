"""Mind Your Bias (Husse and Spitz 2022): the figures."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from unmask.corpus.harvest import window
from unmask.data.packaged import published
from unmask.data.templates import from_sentences
from unmask.data.wordsets import chosen, groups, stimuli
from unmask.errors import DataError
from unmask.flow.evaluate import evaluate
from unmask.models.protocol import Model
from unmask.options import Options, Spec
from unmask.reports.figures import study_charts
from unmask.reports.figures.drawing import Figure
from unmask.studies.papers.husse2022_tables import (
    COLUMNS,
    MAIN,
    METHODS,
    SIGNIFICANT,
    SIZES,
    Results,
)
from unmask.text.contexts import Contexts, Mention, Source, WordTest, source
from unmask.types import Estimate, Stimuli


def significant() -> Figure:
    """Figure 1: all published scores by model and choice, and how the significant ones lie."""
    every = published("husse2022.csv")
    every = every[(every.note == "") & every.d.notna() & (every.sets == "full")]
    sure = every.p < SIGNIFICANT
    panels = {"targets": ("names", "terms"), "context": ("template", "reddit")}
    parts = [
        every[every[choice] == option].assign(panel=choice, option=option, sure=sure)
        for choice, options in panels.items()
        for option in options
    ]
    shown = pd.concat(parts)[["panel", "model", "option", "d", "sure"]]
    shown = shown.assign(model=shown.model.map(COLUMNS)).dropna()
    title = "Figure 1: published bias scores by model and choice, and the significant ones"
    note = f"From the release's result files; faint where p is at least {SIGNIFICANT}."
    return study_charts.strips("significant", title, shown, note)


def distribution(model: str, results: Results) -> Figure:
    """Figure 3: effect sizes of CEAT's samples on C1, by cosine and by probability, three sizes."""
    parts = []
    for size in SIZES:
        method = "CEAT" if size == "full" else f"CEAT {size}"
        keys = (method, "word-average"), ("CEAT-LPBS", size)
        for panel, (name, level) in enumerate(keys):
            result = results.get((model, name, MAIN["C1"], level, "template"))
            if result is not None and "samples" in result.kept:
                parts.append((panel, size, result.kept["samples"]))

    methods = ("CEAT (cosine)", "CEAT on LPBS (probability)")
    every = np.concatenate([effects for _, _, effects in parts]) if parts else np.zeros(1)
    edges = np.histogram_bin_edges(every, 60)
    rows = [
        {
            "panel": methods[panel],
            "sets": f"{size} ({len(effects)})",
            "from": a,
            "to": b,
            "samples": n,
        }
        for panel, size, effects in parts
        for a, b, n in zip(edges[:-1], edges[1:], np.histogram(effects, edges)[0], strict=True)
        if n
    ]
    columns = ["panel", "sets", "from", "to", "samples"]
    title = "Figure 3: distribution of effect sizes on C1 by size of the sets"
    note = "A quick run has LPBS on simplified sets only. With few templates its samples repeat."
    return study_charts.distributions(
        "distribution", f"{title}, {model}", pd.DataFrame(rows, columns=columns), "sets", note
    )


def scatter(models: Sequence[str], results: Results) -> Figure:
    """Figure 5: each method's scores against each other's."""

    rows = [
        {"down": a, "across": b, "model": m, "x": x, "y": y}
        for a, one in METHODS.items()
        for b, two in METHODS.items()
        if a != b
        for m in models
        for x, y in _points(results, m, two, one)
    ]
    columns = ["down", "across", "model", "x", "y"]
    title = "Figure 5: scores of the methods against one another"
    return study_charts.matrix("scatter", title, pd.DataFrame(rows, columns=columns))


def _points(
    results: Results, model: str, x: tuple[str, str], y: tuple[str, str]
) -> list[tuple[float, float]]:
    """The scores of two methods on the tests that both have."""
    pairs = [
        [results.get((model, method, n, level, "template")) for method, level in (x, y)]
        for n in groups()["husse2022"]
    ]
    return [(a.overall.value, b.overall.value) for a, b in pairs if a and b]


PANELS = {
    "w-SEAT": "w-SEAT: words kept on each side",
    "LPBS": "LPBS: words between target and attribute, at most",
}


def windows(model: Model, contexts: str, options: Options) -> Figure:
    """Figure 4: the number of words kept around a stimulus, or allowed between two."""
    stored = source(contexts)
    specs = []
    for test in ("C1", "C9"):
        words = stimuli()[MAIN[test]]
        for size in (1, 2, 4, 6, 9, 14, 20):
            tags = {"panel": "w-SEAT", "test": test, "size": size}
            cut = _cut_to(stored, size)
            specs.append(Spec(model, "w-seat", WordTest(words), contexts=cut, tags=tags))
        specs += _apart(model, words, stored, test)
    curves: dict[tuple[str, str], list[tuple[int, Estimate]]] = {}
    # A store may lack a test's words.
    for result in evaluate(specs, options, lambda spec, error: None):
        mine = result.spec.tags
        curves.setdefault((mine["panel"], mine["test"]), []).append((mine["size"], result.overall))

    rows = [
        {
            "panel": PANELS[panel],
            "test": test,
            "size": size,
            "d": e.value,
            "low": e.low,
            "high": e.high,
        }
        for (panel, test), points in curves.items()
        for size, e in points
    ]
    shown = pd.DataFrame(rows, columns=["panel", "test", "size", "d", "low", "high"])
    title = "Figure 4: effect of the window size on C1 and C9"
    note = "The paper shows LPBS on Reddit; a panel is empty where the store has too few sentences."
    x, y = ("size", "words"), ("d", "effect size")
    return study_charts.curves(
        "windows", title, shown, x, y, "test", panel="panel", ideal=0.0, band=True, note=note
    )


def _apart(model: Model, words: Stimuli, stored: Source, test: str) -> list[Spec]:
    """LPBS on stored sentences whose target and attribute are at most a number of words apart."""
    out: list[Spec] = []
    if model.kind not in ("masked", "causal", "permutation"):
        return out
    for size in (10, 20, 30, 40, 60):
        try:
            data = from_sentences(words, stored.of(words), apart=size)
        except DataError:
            continue
        tags = {"panel": "LPBS", "test": test, "size": size}
        out.append(Spec(model, "lpbs", data, tags=tags))
    return out


def _cut_to(stored: Source, size: int, most: int = 50) -> Source:
    """The sentences of a store, at most `most` a word, cut to `size` words on each side."""

    def contexts(test: Stimuli) -> Contexts:
        return {w: tuple(_cut(m, size) for m in ms[:most]) for w, ms in stored.of(test).items()}

    return Source("natural, cut", contexts)


def _cut(mention: Mention, size: int) -> Mention:
    text, start, end = window(mention.text, *mention.span, size)
    return Mention(text, (start, end))


def retained(models: Sequence[Model]) -> Figure:
    """Figure 2: how much of each test a reduction to the model's vocabulary keeps."""
    full = {t: stimuli()[name] for t, name in MAIN.items()}
    kept = {
        t: 100 * _targets(r[0]) / _targets(test)
        for t, test in full.items()
        if (r := chosen(concept=t, named=test.named, size="reduced", edition=""))
    }

    rows = [
        {"test": t, "series": "the release's reduced sets (BERT)", "kept": kept.get(t, 0.0)}
        for t in MAIN
    ]
    for model in (m for m in models if m.kind not in ("static", "elmo")):
        for t, test in full.items():
            words = [w for ws in test.targets.values() for w in ws]
            share = 100 * float(np.mean([len(model.codec.pieces(w)) == 1 for w in words]))
            rows.append({"test": t, "series": model.name, "kept": share})
    note = (
        "First: what the reduced sets of the release keep of the full ones (none of Dis, I1 and "
        "I2). The others: target words that are one token of the model."
    )
    title = "Figure 2: share of target words kept by a reduction to the vocabulary"
    x, y = ("test", "bias test"), ("kept", "% of target words")
    return study_charts.grouped_bars("retained", title, pd.DataFrame(rows), x, y, note)


def _targets(test: Stimuli) -> int:
    return sum(len(words) for words in test.targets.values())

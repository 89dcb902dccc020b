"""Mind Your Bias (Husse and Spitz 2022): the figures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unmask.corpus.harvest import window
from unmask.data.packaged import published
from unmask.data.templates import from_sentences
from unmask.data.wordsets import chosen, groups, stimuli
from unmask.errors import DataError
from unmask.flow.evaluate import evaluate
from unmask.options import Options, Spec
from unmask.report.page import Figure
from unmask.studies.papers.husse2022_printed import COLUMNS, MAIN, SIGNIFICANT
from unmask.studies.papers.husse2022_tables import METHODS, SIZES, Results
from unmask.text.contexts import Contexts, Mention, Source, WordTest, source
from unmask.types import Estimate, Stimuli


def significant() -> Figure:
    """Figure 1: all published scores by model and choice, and how the significant ones lie."""
    every = published("husse2022.csv")
    every = every[(every.note == "") & every.d.notna() & (every.sets == "full")]
    sure = every.p < SIGNIFICANT
    panels = {"targets": ("names", "terms"), "context": ("template", "reddit")}
    colours = ("#1f6f8b", "#c8553d")

    def draw(figure: Any) -> None:
        grid = figure.subplots(2, 2, width_ratios=[3, 1], sharey=True)
        for (left, right), (choice, options) in zip(grid, panels.items(), strict=True):
            for k, (option, colour) in enumerate(zip(options, colours, strict=True)):
                chosen = every[choice] == option
                for bold, alpha in ((True, 0.7), (False, 0.15)):
                    some = every[chosen & (sure == bold)]
                    x = [list(COLUMNS).index(m) + 0.3 * k - 0.15 for m in some.model]
                    label = option if bold else f"{option}, p >= {SIGNIFICANT}"
                    left.scatter(x, some.d, s=9, alpha=alpha, color=colour, label=label)
                right.hist(
                    every.d[chosen & sure],
                    bins=30,
                    orientation="horizontal",
                    alpha=0.5,
                    color=colour,
                    label=option,
                )
            left.set_xticks(range(len(COLUMNS)), list(COLUMNS.values()))
            left.set(ylabel="effect size")
            left.axhline(0, color="grey", linewidth=0.8)
            left.legend(frameon=False, fontsize=7, ncols=2)
            right.set(xlabel="significant scores")

    title = "Figure 1: published bias scores by model and choice, and the significant ones"
    note = f"From the release's result files; faint where p is at least {SIGNIFICANT}."
    return Figure("significant", title, draw, (9, 7), note)


def distribution(model: str, results: Results) -> Figure:
    """Figure 3: effect sizes of CEAT's samples on C1, by cosine and by probability, three sizes."""
    found = []
    for size in SIZES:
        method = "CEAT" if size == "full" else f"CEAT {size}"
        keys = (method, "word-average"), ("CEAT-LPBS", size)
        for panel, (name, level) in enumerate(keys):
            result = results.get((model, name, MAIN["C1"], level, "template"))
            if result is not None and "samples" in result.kept:
                found.append((panel, size, result.kept["samples"]))

    def draw(figure: Any) -> None:
        grid = figure.subplots(2, 1, sharex=True)
        for panel, size, effects in found:
            grid[panel].hist(effects, bins=60, alpha=0.5, label=f"{size} ({len(effects)})")
        for axes, method in zip(grid, ("CEAT (cosine)", "CEAT on LPBS (probability)"), strict=True):
            axes.axvline(0, color="grey", linewidth=0.8)
            axes.set(ylabel="samples", title=f"{method}, C1, {model}")
            if axes.get_legend_handles_labels()[0]:
                axes.legend(frameon=False, title="sets (samples)")
        grid[1].set(xlabel="effect size")

    title = "Figure 3: distribution of effect sizes on C1 by size of the sets"
    note = "A quick run has LPBS on simplified sets only. With few templates its samples repeat."
    return Figure("distribution", title, draw, (7, 6), note)


def scatter(models: Sequence[str], results: Results) -> Figure:
    """Figure 5: each method's scores against each other's."""

    def draw(figure: Any) -> None:
        grid = figure.subplots(4, 4)
        for i, (a, one) in enumerate(METHODS.items()):
            for j, two in enumerate(METHODS.values()):
                axes = grid[i, j]
                axes.tick_params(labelsize=6)
                if i == j:
                    axes.text(0.5, 0.5, a, ha="center", va="center", transform=axes.transAxes)
                    axes.set(xticks=[], yticks=[])
                    continue
                for m in models:
                    points = _points(results, m, two, one)
                    if points:
                        axes.scatter(*zip(*points, strict=True), s=10, label=m)
        for j, name in enumerate(METHODS):
            grid[3, j].set_xlabel(f"effect size, {name}", fontsize=7)
            grid[j, 0].set_ylabel(f"effect size, {name}", fontsize=7)
        handles, labels = grid[0, 1].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, fontsize=8, loc="outside lower center")

    return Figure("scatter", "Figure 5: scores of the methods against one another", draw, (8, 8))


def _points(
    results: Results, model: str, x: tuple[str, str], y: tuple[str, str]
) -> list[tuple[float, float]]:
    """The scores of two methods on the tests that both have."""
    found = [
        [results.get((model, method, n, level, "template")) for method, level in (x, y)]
        for n in groups()["husse2022"]
    ]
    return [(a.overall.value, b.overall.value) for a, b in found if a and b]


def windows(model: Any, contexts: str, options: Options) -> Figure:
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

    def draw(figure: Any) -> None:
        grid = dict(zip(("w-SEAT", "LPBS"), figure.subplots(1, 2, sharey=True), strict=True))
        for (panel, test), points in curves.items():
            x = [size for size, _ in points]
            low, high = [e.low for _, e in points], [e.high for _, e in points]
            grid[panel].plot(x, [e.value for _, e in points], marker="o", label=test)
            grid[panel].fill_between(x, low, high, alpha=0.15)
        for panel, axes in grid.items():
            axes.axhline(0, color="grey", linewidth=0.8)
            axes.set(title=panel, ylabel="effect size")
            if axes.get_legend_handles_labels()[0]:
                axes.legend(frameon=False)
        grid["w-SEAT"].set(xlabel="words kept on each side")
        grid["LPBS"].set(xlabel="words between target and attribute, at most")

    title = "Figure 4: effect of the window size on C1 and C9"
    note = "The paper shows LPBS on Reddit; a panel is empty where the store has too few sentences."
    return Figure("windows", title, draw, (9, 4.5), note)


def _apart(model: Any, words: Stimuli, stored: Source, test: str) -> list[Spec]:
    """LPBS on stored sentences whose target and attribute are at most so many words apart."""
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
    """The sentences of a store, at most so many a word, with so many words on each side."""

    def contexts(test: Stimuli) -> Contexts:
        return {w: tuple(_cut(m, size) for m in ms[:most]) for w, ms in stored.of(test).items()}

    return Source("natural, cut", contexts)


def _cut(mention: Mention, size: int) -> Mention:
    text, start, end = window(mention.text, *mention.span, size)
    return Mention(text, (start, end))


def retained(models: Sequence[Any]) -> Figure:
    """Figure 2: how much of each test a reduction to the model's vocabulary keeps."""
    full = {t: stimuli()[name] for t, name in MAIN.items()}
    kept = {
        t: 100 * _targets(r[0]) / _targets(test)
        for t, test in full.items()
        if (r := chosen(concept=t, named=test.named, size="reduced", edition=""))
    }

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        width = 0.8 / (len(models) + 1)
        places = np.arange(len(MAIN))
        axes.bar(
            places,
            [kept.get(t, 0) for t in MAIN],
            width,
            color="lightgrey",
            label="the release's reduced sets (BERT)",
        )
        for k, model in enumerate((m for m in models if hasattr(m, "codec")), 1):
            shares = []
            for test in full.values():
                words = [w for ws in test.targets.values() for w in ws]
                shares.append(100 * np.mean([len(model.codec.pieces(w)) == 1 for w in words]))
            axes.bar(places + width * k, shares, width, label=model.name)
        axes.set_xticks(places, list(MAIN))
        axes.set(ylabel="% of target words", xlabel="bias test")
        axes.legend(frameon=False)

    note = (
        "Grey: what the reduced sets of the release keep of the full ones (none of Dis, I1 and "
        "I2). Coloured: target words that are one token of the model."
    )
    title = "Figure 2: share of target words kept by a reduction to the vocabulary"
    return Figure("retained", title, draw, note=note)


def _targets(test: Stimuli) -> int:
    return sum(len(words) for words in test.targets.values())

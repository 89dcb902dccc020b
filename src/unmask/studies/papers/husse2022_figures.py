"""Mind Your Bias (Husse and Spitz 2022): the figures."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unmask.corpus.harvest import window
from unmask.data.wordsets import groups, stimuli
from unmask.flow.evaluate import evaluate
from unmask.options import Options, Spec
from unmask.report.page import Figure
from unmask.studies.papers.husse2022_tables import MAIN, METHODS, Results
from unmask.text.contexts import Contexts, Mention, Source, WordTest, source
from unmask.types import Estimate, Stimuli


def distribution(model: Any, samples: int, options: Options) -> Figure:
    """Figure 3: the effect sizes of CEAT's samples."""
    spec = Spec(model, "ceat", WordTest(stimuli()[MAIN["C1"]]), samples=samples)
    effects = evaluate([spec], replace(options, keep=("samples",)))[0].kept["samples"]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.hist(effects, bins=60, color="#4a6fa5")
        axes.axvline(0, color="grey", linewidth=0.8)
        axes.set(
            xlabel="effect size", ylabel="samples", title=f"C1, {model.name}, {samples} samples"
        )

    return Figure("distribution", "Figure 3: distribution of CEAT's effect sizes", draw)


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
    """Figure 4: the effect of the number of words kept on each side of the stimulus."""
    sizes = [1, 2, 4, 6, 9, 14, 20]
    stored = source(contexts)
    specs = [
        Spec(
            model,
            "w-seat",
            WordTest(stimuli()[MAIN[test]]),
            contexts=_cut_to(stored, size),
            tags={"test": test, "size": size},
        )
        for test, size in itertools.product(("C1", "C6"), sizes)
    ]
    curves: dict[str, list[tuple[int, Estimate]]] = {}
    # A store may lack a test's words.
    for result in evaluate(specs, options, lambda spec, error: None):
        tags = result.spec.tags
        curves.setdefault(tags["test"], []).append((tags["size"], result.overall))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for test, points in curves.items():
            x = [size for size, _ in points]
            axes.plot(x, [e.value for _, e in points], marker="o", label=test)
            axes.fill_between(
                x, [e.low for _, e in points], [e.high for _, e in points], alpha=0.15
            )
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set(xlabel="words kept on each side", ylabel="w-SEAT effect size", xticks=sizes)
        axes.legend(frameon=False)

    return Figure("windows", "Figure 4: effect of the window size", draw)


def _cut_to(stored: Source, size: int, most: int = 50) -> Source:
    """The sentences of a store, at most so many a word, with so many words on each side."""

    def contexts(test: Stimuli) -> Contexts:
        return {w: tuple(_cut(m, size) for m in ms[:most]) for w, ms in stored.of(test).items()}

    return Source("natural, cut", contexts)


def _cut(mention: Mention, size: int) -> Mention:
    text, start, end = window(mention.text, *mention.span, size)
    return Mention(text, (start, end))


def retained(models: Sequence[Any]) -> Figure:
    """Figure 2: the share of stimuli that are one token, which reduced sets keep."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for k, model in enumerate(models):
            shares = []
            for name in MAIN.values():
                words = [w for ws in stimuli()[name].targets.values() for w in ws]
                shares.append(100 * np.mean([len(model.codec.pieces(w)) == 1 for w in words]))
            places = np.arange(len(MAIN)) + 0.8 * k / len(models)
            axes.bar(places, shares, 0.8 / len(models), label=model.name)
        axes.set_xticks(np.arange(len(MAIN)), list(MAIN))
        axes.set(ylabel="% of target words that are one token")
        axes.legend(frameon=False)

    return Figure("retained", "Figure 2: share of target words that a reduced set keeps", draw)

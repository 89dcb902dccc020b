"""`unmask list`: what there is, one line each, and the card of one thing."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console

from unmask.answer.lab_status import MARGIN, UNTESTED, LabStatus, by_kind, rank
from unmask.answer.scales import SCALES
from unmask.cli.terminal import print_lines
from unmask.data import catalogue
from unmask.data.cards import seat_files, sentence_sets, word_files
from unmask.data.controls import CONTROLS
from unmask.data.wordsets import groups, stimuli
from unmask.measures import MEASURES, Measure, find, table
from unmask.models.names import ENTRY_POINTS, KNOWN
from unmask.reports.cite import bibtex
from unmask.support.registry import Registry
from unmask.types import Stimuli


def measures(console: Console, name: str | None, by_lab: bool = False) -> None:
    """Print all measures, optionally the best in the lab first, or the card of one."""
    if name is None:
        rows = list(MEASURES.values())
        if by_lab:
            rows.sort(key=lambda m: rank(m.name))
        print_lines(console, [(m.name, _line(m, by_lab)) for m in rows])
        plugins = [(n, f"from package {table.ENTRY_POINTS.package(n)}") for n in table.ENTRY_POINTS]
        print_lines(console, plugins)
        return
    row = find(name)
    print_lines(console, measure_card(row))
    _print_sources(console, bibtex(row.cite, [row.bibtex] if row.bibtex else []))


def measure_card(row: Measure) -> list[tuple[str, str]]:
    """Return the card of a measure."""
    facts = [
        ("measure", row.name),
        ("question", row.about),
        ("formula", row.formula),
        ("ideal", f"{_ideal(row):g}"),
        ("criticism", row.criticism),
        ("models", ", ".join(row.kinds)),
        ("data", ", ".join(row.shapes)),
    ]
    facts += [("deviation", row.deviation)] if row.deviation else []
    return facts + [(f"in the lab, {k}", str(s)) for k, s in _lab(row).items()]


def _lab(row: Measure) -> dict[str, LabStatus]:
    """The lab status by kind of model, and that of the mean margin where it differs."""
    statuses = by_kind(row.name)
    margins = by_kind(f"{row.name} ({MARGIN})")
    differing = {f"{k}, {MARGIN}": s for k, s in margins.items() if s != statuses.get(k)}
    return statuses | differing


def _ideal(row: Measure) -> float:
    """What a model without the bias scores, as reports write it."""
    neutral = SCALES[row.compared].neutral
    return row.ideal if math.isnan(neutral) else neutral


def _line(row: Measure, by_lab: bool) -> str:
    """Return a measure's description, optionally after its lab status."""
    about = row.deviation or row.about
    statuses = [f"{s.word} ({kind})" for kind, s in _lab(row).items()]
    return f"{', '.join(statuses) or UNTESTED}. {about}" if by_lab else about


def _print_sources(console: Console, text: str) -> None:
    console.print("\n" + text, markup=False, highlight=False, soft_wrap=True)


def data_sets(console: Console, name: str | None) -> None:
    """All data sets, or the card of one."""
    if name is not None:
        _data_card(console, name)
        return
    print_lines(console, [(c.name, f"{c.about} ({c.licence})") for c in sentence_sets().values()])
    console.print("\nWord tests:", style="bold")
    print_lines(console, [(s.name, _sides(s)) for s in stimuli().values()])
    console.print("\nWord tests and sets from files:", style="bold")
    print_lines(console, [(c.name, f"{c.about} ({c.licence})") for c in word_files().values()])
    console.print("\nGroups of word tests:", style="bold")
    print_lines(console, [(g, ", ".join(names)) for g, names in groups().items()])
    console.print("\nControls, as in crows-pairs:shuffled:", style="bold")
    print_lines(console, [(c, summary(CONTROLS[c])) for c in CONTROLS])
    console.print("\nSentence files of SEAT:", style="bold")
    print_lines(console, [("seat", ", ".join(seat_files()))])
    plugins = [
        (n, f"from package {catalogue.ENTRY_POINTS.package(n)}") for n in catalogue.ENTRY_POINTS
    ]
    print_lines(console, plugins)


def _data_card(console: Console, name: str) -> None:
    if name in stimuli():
        _stimuli_card(console, stimuli()[name])
        return
    if name in groups():
        print_lines(console, [("group", name), ("word tests", ", ".join(groups()[name]))])
        return
    if name in catalogue.ENTRY_POINTS:
        about = ("package", str(catalogue.ENTRY_POINTS.package(name)))
        print_lines(console, [("data set", name), about])
        return
    base, _, control = name.partition(":")
    card = catalogue.card(base)
    facts = [("data set", name), ("about", card.about), ("licence", card.licence)]
    facts += [("control", summary(CONTROLS[control]))] if control else []
    facts += [("source", card.url)] if card.url else []
    facts += [("known defects", card.defects)] if card.defects else []
    print_lines(console, facts)
    _print_sources(console, bibtex(card.cite))


def summary(row: Any) -> str:
    """Return the first line of an object's docstring."""
    return str(row.__doc__).strip().split("\n")[0]


def _sides(test: Stimuli) -> str:
    targets, attributes = (" / ".join(s) for s in (test.targets, test.attributes))
    return f"{targets} by {attributes} ({test.source})"


def _stimuli_card(console: Console, test: Stimuli) -> None:
    facts = [("word test", test.name)]
    facts += [(label, ", ".join(words)) for label, words in test.sets.items()]
    facts += [(k, str(test.meta[k])) for k in ("note", "defects", "published") if k in test.meta]
    print_lines(console, facts)
    _print_sources(console, bibtex([test.source]))


def models(console: Console, name: str | None) -> None:
    """Models known by name; any other name is looked for on the hub."""
    plugins = {n: f"from package {ENTRY_POINTS.package(n)}" for n in ENTRY_POINTS}
    registry = Registry("model", {**KNOWN, **plugins}.items())
    print_lines(console, list(registry.items()) if name is None else [(name, registry[name])])
    if name is None:
        console.print("Other names are folders, GGUF files or models on the hub.", style="dim")


VIEWS: Mapping[str, Callable[..., None]] = Registry(
    "list", [("measures", measures), ("data", data_sets), ("models", models)]
)

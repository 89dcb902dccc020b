"""One page for any results: a single HTML file that needs no network and no other file."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from unmask.answer import lab_status
from unmask.answer.answer import Answer, answers
from unmask.answer.scales import SCALES
from unmask.errors import UnmaskError
from unmask.reports import result_sentences
from unmask.reports.columns import RUN, Cell, Column, laid_out, plain, table
from unmask.reports.figures import drawing, result_figures
from unmask.reports.files import make_folder, put
from unmask.reports.html import answer_section
from unmask.reports.html.answer_section import AnswerSection
from unmask.reports.html.explorer import explored
from unmask.reports.results import about_run, gather
from unmask.reports.templating import rendered
from unmask.support.printable import visible
from unmask.types import Result

PAGE = "report.html"
NAMED = 4  # data sets that the line under the title names
BACKGROUND = r'<rect width="[\d.]+" height="[\d.]+" fill="white"\s*(?:/>|></rect>)'


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table as the page shows it."""

    title: str
    heads: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Page:
    """What the template shows, in order; an empty part is left out."""

    title: str
    subtitle: str
    openings: Sequence[AnswerSection] = ()
    rest: Sequence[PageTable | None] = ()
    differences: Sequence[str] = ()
    claims: Sequence[PageTable] = ()
    bias_types: Sequence[Mapping[str, Any]] = ()
    evidence: Sequence[PageTable] = ()
    further: Sequence[PageTable] = ()
    cards: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()
    tables: Sequence[PageTable] = ()
    figures: Sequence[Mapping[str, Any]] = ()
    explorer: str = ""
    may: Sequence[str] = result_sentences.MAY
    measures: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()
    origins: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()
    parts: Sequence[tuple[str, str]] = field(init=False)
    contents: Sequence[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        sections = (
            ("answer", "Answer", self.openings or self.differences or self.claims),
            ("evidence", "Evidence", self.evidence),
            ("items-behind", "Items", self.explorer),
            ("numbers", "Numbers", self.tables),
            ("figures", "Figures", self.figures),
            ("found", "Measure by measure", self.cards),
            ("read", "How to read this", True),
        )
        object.__setattr__(self, "parts", [(i, name) for i, name, present in sections if present])
        listed = (
            *((f"table-{k}", t.title.partition(". ")[0]) for k, t in enumerate(self.tables)),
            *((f"figure-{k}", str(f["title"])) for k, f in enumerate(self.figures)),
            *((f"result-{k}", str(c["title"])) for k, c in enumerate(self.cards)),
        )
        object.__setattr__(self, "contents", [(i, name) for i, name in listed if name])


# By the heading of a scale: the title of its tables.
TABLES = {
    "factor": "factors (times as likely)",
    "score": "scores",
    "odds": "odds ratios",
    "d": "effect sizes",
    "d_z": "paired differences",
    "value": "indices, each on its own scale",
}


def numbers(
    frame: pd.DataFrame, columns: Sequence[Column] | None = None, title: str = ""
) -> PageTable:
    """A frame as a table of the page."""
    heads, rows = laid_out(frame, plain(frame) if columns is None else columns)
    return PageTable(title, heads, rows)


def figure_data(figure: drawing.Figure) -> dict[str, Any]:
    """A figure as the page shows it: its SVG inline, and its numbers."""
    note = figure.note
    try:
        svg = drawing.drawn(figure, "svg").decode()
    except UnmaskError as error:  # the numbers are below: the page is written without it
        svg, note = "<svg></svg>", str(error)
    return {
        "title": figure.title,
        "svg": themed(svg[svg.index("<svg") :]),
        "note": note,
        "table": numbers(figure.numbers) if len(figure.numbers) else None,
    }


def themed(svg: str) -> str:
    """A figure that takes its ink and its colours from the page, light or dark."""
    svg = re.sub(BACKGROUND, "", svg, count=1)
    svg = svg.replace(f'"{drawing.INK}"', '"currentColor"')
    for place, colour in enumerate(drawing.PALETTE):
        svg = svg.replace(f'"{colour}"', f'"var(--c{place}, {colour})"')
    return svg


def page(
    results: Sequence[Result],
    title: str = "",
    extra: Sequence[drawing.Figure] = (),
    scale: str | None = None,
    differences: Sequence[str] = (),
    answer: Sequence[Answer] | None = None,
) -> Page:
    """Build the page of some results, with `extra` figures before their own; tables on a `scale`.

    `differences` are sentences on how several models differ, which come first. `answer` avoids
    recomputing the results' answer.
    """
    all_answers = answers(results) if answer is None else answer
    certain = [a for a in all_answers if a.shows_bias]
    opened = answer_section.openings(all_answers)
    single = len(opened) == 1
    frame = table(results, by_category=True, scale=scale)
    heads = frame.compared.map(lambda c: TABLES[SCALES[c].head])
    names = list(dict.fromkeys(r.measure for r in results))
    return Page(
        title=title or result_sentences.titles(results),
        subtitle=_about(results),
        openings=opened,
        differences=differences,
        rest=[
            numbers(o.rest, answer_section.REST, "Negligible or inconclusive")
            if len(o.rest)
            else None
            for o in opened
        ],
        bias_types=[
            figure_data(f)
            for f in (*extra, *(() if single else answer_section.figures(all_answers)))
        ],
        evidence=_evidence(certain or all_answers),
        further=_evidence([a for a in all_answers if a not in certain]) if certain else (),
        cards=[_card(r, title) for r, title in zip(results, headings(results), strict=True)],
        notes=getattr(results, "notes", ()),
        tables=[
            numbers(part, RUN, f"{model}: {head}")
            for (model, head), part in frame.groupby(["model", heads], sort=False)
        ],
        figures=[figure_data(f) for f in result_figures.all_figures(results)],
        explorer=script(explored(results, _places(certain))),
        measures=[(name, facts) for name in names if (facts := _facts(name, results))],
        origins=_origins(results),
    )


def _about(results: Sequence[Result]) -> str:
    """The models, the data and the version, in a line."""
    first = results[0].provenance.get("model") or {}
    parts = []
    if len({r.model for r in results}) == 1 and first.get("kind"):
        count = first.get("parameters")
        size = f", {count / 1e6:,.3g} million parameters" if isinstance(count, int) else ""
        parts.append(f"{first['kind']} model{size}")
    names = list(dict.fromkeys(r.data for r in results))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED + 1 else ""
    parts.append(", ".join(names[:NAMED] if more else names) + more)
    facts = about_run()
    return "; ".join(
        [*parts, f"generated on {str(facts['date'])[:10]}", f"unmask {facts['unmask']}"]
    )


def _places(findings: Sequence[Answer]) -> list[tuple[str, str]]:
    """The data set and category of each finding about a bias type."""
    return [(a.main.result.data, a.main.category) for a in findings if a.main.category]


def _evidence(selection: Sequence[Answer]) -> list[PageTable]:
    """The evidence of each model."""
    frame = answer_section.evidence(selection)
    if frame.empty:
        return []
    several = frame.model.nunique() > 1
    return [
        numbers(part, answer_section.EVIDENCE, f"{model}: evidence" if several else "Evidence")
        for model, part in frame.groupby("model", sort=False)
    ]


def _facts(name: str, results: Sequence[Result]) -> list[tuple[str, str]]:
    """The card of a measure, with its lab status for these models."""
    facts = result_sentences.card(name)
    lab = dict.fromkeys(str(lab_status.of_result(r)) for r in results if r.measure == name)
    return [*facts, ("In the lab", "; ".join(lab))] if facts else []


def headings(results: Sequence[Result]) -> list[str]:
    """Return a unique heading for each result, with the model and the design choices.

    Only those choices and tags are named in which results of the same title and model differ.
    """
    several = len({r.model for r in results}) > 1
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for r in results:
        groups.setdefault((r.title, r.model), []).append(_choices_of(r))
    captions = []
    for r in results:
        same_title, options = groups[r.title, r.model], _choices_of(r)
        choices = [v for k, v in options.items() if any(o.get(k) != v for o in same_title)]
        captions.append(", ".join([r.title, *([r.model] if several else []), *choices]))
    return captions


def _choices_of(result: Result) -> dict[str, str]:
    """Return the design choices and tags of a result, in words."""
    spec, fields = result.spec, ("model", "measure", "data")
    tags = {k: str(v) for k, v in spec.tags.items() if k not in fields}
    named = {k: getattr(spec, k) for k in ("pool", "layer", "contexts", "samples")}
    return tags | {k: f"{k} {v}" for k, v in named.items() if v is not None}


def _card(result: Result, title: str) -> dict[str, Any]:
    unit, estimate = SCALES[result.compared], result.overall
    finite = not math.isnan(estimate.low)
    span = f"[{unit.text(estimate.low)}, {unit.text(estimate.high)}]" if finite else ""
    return {
        "title": title,
        "value": unit.text(estimate.value),
        "interval": span,
        "verdict": result_sentences.heading(result),
        "sentences": result_sentences.sentences(result),
        "notes": result.notes,
    }


def script(value: Any) -> str:
    """JSON for a script element: no text in it can end the element early."""
    if not value:
        return ""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _origins(results: Sequence[Result]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return models, data and settings as pairs, as needed to repeat the run."""
    origins: dict[str, list[tuple[str, str]]] = {}
    for result in results:
        for kind, name in (("model", result.model), ("data", result.data)):
            facts = result.provenance.get(kind) or {}
            origins.setdefault(
                f"{kind} {name}", [(str(k), visible(str(v))) for k, v in facts.items()]
            )
        settings = [(str(k), visible(str(v))) for k, v in result.settings.items() if k != "effects"]
        origins.setdefault(f"settings of {result.title}, {result.model}", settings)
    return list(origins.items())


def report(results: Any, path: Path | str, title: str = "") -> Path:
    """Write the page of results, of folders, or of several; `path` is a file or a folder."""
    everything = gather(results)
    if not everything:
        raise UnmaskError("there are no results to show; give what 'run' or 'load' returned.")
    if not isinstance(path, str | Path):
        raise UnmaskError(f"the page cannot be written to {path!r:.40}; give a path.")
    target = Path(path)
    if target.suffix not in (".html", ".htm"):
        target = target / PAGE
    make_folder(target.parent)
    write(page(everything, title), target)
    return target


def write(content: Page, path: Path) -> None:
    """The page as a file, whole or not at all."""
    put(path, rendered("report.html.jinja", page=content))

"""Keep the results of a grid: a data file and figures for the docs, the assessments in the package.

    unmask validate -o FOLDER && python tools/lab.py [FOLDER [BUNDLED [DEEP]]]
    unmask validate -x NEW -o FOLDER && python tools/lab.py --add FOLDER...

Without a FOLDER the stored readings are read again. --add adds the readings of measures that were
not stored before, from models retrained on the same worlds. BUNDLED is a folder of the tier of that
name, DEEP one of deeper causal models; without them their stored readings stay. Writes
docs/data/lab*.parquet, docs/images/lab-*.svg, docs/lab-results.md and the package's
data/published/lab.json, which `unmask list measures NAME` shows.
"""

import json
import sys
import textwrap
from pathlib import Path

import pandas as pd

from unmask.lab import measure_quality, report
from unmask.reports.figures.drawing import drawn

ROOT = Path(__file__).parents[1]
KEPT, FURTHER, DEEP, CHOSEN, FORMER = (
    ROOT / "docs" / "data" / f"lab{name}.parquet"
    for name in ("", "-bundled", "-deep", "-candidates", "-former")
)
PRINTED = (
    "measure",
    "verdict",
    "missed",
    "slope",
    "smallest",
    "alarms",
    "shift",
    "shift, 90 %",
    "kept",
    "control",
)


def main(folder: Path | None = None, bundled: Path | None = None, deep: Path | None = None) -> None:
    """Read the grid's models and write all that is kept of them."""
    for given, path in ((folder, KEPT), (bundled, FURTHER), (deep, DEEP)):
        if given is not None:
            frame = pd.read_csv(given / "models.csv", keep_default_na=False, na_values=[""])
            keep(frame.assign(choice=frame.choice.fillna("")), path)
    kept = pd.read_parquet(KEPT)
    found = {r: measure_quality.read(kept, r) for r in measure_quality.measures_under_test(kept)}
    tier = pd.read_parquet(FURTHER)
    larger = {r: measure_quality.read(tier, r) for r in measure_quality.measures_under_test(tier)}
    verdicts_of = measure_quality.assessments(found, larger)
    target = ROOT / "src" / "unmask" / "data" / "published" / "lab.json"
    target.write_text(json.dumps(report.packaged(verdicts_of), indent=1) + "\n")
    for figure in report.figures(kept):
        (ROOT / "docs" / "images" / f"lab-{figure.name}.svg").write_bytes(drawn(figure))
    (ROOT / "docs" / "lab-results.md").write_text(page(kept, found, verdicts_of))


def add(*folders: Path) -> None:
    """Keep the readings of new measures on the worlds of the grid, beside those of the others."""
    kept = pd.read_parquet(KEPT)
    names = kept.select_dtypes("category").columns
    kept = kept.astype(dict.fromkeys(names, "object"))
    parts = [pd.read_csv(f / "models.csv", keep_default_na=False, na_values=[""]) for f in folders]
    new = pd.concat(parts).assign(choice=lambda f: f.choice.fillna(""))
    known = set(zip(kept.kind, kept.measure, strict=True))
    fresh = [k not in known for k in zip(new.kind, new.measure, strict=True)]
    keep(pd.concat([kept, new[fresh][list(kept.columns)]], ignore_index=True), KEPT)
    main()


def keep(frame: pd.DataFrame, path: Path) -> None:
    """The readings in single precision: a tenth of the size of the table in text."""
    path.parent.mkdir(exist_ok=True)
    floats = frame.select_dtypes("float64").columns
    names = frame.select_dtypes(["object", "str"]).columns
    small = frame.astype({**dict.fromkeys(floats, "float32"), **dict.fromkeys(names, "category")})
    small.to_parquet(path, compression="zstd", index=False)


def page(kept: pd.DataFrame, found, verdicts_of) -> str:
    """The results in Markdown."""
    worlds = kept.groupby("kind")[["theta", "rho", "seed"]].apply(
        lambda f: len(f.drop_duplicates())
    )
    lines = [
        "# What the lab found",
        "",
        f"The standard grid: {', '.join(f'{n} {k} models' for k, n in worlds.items())}, run",
        "with the defaults of `unmask validate` in 21 minutes on one H200 with 16 CPU cores. Every",
        "reading of every model is in [lab.parquet](data/lab.parquet); `python tools/lab.py "
        "FOLDER`",
        "writes it and this page. [How to read it](lab.md), with the rules of the verdict. `crr`,",
        "`delta-p`, `lmb`, `ripa`, `gweat` and `weat@wefe` were scored later, on models retrained",
        "with the same seeds.",
        "",
        *(
            f"- {said}"
            for said in [*report.sentences_of(verdicts_of), *report.claim(found), report.LIMITS]
        ),
        "",
    ]
    table = report.verdicts(found, verdicts_of)
    for kind in ("masked", "causal"):
        part = table[(table.models == kind) & table["items"].isin(measure_quality.MAIN)]
        lines += [f"## {kind.capitalize()} models", "", _markdown(part[list(PRINTED)]), ""]
        for name in ("balanced", "unbalanced"):
            file = f"images/lab-theta-{kind}-{name}.svg"
            lines += [f"![Score against learned theta, {kind} models, {name} items]({file})", ""]
    lines += [
        "## Design choices",
        "",
        "The same measures with names or terms for the groups, other poolings and contexts.",
        "",
    ]
    varied = table["items"].isin(
        ("words-names", "words-terms", "templates-names", "templates-terms")
    )
    plain = ~table.measure.str.contains("@")
    columns = ["models", "measure", "items", "verdict", "slope", "words", "smallest", "control"]
    lines += [_markdown(table[varied & plain][columns]), ""]
    lines += cost_and_robustness(table) + curves(found) + recovery(kept) + candidates()
    lines += deeper() + again(verdicts_of) + further(pd.read_parquet(FURTHER))
    ranked = report.ranks(kept).round({"smallest": 2})
    ranked["smallest"] = ranked.smallest.map(lambda v: "" if pd.isna(v) else v)
    lines += [
        "## Ranks",
        "",
        "Ranked in every resample of the seeds by the smallest learned theta that differs",
        "significantly from 0. Blank: no theta in the grid does. The tables above also omit it if",
        "one resample in twenty has none.",
        "",
    ]
    return "\n".join([*lines, _markdown(ranked), ""])


def cost_and_robustness(table: pd.DataFrame) -> list[str]:
    """What a measure asks of a model, and what it keeps where a group is rare."""
    part = table[table["items"].isin(measure_quality.MAIN[:4]) & (table.rows > 0)]
    part = part[~part.measure.str.contains("@")]
    columns = ["models", "measure", "rows", "smallest", "kept", "shift, 90 %", "verdict"]
    part = part.sort_values(["models", "rows"], ascending=[False, True], kind="stable")
    return section(
        "Cost and robustness",
        "Rows that a likelihood measure sends through a model for one world, and the share of "
        "its slope that it keeps if a group is 16 times as rare.",
        part[columns],
    )


def curves(found) -> list[str]:
    """Score less its ideal by planted theta."""
    rows = []
    for subject, readings in found.items():
        if (
            subject.data in measure_quality.MAIN
            and "@" not in subject.measure
            and not subject.choice
        ):
            at = {k: report.formatted(e) for k, e in readings.items() if k.startswith("at ")}
            rows.append({"models": subject.kind, "measure": subject.name, **at})
    return section(
        "The curve",
        "Score minus its ideal, by planted theta, for equally frequent groups. Shares and effect "
        "sizes level off because they are bounded; `odds` does not.",
        pd.DataFrame(rows).fillna(""),
    )


def recovery(kept: pd.DataFrame) -> list[str]:
    """Does `odds` recover what a model has learned, and how often does its interval hold it?"""
    own = kept[(kept.measure == "odds") & ~kept.data.str.endswith("control")]
    rows = []
    for (kind, data, rho), part in own.groupby(["kind", "data", "rho"], observed=True):
        error = (part.score - part.learned).groupby(part.theta).mean()
        held = ((part.low <= part.learned) & (part.high >= part.learned)).mean()
        bias = {f"bias at {t:g}": f"{float(e):.2f}" for t, e in error.items()}
        facts = {"models": kind, "items": data, "rho": f"{rho:g}", **bias}
        rows.append({**facts, "coverage": f"{held:.2f}", "n": len(part)})
    return section(
        "What odds recovers",
        "`odds` minus the learned log odds ratio (from separate templates, over names and terms), "
        "by planted theta, and how often the interval covers it. With terms, the check uses the "
        "same words, so an interval over words is wider than necessary. With names, `odds` is up "
        "to a sixth too low for a rare group and a strong bias.",
        pd.DataFrame(rows),
    )


def candidates() -> list[str]:
    """The candidates for `pmi`, and what decided between them."""
    kept = pd.read_parquet(CHOSEN)
    asked = kept.groupby("measure", observed=True).asked.first()
    rows = []
    for subject in measure_quality.measures_under_test(kept):
        readings = measure_quality.read(kept, subject)
        names = ("slope", "shift", "shift, 90 %", "kept")
        shown = {k: report.formatted(readings.get(k)) for k in names}
        rows.append({"measure": subject.name, **shown, "rows": int(asked[subject.measure])})
    return section(
        "How pmi was chosen",
        "Six candidates and `joint`, for comparison, were fixed in advance and run on 32 masked "
        "models from 8 separate seeds. M are the words that differ, U those that are shared. "
        "`pmi-all`: log p(M | U) "
        "minus log p(M) with all of U hidden. `pmi-content`: the same with only U's content "
        "words hidden. `pmi-halves`: with two random halves of U hidden in turn. `cps-"
        "halves`: log p of U, a random half hidden at a time. `cps-content`: log p of U's "
        "content words, hidden at once: **chosen, and now called `pmi`**, because it shifts "
        "least among those that need few rows. `cps-content-each`: the same, one at a time. "
        "`joint`: log p(M | U), piece by piece.",
        pd.DataFrame(rows),
    )


def deeper() -> list[str]:
    """Association measures on causal models of more layers."""
    kept = pd.read_parquet(DEEP)
    rows = []
    for layers, part in kept.groupby("layers"):
        found = {
            r: measure_quality.read(part, r) for r in measure_quality.measures_under_test(part)
        }
        rows += [
            {
                "layers": layers,
                "measure": r.name,
                **{k: report.formatted(f.get(k)) for k in ("slope", "at 2", "control")},
            }
            for r, f in found.items()
            if r.data == "words-names"
        ]
    models = len(kept[["theta", "rho", "seed"]].drop_duplicates())
    return section(
        "Deeper causal models",
        f"{models} causal models of four layers, and as many of six. The control is flowers "
        "with pleasant words, a log odds ratio of 2 that likelihood measures find in most of "
        "them. Association measures find neither it nor the planted bias, in the first, the "
        "middle and the last layer, with four poolings. The likely reason: a causal "
        "network represents a word to predict the next one, so words with similar continuations "
        "are similar, not words that occur together. These measures are untestable on causal "
        "models of this size; larger models may differ.",
        pd.DataFrame(rows),
    )


def again(verdicts_of) -> list[str]:
    """The verdicts of the former grid, by the same rules, beside the present ones."""
    former = pd.read_parquet(FORMER)
    before = measure_quality.assessments(
        {r: measure_quality.read(former, r) for r in measure_quality.measures_under_test(former)}
    )
    both = [r for r in verdicts_of if r in before and r.data in measure_quality.MAIN]
    rows = [
        {"models": r.kind, "measure": r.name, "then": before[r].word, "now": verdicts_of[r].word}
        for r in both
        if before[r].word != verdicts_of[r].word
    ]
    same = len(both) - len(rows)
    return section(
        "The former grid",
        f"Eight other seeds, the same rules. {same} of {len(both)} measures have the same verdict. "
        "The others:",
        pd.DataFrame(rows, columns=["models", "measure", "then", "now"]),
    )


def further(kept: pd.DataFrame) -> list[str]:
    """The bundled model trained further: do the measures read a network that knew English?"""
    found = {
        r: measure_quality.read(kept, r)
        for r in measure_quality.measures_under_test(kept)
        if r.data in measure_quality.MAIN
    }
    table = report.verdicts(found, {r: measure_quality.assess(f) for r, f in found.items()})
    columns = ["measure", "slope", "words", "right", "control", "shift", "shift, 90 %", "kept"]
    seeds = kept.seed.nunique()
    models = len(kept[["theta", "rho", "seed"]].drop_duplicates())
    return [
        "## The bundled model, trained further",
        "",
        f"{models} models with 11 million weights, trained on English and then on a",
        "world's text ([how](lab.md)). English meanings do not matter: words are assigned to "
        "groups",
        f"at random. With {seeds} seeds and no additional null worlds, these are readings, not",
        "verdicts. Every reading is in [lab-bundled.parquet](data/lab-bundled.parquet).",
        "",
        "In half of the rows a whole word was hidden. With single tokens hidden, `odds` missed the",
        "control: networks that never saw two adjacent masks gave -0.69 for a planted 2",
        "on average (32 models), because most names of flowers and insects have two",
        f"pieces. The present models read {_control(kept):.2f}.",
        "",
        _markdown(table[columns]),
        "",
    ]


def _control(kept: pd.DataFrame) -> float:
    """What `odds` reads of the control, a log odds ratio of 2, on average."""
    own = (kept.measure == "odds") & (kept.data == "templates-control")
    return float(kept.score[own].mean())


def section(title: str, text: str, frame: pd.DataFrame) -> list[str]:
    """A part of the page: its title, what it says, a table."""
    return [
        f"## {title}",
        "",
        *textwrap.wrap(text, 100, break_on_hyphens=False),
        "",
        _markdown(frame),
        "",
    ]


def _markdown(frame: pd.DataFrame) -> str:
    head = f"| {' | '.join(map(str, frame.columns))} |"
    rule = f"|{'---|' * len(frame.columns)}"
    body = [f"| {' | '.join(map(str, row))} |" for row in frame.itertuples(index=False)]
    return "\n".join([head, rule, *body])


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["--add"]:
        add(*map(Path, given[1:]))
    else:
        main(*map(Path, given[:3]))

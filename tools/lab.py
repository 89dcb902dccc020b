"""Keep the results of a grid: a data file and figures for the docs, the standings in the package.

    unmask validate -o FOLDER && python tools/lab.py [FOLDER [BUNDLED]]

Without a FOLDER what was kept is read anew. BUNDLED is a folder of the tier of that name; without
it what was kept of one stays. Writes docs/data/lab*.parquet, docs/images/lab-*.svg,
docs/lab-results.md and the package's data/published/lab.json, which `unmask list measures NAME`
shows.
"""

import json
import sys
from pathlib import Path

import pandas as pd

from unmask.lab import measure_quality, report
from unmask.reports.figures.drawing import drawn

ROOT = Path(__file__).parents[1]
KEPT, FURTHER = (ROOT / "docs" / "data" / name for name in ("lab.parquet", "lab-bundled.parquet"))
PRINTED = (
    "ruler",
    "verdict",
    "missed",
    "slope",
    "smallest",
    "alarms",
    "shift",
    "shift, 90 %",
    "kept",
)


def main(folder: Path | None = None, bundled: Path | None = None) -> None:
    """Read the grid's models and write all that is kept of them."""
    for given, path in ((folder, KEPT), (bundled, FURTHER)):
        if given is not None:
            frame = pd.read_csv(given / "models.csv", keep_default_na=False, na_values=[""])
            keep(frame.assign(choice=frame.choice.fillna("")), path)
    kept = pd.read_parquet(KEPT)
    found = {r: measure_quality.read(kept, r) for r in measure_quality.rulers(kept)}
    verdicts_of = measure_quality.standings(found)
    target = ROOT / "src" / "unmask" / "data" / "published" / "lab.json"
    target.write_text(json.dumps(report.packaged(verdicts_of), indent=1) + "\n")
    for figure in report.figures(kept):
        (ROOT / "docs" / "images" / f"lab-{figure.name}.svg").write_bytes(drawn(figure))
    (ROOT / "docs" / "lab-results.md").write_text(page(kept, found, verdicts_of))


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
        f"The standard grid: {', '.join(f'{n} {k} models' for k, n in worlds.items())}. With the",
        "settings of `unmask validate`, in 12 minutes on one H200 with 16 CPU cores. Every reading",
        "of every model is in [lab.parquet](data/lab.parquet); `python tools/lab.py FOLDER` makes",
        "it and this page. [How to read it](lab.md), with the rules of the verdict.",
        "",
        *(f"- {said}" for said in [*report.said(verdicts_of), *report.claim(found), report.LIMITS]),
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
    plain = ~table.ruler.str.contains("@")
    columns = ["models", "ruler", "items", "verdict", "slope", "words", "smallest", "control"]
    lines += [_markdown(table[varied & plain][columns]), ""]
    lines += further(pd.read_parquet(FURTHER))
    ranked = report.ranks(kept).round({"slope over noise": 2})
    lines += [
        "## Ranks",
        "",
        "By slope over noise, ranked anew in every resample of the seeds.",
        "",
    ]
    return "\n".join([*lines, _markdown(ranked), ""])


def further(kept: pd.DataFrame) -> list[str]:
    """The bundled model trained further: do the rulers read a network that knew English?"""
    found = {
        r: measure_quality.read(kept, r)
        for r in measure_quality.rulers(kept)
        if r.data in measure_quality.MAIN
    }
    table = report.verdicts(found, {r: measure_quality.standing(f) for r, f in found.items()})
    columns = ["ruler", "slope", "words", "right", "shift", "shift, 90 %"]
    seeds = kept.seed.nunique()
    models = len(kept[["theta", "rho", "seed"]].drop_duplicates())
    return [
        "## The bundled model, trained further",
        "",
        f"{models} models of 11 million weights that were trained on English, and then on a",
        "world's text ([how](lab.md)). What the words mean in English does not count: their",
        f"sides are drawn at random. {seeds} seeds are too few for verdicts. Every reading is in",
        "[lab-bundled.parquet](data/lab-bundled.parquet).",
        "",
        _markdown(table[columns]),
        "",
    ]


def _markdown(frame: pd.DataFrame) -> str:
    head = f"| {' | '.join(map(str, frame.columns))} |"
    rule = f"|{'---|' * len(frame.columns)}"
    body = [f"| {' | '.join(map(str, row))} |" for row in frame.itertuples(index=False)]
    return "\n".join([head, rule, *body])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))

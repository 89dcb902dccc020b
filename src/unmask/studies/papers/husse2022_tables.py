"""Mind Your Bias (Husse and Spitz 2022): its tables, from results that are there already."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unmask.answer.scales import scale_of
from unmask.data.packaged import published
from unmask.data.wordsets import matching, stimuli
from unmask.options import Resampling
from unmask.reports.html.study_page import Table
from unmask.stats import log_odds
from unmask.stats.agreement import correlation
from unmask.stats.permutation import permutation
from unmask.studies.papers.paper_table import PaperTable, frame, row, signed
from unmask.types import Estimate, Result

TESTS = ("C1", "C3", "C6", "C9", "Dis", "Occ", "I1", "I2")
# The paper's main table takes names where a test has them, terms for diseases and disability.
NAMED = {t: "terms" if t in ("C9", "Dis") else "names" for t in TESTS}
MAIN = {t: matching(concept=t, named=n, size="full", edition="")[0].name for t, n in NAMED.items()}
COLUMNS = {"elmo": "ELMo", "bert": "BERT", "gpt2": "GPT-2", "opt": "OPT", "bloom": "BLOOM"}
HUB = {
    "bert-base-cased": "bert",
    "gpt2": "gpt2",
    "facebook/opt-125m": "opt",
    "bigscience/bloom-560m": "bloom",
}
LPBS_MODEL = "bert-base-uncased"  # the model of the paper's LPBS scores
SIGNIFICANT = 0.01  # what is bold in the paper
CONTEXTS = {"reddit": "natural"}  # of the paper, and what replaces them here
# Words of the printed tables, and ours: their 'ours' is a replication, this run is another.
CHOICES = {**CONTEXTS, "orig": "original", "ours": "replication"}
METHODS = {
    "s-SEAT": ("SEAT", "sent"),
    "w-SEAT": ("SEAT", "word-average"),
    "CEAT": ("CEAT", "word-average"),
    "LPBS": ("LPBS", "full"),
}
OF_SOURCE = {"may2019": "s-SEAT", "tan2019": "w-SEAT", "guo2021": "CEAT", "kurita2019": "LPBS"}
TICK, NO_NUMBER = "\u2713", "n/a"
SIZES = ("simplified", "reduced", "full")
SHRINKS = (
    "Our intervals are over words, and more samples do not narrow them: for SEAT over the "
    "target words, for CEAT over target and attribute words, so CEAT's are wider. The "
    "paper's p for CEAT tests a mean over samples, so it shrinks as the number of samples grows."
)
NATURAL = (
    "In the paper, CEAT uses Reddit comments. Our CEAT column is empty unless natural contexts are "
    "given (--contexts). CEAT on templates is in Table 12, word-average."
)
STAR = (
    "Values as printed. A star marks the paper's bold type (p < 0.01), taken from the release's p, "
    "or for the original C1 and C6 from section 4.1. In the "
    "columns of this run a star is p < 0.01 by the paper's test (SEAT: one-sided, over sentences) "
    "and a dagger by ours (two-sided; SEAT over target words, CEAT over those of all four sets)."
)
PAPER_SPLITS = 10_000  # enough to tell p from 0.01
ORIG = "Published for bert-base-uncased. 'original' is what Kurita et al. report."
# The tags by which the tables read results: `level` holds the sets for LPBS.
KEY = ("model", "method", "test", "level", "context")
Results = Mapping[tuple[Any, ...], Result]


class PrintedCell(NamedTuple):
    """A place of a table: what it is about, the paper's number, and where ours is found.

    `bold` says whether it is significant there; bold is lost in the text of the paper and taken
    from the p of the release, whose number is in `release` where it differs from the printed one.
    Where print has 'n/a' there is no number, and nothing bold.
    """

    keys: dict[str, str]
    model: str
    printed: float | None
    bold: bool | None
    release: float | None
    key: tuple[str, ...]


class HusseRun(NamedTuple):
    """The models of this run with their kinds, its results, and whether they are comparable."""

    kinds: Mapping[str, str]
    results: Results
    comparable: bool
    tested: Mapping[tuple[Any, ...], float | None]  # p by the paper's own tests

    def overall(self, *key: str) -> Estimate | None:
        """The estimate under a key, if there is one."""
        result = self.results.get(key)
        return result.overall if result else None


def column(model: str, kind: str, method: str) -> str | None:
    """The paper's column that a model belongs beside, if it is the paper's own model."""
    if "LPBS" in method:
        return "bert" if model == LPBS_MODEL else None
    return "elmo" if kind == "elmo" else HUB.get(model)


# ---------------------------------------------------------------- tables without scores


def described(values: Any) -> dict[int, Table]:
    """Tables 1, 2, 9 and 10: word sets, parameters, models and tests of the literature."""
    sizes = []
    for test, (source, concepts, targets, attributes) in values["table1"].items():
        words = stimuli()[MAIN[test]]
        sets = (next(iter(side.values())) for side in (words.targets, words.attributes))
        counts = [sum(words.forms[w] != "plural" for w in group) for group in sets]
        line = {"test": test, "source": source, "concepts": concepts}
        line |= {"published targets": targets, "targets here": counts[0]}
        sizes.append(line | {"published attributes": attributes, "attributes here": counts[1]})
    tests = [
        {"test": t, "source": s, "bias": b, **_ticks(s, n)}
        | {"in the paper": TICK * bool(u), "here": ", ".join(w)}
        for t, s, b, n, u, w in values["table10"]
    ]
    frames = {1: frame(sizes), 10: frame(tests)} | {
        n: pd.DataFrame(values[f"table{n}"]["rows"], columns=values[f"table{n}"]["columns"])
        for n in (2, 9)
    }
    return {
        n: Table(
            f"table{n}", f"Table {n}: {values['titles'][str(n)]}", body, values["notes"][str(n)]
        )
        for n, body in frames.items()
    }


def _ticks(source: str, marks: int) -> dict[str, str]:
    """The methods that used a test: all, its source's own, or with `?` how many of the four."""
    method = OF_SOURCE.get(source) if marks == 1 else None
    all_marks = marks == len(METHODS)
    ticks = {m: TICK * (all_marks or m == method) for m in METHODS}
    if not all_marks and method is None:
        ticks = dict.fromkeys(METHODS, f"? {marks} of 4")
    return ticks


# ---------------------------------------------------------------- tables of scores

# Number: title, note, the keys of a row in print, and the choice that its columns show.
OF_ALL_MODELS = {
    3: (
        "Table 3: replication",
        f"'original' is what the methods' authors report. {NATURAL} {SHRINKS}",
        ("method", "test"),
        "which",
    ),
    11: ("Table 11: names or group terms", NATURAL, ("test", "method"), "targets"),
    12: (
        "Table 12: template or natural sentences",
        "The paper's natural sentences are Reddit comments. This run uses the "
        "given store and its own templates. Natural LPBS takes stored sentences in which a target "
        "and an attribute meet. " + SHRINKS,
        ("test", "method"),
        "context",
    ),
    13: ("Table 13: encoding level", NATURAL, ("test", "method"), "level"),
    4: ("Table 4: LPBS with simplified, reduced and full sets", ORIG, ("test",), "sets"),
    6: ("Table 6: nouns or adjectives as attributes", ORIG, ("test",), "attributes"),
    14: (
        "Table 14: cosine or probability",
        "Published for BERT on Reddit. 'n/a' is as printed: the probabilities are too small to "
        "compute a score. Without --contexts, this run uses templates. "
        f"{SHRINKS}",
        ("test", "method"),
        "sets",
    ),
}


def cells(number: int) -> list[PrintedCell]:
    """The cells of a table of scores, in the order of print."""
    _, _, index, choice = OF_ALL_MODELS[number]
    scores = published("husse2022_printed.csv")
    scores = scores[scores.table == number].astype(object).where(scores.notna(), None)
    return [
        PrintedCell(
            {**{k: r[k] for k in index}, choice: CHOICES.get(r["choice"], r["choice"])},
            r["model"],
            r["printed"],
            None if r["bold"] is None else bool(r["bold"]),
            r["release"],
            tuple(r[f"our_{k}"] for k in KEY[1:]),
        )
        for r in scores.to_dict("records")
    ]


def of_all_models(number: int, run: HusseRun) -> list[Table]:
    """A table of scores: its lines, and the table in the paper's shape."""
    title, note, index, choice = OF_ALL_MODELS[number]
    entries = cells(number)
    # The sentences are not the paper's, so only the table `release` can agree or disagree.
    run = run._replace(comparable=False)
    if number == 14 and not any(key[-1] == "natural" for key in run.results):
        entries = [c._replace(key=(*c.key[:-1], "template")) for c in entries]
    table = _pivot(entries, run, index, choice)
    rows = _lines(entries, run)
    if any(line.get("in the release") is not None for line in rows):
        note += " 'in the release': the value in the release's files, if it differs from the print."
    return PaperTable(f"table{number}", title, rows, note, in_print=table, star=STAR).tables


def _lines(cells: Sequence[PrintedCell], run: HusseRun) -> list[dict[str, Any]]:
    """A line for each printed cell, with the matching model of this run if there is one.

    Models of this run that are not the paper's have their own lines.
    """
    rows = []
    for place in dict.fromkeys(tuple(c.keys.values()) for c in cells):
        matching = [c for c in cells if tuple(c.keys.values()) == place]
        beside = {m: column(m, kind, matching[0].key[0]) for m, kind in run.kinds.items()}
        for c in matching:
            model = next((m for m, label in beside.items() if label == c.model), None)
            rows += _line(c, model, COLUMNS[c.model], run, run.comparable)
        for m, label in beside.items():
            if label is None:
                keys = {k: _of_this_run(v) for k, v in matching[0].keys.items()}
                own_cell = matching[0]._replace(keys=keys, printed=None, bold=None, release=None)
                rows += _line(own_cell, m, m, run, False)
    return rows


def _of_this_run(choice: str) -> str:
    return "this run" if choice == CHOICES["ours"] else choice


def _line(
    cell: PrintedCell, model: str | None, label: str, run: HusseRun, comparable: bool
) -> list[dict[str, Any]]:
    result = run.results.get((model, *cell.key)) if model is not None else None
    if result is None and cell.printed is None:
        return []
    estimate = result.overall if result else None
    keys = {**cell.keys, "model": label}
    line = row(keys, cell.printed, estimate, comparable=comparable)
    bold = {True: "yes", False: "no", None: ""}[cell.bold]
    line |= {"bold there": bold, "in the release": cell.release}
    if result is not None:
        unscored = result.coverage.items - result.coverage.scored
        stated = run.tested[(model, *cell.key)]
        line |= {"p": result.overall.p, "p by the paper's test": stated, "words lost": unscored}
    return [line]


def published_p(result: Result) -> float | None:
    """p by the paper's own test: SEAT one-sided over sentences, LPBS over all scores, CEAT over N.

    Our own p is over words, two-sided.
    """
    overall = result.overall
    if "monte_carlo" in overall.more:
        return float(overall.more["monte_carlo"]["p"])
    resampling = Resampling(splits=PAPER_SPLITS)
    if scale_of(result).templates:
        by_item = log_odds.by_item(result.items)
        sides = result.items.drop_duplicates("item").set_index("item").group
        a, b = (np.array([v for i, v in by_item.items() if sides[i] == k]) for k in ("A", "B"))
        return permutation(a, b, sided="two", resampling=resampling).p
    if "sentences" not in result.artifacts:
        return None
    return permutation(*result.artifacts["sentences"], sided="one", resampling=resampling).p


def _starred(result: Result, stated: float | None) -> str:
    """Our number, with a star by the paper's test (its p is `stated`) and a dagger by ours."""
    marks = ("*", stated), ("\u2020", result.overall.p)
    return f"{result.overall.value:.2f}" + "".join(mark for mark, p in marks if is_sure(p))


def _pivot(
    cells: Sequence[PrintedCell], run: HusseRun, index: Sequence[str], choice: str
) -> pd.DataFrame:
    """The table in the paper's shape, bold as a star, with a column for each model of this run."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for c in cells:
        line = rows.setdefault(tuple(c.keys[k] for k in index), {k: c.keys[k] for k in index})
        absent = c.printed is None and c.bold is not None
        cell = NO_NUMBER if absent else signed(c.printed, c.bold)
        line[f"{COLUMNS[c.model]} {c.keys[choice]}"] = cell
    for c, m in product(cells, run.kinds):
        result = run.results.get((m, *c.key))
        if result is not None:
            line = rows[tuple(c.keys[k] for k in index)]
            head = f"{m} {_of_this_run(c.keys[choice])}"
            line[head] = _starred(result, run.tested[(m, *c.key)])
    table = pd.DataFrame(list(rows.values())).fillna("")
    choices = list(dict.fromkeys(c.keys[choice] for c in cells))
    heads = [f"{name} {c}" for name in COLUMNS.values() for c in choices]
    heads += [f"{name} {_of_this_run(c)}" for name in run.kinds for c in choices]
    return table[[*index, *(h for h in heads if h in table)]]


# ---------------------------------------------------------------- Table 5


def table5(run: HusseRun, values: Any) -> list[Table]:
    """Correlations between methods over tests, all and significant ones."""
    rows, display = [], []
    columns, published = values["table5"]["columns"], values["table5"]
    for pair in (p for p in published if p != "columns"):
        methods = pair.split(" | ")
        stated = dict(zip(columns, published[pair], strict=True))
        numbers: dict[str, Any] = {}
        for m in run.kinds:
            numbers |= _correlated(m, methods, run)
        rows.append({"methods": pair} | {f"published {c}": r for c, r in stated.items()} | numbers)
        none = {c: NO_NUMBER if _has_all(c, methods) else "" for c in columns}
        line = {c: none[c] if r is None else signed(r) for c, r in stated.items()}
        heads = [f"{m} {selection}" for m in run.kinds for selection in ("all", "sig.")]
        display.append({"methods": pair, **line, **{h: signed(numbers.get(h)) for h in heads}})
    note = (
        "At most 8 tests: intervals usually reach from below 0 to near 1. CEAT is on natural "
        "sentences in the paper, and here where a store was given; otherwise on templates. "
        "'sig.': only tests that are significant for both methods by the paper's tests; empty "
        "where too few are."
    )
    star = (
        "n/a: too few tests are significant for both methods. All of ELMo's scores are "
        "significant in the paper, so it has one column. The paper has LPBS for BERT only."
    )
    title, layout = "Table 5: correlations between methods", pd.DataFrame(display)
    return PaperTable("table5", title, rows, note, in_print=layout, star=star).tables


def _has_all(head: str, methods: Sequence[str]) -> bool:
    """Whether a column's model has both methods in the paper."""
    return "LPBS" not in methods or head.startswith(COLUMNS["bert"])


def is_sure(p: float | None) -> bool:
    """Whether a score would be bold in the paper."""
    return p is not None and p < SIGNIFICANT


def main_scores(model: str, results: Results) -> dict[str, dict[str, tuple[Any, ...]]]:
    """The keys of a model's results on the eight main tests, by method and test.

    CEAT is on natural sentences if there are any, otherwise on templates.
    """
    natural = any((k[0], k[1], k[-1]) == (model, "CEAT", "natural") for k in results)
    places = {}
    for name, (method, level) in METHODS.items():
        context = "natural" if natural and method == "CEAT" else "template"
        keys = {test: (model, method, words, level, context) for test, words in MAIN.items()}
        places[name] = {test: key for test, key in keys.items() if key in results}
    return places


def _correlated(model: str, methods: Sequence[str], run: HusseRun) -> dict[str, Any]:
    first, second = (main_scores(model, run.results)[m] for m in methods)
    both = [(first[test], second[test]) for test in first if test in second]
    sure = [pair for pair in both if all(is_sure(run.tested[k]) for k in pair)]
    line: dict[str, Any] = {}
    for label, keys in (("all", both), ("sig.", sure)):
        if len(keys) > 2:
            x, y = (np.array([run.results[pair[k]].overall.value for pair in keys]) for k in (0, 1))
            r = correlation(x, y)
            head = f"{model} {label}"
            line |= {head: r.value, f"{head} low": r.low, f"{head} high": r.high, f"{head} n": r.n}
    return line


# ---------------------------------------------------------------- runtimes, and the release


def runtimes(values: Any, timing: Sequence[Mapping[str, Any]], samples: int) -> list[Table]:
    """Tables 7 and 8."""
    labels = [f"published {name}" for name in values["models"]]
    note = (
        "Published: means of ten runs on one CPU; for the cosine methods without the time to "
        "compute embeddings."
    )
    if timing:
        note += (
            " This run: one repetition, on templates. The embeddings are in 'model's seconds'. "
            f"CEAT draws {samples:,} samples (the paper 10,000, on Reddit)."
        )
    tables = []
    for number, test in ((7, "C1"), (8, "C6")):
        rows: list[dict[str, Any]] = []
        for method in METHODS:
            stated = values[f"table{number}"][method]
            line = {"method": method, **dict(zip(labels, stated, strict=True))}
            for t in (t for t in timing if (t["test"], t["method"]) == (test, method)):
                line |= {f"{t['model']} {k}": t[k] for k in ("model's seconds", "method's seconds")}
            rows.append(line)
        title = f"Table {number}: runtimes on {test} in seconds"
        tables.append(Table(f"table{number}", title, frame(rows), note))
    return tables


def full_scores() -> pd.DataFrame:
    """The release's scores on full sets, less the modified ones and those that are no numbers."""
    scores = published("husse2022.csv")
    return scores[(scores.note == "") & scores.d.notna() & (scores.sets == "full")]


def released(run: HusseRun) -> list[Table]:
    """The release's own sentences: what the paper's own models should give to the last digit."""
    scores = full_scores()
    scores = scores[scores.context == "template"]
    keys = ["method", "test", "model", "level", "targets"]
    stated = dict(zip(scores[keys].itertuples(index=False, name=None), scores.d, strict=True))
    rows = []
    for (model, method, _, level, context), result in run.results.items():
        if context != "release":
            continue
        label, tags = column(model, run.kinds[model], method), result.spec.tags
        where = "" if method == "LPBS" else level
        value = stated.get((method, tags["concept"], label or "bert", where, tags["named"]))
        value = None if value is None else float(value)
        line = {"test": tags["concept"], "method": method, "level": level, "model": model}
        comparable = run.comparable and label is not None
        fallback = f"bert ({LPBS_MODEL})" if method == "LPBS" else "bert"
        rows.append(
            row(line, value, result.overall, comparable=comparable, digits=4)
            | {"published for": label or fallback}
        )
    note = (
        "The release's words in the release's sentences, read as its code reads them; published "
        "values are those of its result files, to four digits. The intervals of SEAT are over "
        "words; those of CEAT are the release's, the error of its samples alone, and far narrower."
    )
    return [Table("release", "The release's own sentences", frame(rows), note, 4)] if rows else []

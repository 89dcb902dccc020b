"""Mind Your Bias (Husse and Spitz 2022): what the paper prints, and its tables without numbers."""

from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from unmask.data.packaged import published
from unmask.data.wordsets import chosen, stimuli
from unmask.reports.html.study_page import Table
from unmask.studies.papers.paper_table import frame

TESTS = ("C1", "C3", "C6", "C9", "Dis", "Occ", "I1", "I2")
# The paper's main table takes names where a test has them, terms for diseases and disability.
NAMED = {t: "terms" if t in ("C9", "Dis") else "names" for t in TESTS}
MAIN = {t: chosen(concept=t, named=n, size="full", edition="")[0].name for t, n in NAMED.items()}
COLUMNS = {"elmo": "ELMo", "bert": "BERT", "gpt2": "GPT-2", "opt": "OPT", "bloom": "BLOOM"}
HUB = {
    "bert-base-cased": "bert",
    "gpt2": "gpt2",
    "facebook/opt-125m": "opt",
    "bigscience/bloom-560m": "bloom",
}
LPBS_MODEL = "bert-base-uncased"  # the model of the paper's LPBS scores
SIGNIFICANT = 0.01


class Printed(NamedTuple):
    """A number of the paper: its value, whether it is bold there, and the release's if it differs.

    Bold is lost in the text of the paper; it is taken from the p of the release.
    """

    value: float | None = None
    significant: bool | None = None
    release: float | None = None


def column(model: str, kind: str, method: str) -> str | None:
    """The paper's column that a model belongs beside, if it is the paper's own model."""
    if method == "LPBS":
        return "bert" if model == LPBS_MODEL else None
    return "elmo" if kind == "elmo" else HUB.get(model)


@cache
def _digits() -> dict[tuple[Any, ...], float]:
    keys = ["table", "test", "method", "model", "choice"]
    rows = published("husse2022_printed.csv")
    return dict(zip(rows[keys].itertuples(index=False, name=None), rows.printed, strict=True))


@cache
def _release() -> dict[tuple[str, ...], tuple[float, float]]:
    rows = published("husse2022.csv")
    rows = rows[(rows.note == "") & (rows.sets == "full")]
    keys = ["method", "test", "model", "context", "level", "targets"]
    triples = zip(rows[keys].itertuples(index=False, name=None), rows.d, rows.p, strict=True)
    return {key: (float(d), float(p)) for key, d, p in triples}


def printed(table: int, test: str, method: str, model: str, choice: str, **release: str) -> Printed:
    """A number of Table 3, 11, 12 or 13.

    `release` names its row there: context, level and targets.
    """
    value = _digits().get((table, test, method, model, choice))
    if value is None:
        return Printed()
    key = {"s-SEAT": "SEAT", "w-SEAT": "SEAT"}.get(method, method)
    names = (release[k] for k in ("context", "level", "targets"))
    d, p = _release().get((key, test, model, *names), (None, None))
    if d is None or choice == "orig":
        return Printed(value)
    differs = abs(d - value) > 0.0051
    return Printed(value, p is not None and p < SIGNIFICANT, d if differs else None)


def table1(values: Any) -> Table:
    """Sizes of the word sets."""
    rows = []
    for test, (targets, attributes) in values["table1"].items():
        test_words = stimuli()[MAIN[test]]
        x, a = (next(iter(side.values())) for side in (test_words.targets, test_words.attributes))
        ours = [sum(test_words.forms[w] != "plural" for w in words) for words in (x, a)]
        line = {"test": test, "published targets": targets, "ours": ours[0]}
        rows.append(line | {"published attributes": attributes, "ours ": ours[1]})
    note = "Plurals do not count. Dis has 225 attributes a side in the release; the paper says 230."
    return Table("table1", "Table 1: sizes of the word sets", frame(rows), note)


def table2(values: Any) -> Table:
    """Parameters of the four methods."""
    rows = pd.DataFrame(values["table2"]["rows"], columns=values["table2"]["columns"])
    note = "The new ones are bold in the paper, and lost in its text. All of it runs here."
    return Table("table2", "Table 2: parameter choices of the methods", rows, note)


def table9(values: Any) -> Table:
    """Language models of the original publications."""
    rows = pd.DataFrame(values["table9"]["rows"], columns=values["table9"]["columns"])
    note = "bbc, bbu, blc, blu: BERT base or large, cased or uncased. LPBS has BERT only."
    return Table("table9", "Table 9: language models of the examined methods", rows, note)


def table10(values: Any) -> Table:
    """The tests of the literature, with their names here."""
    rows = [
        {
            "test": test,
            "source": source,
            "bias": bias,
            "used by": "✓" * marks,
            "in the paper": "✓" if used else "",
            "here": ", ".join(names),
        }
        for test, source, bias, marks, used, names in values["table10"]
    ]
    note = (
        "One mark for each of s-SEAT, w-SEAT, CEAT and LPBS that used the test; which of them is "
        "lost in the text of the paper where it is not all four. Where the last column is empty, "
        "the words are not in the package."
    )
    return Table("table10", "Table 10: bias tests of the literature", frame(rows), note)

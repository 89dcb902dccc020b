"""Unmasking the Mask (Kaneko and Bollegala 2022): the tables, published and measured."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from unmask.corpus import harvest
from unmask.corpus.count import count
from unmask.data import catalogue
from unmask.reports.html.study_page import Table
from unmask.stats.comparison import exact_mcnemar, rank_sum
from unmask.stats.intervals import share
from unmask.studies import frequency
from unmask.studies.papers.paper_table import SOURCES, Found, PaperTable, frame, row
from unmask.types import ANTISTEREOTYPE, STEREOTYPE, Result

# Rows of this paper alone: special tokens too, tokens in random order, a whole candidate hidden.
ALL_PLACES, SHUFFLED, WHOLE = "aul, all places", "aul, tokens shuffled", "sss, whole candidate"
TABLE1 = {"crows-pairs": ["cps", "aul"], "stereoset": ["sss", "aul"]}
TABLE5 = {"crows-pairs": ["cps", "aul", "aula"], "stereoset": ["sss", "aul", "aula"]}
AS_RELEASED = {"cps": "cps@kaneko2022", "sss": "sss@kaneko2022", "aul": ALL_PLACES}
RELEASED_SCORES = {m: AS_RELEASED[m] for m in ("cps", "sss")}  # AUL scores as it is defined
CODE = "as released"
SIGNIFICANT = 0.01  # what has a dagger in the paper
MAJORITY = 3  # annotators that make an item biased
HEADS = {
    "cps, crows-pairs": "CPS",
    "sss, stereoset": "SSS",
    **{
        f"{m}, {d}": f"{m.upper()} ({short})"
        for d, short in (("crows-pairs", "CP"), ("stereoset", "SS"))
        for m in ("aul", "aula", "ll")
    },
}


class KanekoRun(NamedTuple):
    """The models of this run, their results by model, measure and data, and the paper's numbers."""

    models: Sequence[str]
    results: Found
    values: Mapping[str, Any]
    comparable: bool
    agreement: Mapping[str, float] = {}  # of the annotators, by item of CrowS-Pairs
    counts: Mapping[str, int] | None = None  # of the groups' words in the user's corpus

    @property
    def labels(self) -> dict[str, str]:
        """Rows to show: the paper's models, and any other that was measured."""
        names = self.values["models"]
        return {**names, **{m: m for m in self.models if m not in names.values()}}

    def causal(self, model: str) -> bool:
        """Whether `ll` replaces every measure."""
        return (model, "ll", "crows-pairs") in self.results

    def columns(self, model: str, columns: Sequence[Any]) -> list[tuple[int, str, str]]:
        """The paper's columns for a model: number, measure, data; for a causal model `ll`."""
        if not self.causal(model):
            return [(i, m, d) for i, (m, d) in enumerate(columns)]
        return [(-1, "ll", d) for d in dict.fromkeys(d for _, d in columns)]

    def stated(self, table: str, label: str, i: int) -> Any:
        """The paper's number in a column of a table, if it has the model and the column."""
        stated = self.values[table].get(label)
        return stated[i] if stated is not None and i >= 0 else None


def _flat(columns: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(m, d) for d, measures in columns.items() for m in measures]


def _marked(line: Mapping[str, Any], column: str) -> str:
    """A number as the paper prints it, a dagger where McNemar's p is below 0.01."""
    if column == "published":
        return f"{line['published']:.2f}{line.get('printed mark', '')}"
    sure = line.get("p McNemar", 1.0) < SIGNIFICANT and line.get("drop", 1.0) > 0
    return f"{line['measured']:.2f}" + "\u2020" * sure


def table1(run: KanekoRun) -> list[Table]:
    """Token accuracy, as the release counts and by the definitions."""
    rows = []
    for label, hub in run.labels.items():
        for i, m, d in run.columns(hub, _flat(TABLE1)):
            stated = run.stated("table1", label, i)
            mark = run.values["marks"]["table1"][i] if stated is not None else ""
            result = run.results.get((hub, m, d))
            released = run.results.get((hub, AS_RELEASED.get(m, m), d))
            keys = {"model": label, "measure": m, "data": d, "printed mark": mark}
            accuracy = released.accuracy if released else None
            line = row(keys, stated, accuracy, comparable=run.comparable)
            if result and result.accuracy:
                line["by the definition"] = result.accuracy.value
            if result and m == "aul":
                masked = run.results[hub, TABLE1[d][0], d]
                line["p McNemar"] = token_mcnemar(masked, result)
            rows.append(line)
    note = (
        "Percentage of queried tokens that are the model's first choice. 'measured' "
        "counts as the release does: for AUL the special tokens too, for SSS each hidden token at "
        "its own place; 'by the definition' only the tokens that the measure is about. "
        "StereoSet's unrelated sentences do not count. n counts items. McNemar's test "
        "compares AUL with CPS and SSS on the tokens that both measures query. It treats tokens as "
        "independent, and so does the paper's own test, whose result (p < 0.01) the mark shows."
    )
    title, columns = "Table 1: token prediction accuracy", ("measure", "data")
    star = "A dagger: AUL's accuracy differs from that of CPS or SSS (McNemar, p < 0.01)."
    return PaperTable(
        "table1", title, rows, note, 2, "model", columns, HEADS, cell=_marked, star=star
    ).tables


def table1_candidates(run: KanekoRun) -> list[Table]:
    """SSS by the rule that the paper states: a whole candidate right, either of the two."""
    rows = []
    for label, hub in run.labels.items():
        stated = {"published": run.stated("table1", label, 2)}
        stated["published equal"] = run.values["equal_subtokens"].get(label)
        line: dict[str, Any] = {"model": label, **stated}
        by_word, plain = (run.results.get((hub, m, "stereoset")) for m in (WHOLE, "aul"))
        if by_word and plain:
            line |= _either(by_word) | {"equal": _equal_lengths(plain)}
        rows.append(line)
    note = (
        "The paper says that a prediction on StereoSet is right if all its sub-tokens are those of "
        "one of the two candidates; the release counts single tokens, as in Table 1. "
        "'equal' is the number of items whose candidates have equally many sub-tokens."
    )
    title = "Table 1, SSS by the paper's stated rule"
    return [Table("table1-candidates", title, frame(rows), note)]


def _either(result: Result) -> dict[str, Any]:
    """The share of items with one candidate wholly right, and its interval."""
    every_piece = result.artifacts["tokens"].groupby(["item", "label"]).hit.all()
    right = every_piece.groupby("item").any()
    clusters = result.items.drop_duplicates("item").set_index("item").cluster
    estimate = share(right.to_numpy(float), clusters[right.index].to_numpy(object))
    return {"measured": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}


def _equal_lengths(result: Result) -> int:
    """Pairs whose two sentences have equally many tokens: all but the candidates is the same."""
    lengths = result.items.pivot(index="item", columns="label", values="tokens")
    return int((lengths[STEREOTYPE] == lengths[ANTISTEREOTYPE]).sum())


def token_mcnemar(first: Result, second: Result) -> float:
    """Exact McNemar on the tokens that two measures both asked for in the same sentence."""
    where = ["item", "label", "place"]
    hits = [r.artifacts["tokens"].drop_duplicates(where, keep="last") for r in (first, second)]
    both = hits[0].merge(hits[1], on=where)
    return exact_mcnemar(both.hit_x.to_numpy(), both.hit_y.to_numpy())[0]


def _shuffled_mcnemar(plain: Result, moved: Result) -> float:
    """Exact McNemar between a token in its own place and the same token in another."""
    hits = [r.artifacts["tokens"].hit.to_numpy() for r in (plain, moved)]
    return exact_mcnemar(hits[0], hits[1])[0]


# ---------------------------------------------------------------- word frequency


def counted(corpus: Sequence[str]) -> Mapping[str, int] | None:
    """How often the words of groups occur in a corpus; None without one."""
    if not corpus:
        return None
    groups = frequency.groups_of(catalogue.sentences("crows-pairs"))
    words = [w for sides in groups.values() for group in sides.values() for w in group]
    return count(harvest.expand(corpus), [*frequency.group_words(), *words])


def table2(counts: Mapping[str, int] | None, values: Mapping[str, Any]) -> Iterator[Table]:
    """Ranks of the groups' words: printed, in the given corpus, and of that corpus's top words."""
    printed = frequency.printed_strata()
    measured = frequency.ranks(counts).set_index("category") if counts else None
    rows = []
    for category, (adv, dis) in values["table2"].items():
        line = {"category": category, "published adv": adv, "published dis": dis}
        line["p (rank-sum test)"] = rank_sum([printed[category]])
        if measured is not None:
            ranks = measured.loc[category]
            line |= {"measured adv": ranks.advantaged, "measured dis": ranks.disadvantaged}
            line |= {"words": ranks.words, "p": ranks.p}
        rows.append(line)
    yield from PaperTable(
        "table2",
        "Table 2: frequency ranks by group",
        rows,
        _ranks_note(counts),
        in_print=_ranked(counts, values),
        star="The words by frequency. *: a word of the advantaged group, underlined in the paper.",
    ).tables
    top_words: frequency.Groups = {}
    if counts:
        groups = frequency.groups_of(catalogue.sentences("crows-pairs"))
        top_words = frequency.most_frequent(groups, counts)
    if counts and top_words:
        note = (
            "The same for the most frequent words in your corpus: four of each group, among the "
            "words in which the two sentences of a CrowS-Pairs pair differ. A word belongs to a "
            f"group if it refers to that group in {frequency.MIN_SHARE:.0%} of its pairs, of which "
            f"there must be at least {frequency.MIN_PAIRS}."
        )
        title = "Table 2 with your corpus's own top words"
        yield Table("table2-own", title, frequency.ranks(counts, top_words), note)


def _ranked(counts: Mapping[str, int] | None, values: Mapping[str, Any]) -> pd.DataFrame:
    """Table 2 as it is printed, and the same words by their frequency in the given corpus."""
    rows = []
    for category, order in values["table2_words"].items():
        printed = order.split()
        orders = {"the paper": printed}
        if counts:
            orders["your corpus"] = sorted(printed, key=lambda w: -counts.get(w, 0))
        first = set(frequency.word_groups()[category][frequency.SIDES[0]])
        for of, words in orders.items():
            marked = [w + "*" * (w in first) for w in words]
            rows.append([category, of, *marked])
    places = map(str, range(1, max(map(len, rows)) - 1))
    return pd.DataFrame(rows, columns=["category", "of", *places])


def _ranks_note(counts: Mapping[str, int] | None) -> str:
    note = (
        "Mean frequency rank of the four most frequent words of each group; lower is more "
        "frequent. The paper says that words of advantaged groups are significantly more frequent "
        "and gives no test; p is the exact rank-sum test of each bias type. Over all bias types "
        f"together its printed order has p = {frequency.overall_p(frequency.printed_strata()):.4f}"
    )
    if not counts:
        return f"{note}. Give --corpus to add your corpus."
    return f"{note}, and your corpus p = {frequency.overall_p(frequency.strata(counts)):.4f}."


# ---------------------------------------------------------------- groups, controls, scores


def table3(run: KanekoRun) -> list[Table]:
    """Scores of the two sides of CrowS-Pairs."""
    rows = []
    for label, hub in run.labels.items():
        names = [(m, "crows-pairs") for m in ("all-masked", "aul", "aula")]
        for k, m, _ in run.columns(hub, names):
            result = run.results.get((hub, m, "crows-pairs:direction"))
            stated = run.values["table3"].get(label, [None] * 9)[3 * k : 3 * k + 3] or [None] * 3
            for j, side in enumerate(frequency.SIDES):
                estimate = result.by_category[side] if result else None
                keys = {"model": label, "measure": m, "group": side}
                rows.append(row(keys, stated[j], estimate, comparable=run.comparable))
            gap = None
            if result:
                a, d = (result.by_category[s].value for s in frequency.SIDES)
                gap = abs(a - d)
            keys = {"model": label, "measure": m, "group": "|difference|"}
            rows.append(keys | {"published": stated[2], "measured": gap})
    note = "All tokens masked compared with none."
    title, columns = "Table 3: advantaged and disadvantaged groups", ("measure", "group")
    return PaperTable("table3", title, rows, note, index="model", columns=columns).tables


def table4(run: KanekoRun) -> list[Table]:
    """Token accuracy of AUL on sentences without their meaning, and its drop from Table 1."""
    columns = [("crows-pairs", "shuffled"), ("stereoset", "shuffled"), ("stereoset", "unrelated")]
    rows = []
    for label, hub in run.labels.items():
        for i, (d, control) in enumerate(columns):
            keys: dict[str, Any] = {"model": label, "data": d, "control": control}
            stated = run.stated("table4", label, i)
            if stated is not None:
                keys["printed mark"] = run.values["marks"]["table4"][i]
                keys["published drop"] = run.values["table4_drops"][label][i]
            rows.append(_controlled(run, hub, d, control, keys, stated))
    note = (
        "Token accuracy of AUL including special tokens, as in Table 1, and its drop from Table "
        "1's measured value. Tokens are shuffled, as in the paper, and also whole words; "
        "'unrelated' counts the unrelated sentence alone. McNemar's test pairs each token "
        "with itself at its new position and treats tokens as independent."
    )
    star = "A dagger: a significant drop (McNemar, p < 0.01). In brackets: the drop from Table 1."
    title, fields = "Table 4: shuffled and unrelated", ("data", "control")
    return PaperTable(
        "table4", title, rows, note, index="model", columns=fields, cell=_with_drop, star=star
    ).tables


def _controlled(
    run: KanekoRun, hub: str, data: str, control: str, keys: Mapping[str, Any], stated: float | None
) -> dict[str, Any]:
    measure = "ll" if run.causal(hub) else ALL_PLACES
    plain = run.results.get((hub, measure, data))
    words = run.results.get((hub, measure, f"{data}:{control}"))
    tokens = control == "shuffled" and not run.causal(hub)
    result = run.results.get((hub, SHUFFLED, data)) if tokens else words
    line = row(keys, stated, result.accuracy if result else None, comparable=run.comparable)
    if not (result and plain and words and result.accuracy and plain.accuracy and words.accuracy):
        return line
    line["drop"] = plain.accuracy.value - result.accuracy.value
    if tokens:
        line["p McNemar"] = _shuffled_mcnemar(plain, result)
        line["words shuffled"] = words.accuracy.value
    return line


def _with_drop(line: Mapping[str, Any], column: str) -> str:
    drop = line.get("published drop" if column == "published" else "drop")
    return _marked(line, column) + ("" if drop is None else f" ({-drop:+.2f})")


def table5(run: KanekoRun) -> list[Table]:
    """The scores."""
    rows = []
    for label, hub in run.labels.items():
        for i, m, d in run.columns(hub, _flat(TABLE5)):
            result = run.results.get((hub, m, d))
            keys = {"model": label, "measure": m, "data": d}
            stated = run.stated("table5", label, i)
            line = row(keys, stated, result.overall if result else None, comparable=run.comparable)
            code = run.results.get((hub, RELEASED_SCORES.get(m, m), d))
            if code is not None:
                beside = row({}, stated, code.overall, comparable=run.comparable)
                line |= {CODE: code.overall.value, f"{CODE} agrees": beside.get("agrees")}
            rows.append(line)
    columns, sources = ("measure", "data"), {**SOURCES, CODE: "this run, as released"}
    note = (
        "'measured' follows the definitions. 'as released' follows the paper's code for CPS and "
        f"SSS ({', '.join(RELEASED_SCORES.values())}), which produced the published numbers."
    )
    return PaperTable(
        "table5",
        "Table 5: bias scores",
        rows,
        note,
        index="model",
        columns=columns,
        heads=HEADS,
        sources=sources,
    ).tables

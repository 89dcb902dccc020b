"""Mind Your Bias (Husse and Spitz 2022), appendices B.5 and D: sentences per word, ELMo's bug."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from unmask.data.packaged import published
from unmask.data.wordsets import stimuli
from unmask.models.elmo import ElmoModel
from unmask.models.protocol import Model
from unmask.options import Spec
from unmask.reports.html.study_page import Table
from unmask.stats.agreement import correlation
from unmask.studies.papers.husse2022_tables import COLUMNS, MAIN, HusseRun, Results
from unmask.studies.papers.paper_table import frame
from unmask.text.contexts import WordTest

# What replaces a context: fewer natural sentences, a sentence read as characters.
FEWER, CHARACTERS = "fewer natural", "characters"
RATIO = 10  # of the paper: 1,000 sentences per word against 100


def sentences(run: HusseRun) -> Table:
    """Appendix B.5: SEAT with a tenth of the sentences per word beside SEAT with all."""
    scores = published("husse2022_sentences.csv")
    rows = [
        _compared(f"{COLUMNS[model]} (published)", "100 and 1,000", part.d100, part.d1000)
        for model, part in scores.groupby("model", sort=False)
    ]
    for model in run.kinds:
        pairs = [
            (run.results[(model, *key[1:-1], FEWER)].overall.value, result.overall.value)
            for key, result in run.results.items()
            if (key[0], key[-1]) == (model, "natural") and (*key[:-1], FEWER) in run.results
        ]
        if len(pairs) > 2:
            few, many = pd.DataFrame(pairs).T.to_numpy()
            rows.append(
                _compared(model, "a tenth of the sentences vs all", pd.Series(few), pd.Series(many))
            )
    note = (
        "The paper says that 100 and 1,000 sentences per word yield scores 'of similar "
        "magnitudes'. "
        "Published: all tests and levels of the release, including the modified sets; it has no "
        "such files for OPT and BLOOM. This run: s-SEAT and w-SEAT. An effect of 0.2 is small "
        "(Cohen)."
    )
    return Table("appendix-b5", "Appendix B.5: fewer sentences per word", frame(rows), note)


def _compared(model: str, name: str, few: pd.Series, many: pd.Series) -> dict[str, Any]:
    gap = (few - many).abs()
    r = correlation(few.to_numpy(float), many.to_numpy(float))
    return {
        "model": model,
        "sentences": name,
        "scores": len(gap),
        "mean |difference|": float(gap.mean()),
        "largest": float(gap.max()),
        "beyond 0.2": int((gap > 0.2).sum()),
        "other sign": int((few * many < 0).sum()),
        "r": r.value,
        "low": r.low,
        "high": r.high,
    }


def as_characters(models: Sequence[Model], names: Sequence[str]) -> Iterator[Spec]:
    """Appendix D: s-SEAT on an ELMo that is given a string, and so reads characters for tokens."""
    for model in models:
        if not isinstance(model, ElmoModel):
            continue
        by_character = replace(model, name=f"{model.name} (characters)", characters=True)
        for name in names:
            tags = {"model": model.name, "method": "SEAT", "test": name, "level": "sent"}
            test = WordTest(stimuli()[name])
            yield Spec(
                by_character, "s-seat", test, pool="mean", tags={**tags, "context": CHARACTERS}
            )


def implementation_error(run: HusseRun) -> list[Table]:
    """Appendix D: the published scores with and without the bug, and those of an available ELMo."""
    printed = published("husse2022_printed.csv")
    printed = printed[(printed.table == 3) & (printed.model == "elmo")]
    stated = {(line.method, line.test, line.choice): line.printed for line in printed.itertuples()}
    rows = []
    for test, name in MAIN.items():
        line: dict[str, Any] = {"test": test}
        for method in ("s-SEAT", "w-SEAT"):
            line[f"{method} with the bug"] = stated.get((method, test, "orig"))
            line[f"{method} without"] = stated.get((method, test, "ours"))
        rows.append(line | _elmo_scores(run.results, run.kinds, name))
    note = (
        "May et al. (2019), and Tan and Celis (2019) after them, hand ELMo a string where it takes "
        "a list of tokens, so that each character is a token. 'with the bug' is what they report, "
        "'without' what the paper finds. For ELMo models, this run reports both."
    )
    title = "Appendix D: ELMo given characters for tokens"
    return [Table("appendix-d", title, frame(rows), note)]


def _elmo_scores(results: Results, kinds: Any, name: str) -> dict[str, float]:
    line = {}
    for model in (m for m, kind in kinds.items() if kind == "elmo"):
        for head, context in (("characters", CHARACTERS), ("tokens", "template")):
            result = results.get((model, "SEAT", name, "sent", context))
            if result is not None:
                line[f"{model}, s-SEAT by {head}"] = result.overall.value
    return line

"""Is a measure or a data set complete? The test that our own rows pass, for users' rows too."""

from unmask.data.cards import Card
from unmask.errors import UnmaskError
from unmask.measures import Association, Likelihood, Measure
from unmask.options import POOLS
from unmask.report.cite import entries, references
from unmask.text.contexts import TEMPLATES, WordTest
from unmask.types import Dataset, Stimuli

_WORDS = ("about", "formula", "criticism")


def check_measure(row: Measure) -> None:
    """Raise one sentence that names all that a row lacks: card, citations, plans, poolings."""
    if not isinstance(row, Likelihood | Association):
        raise UnmaskError(f"{row!r:.60} is no measure; make a Likelihood or an Association.")
    lacks = [name for name in _WORDS if not str(getattr(row, name)).strip()]
    lacks += _unresolved(row.cite, row.bibtex)
    if isinstance(row, Likelihood):
        wrong = [kind for kind in row.prior if kind not in row.plans]
        lacks += [f"a plan for {kind}, which has a prior" for kind in wrong]
    else:
        lacks += [
            f"a pooling that exists ({pool})" for pool in row.pool.values() if pool not in POOLS
        ]
    _complain(row.name, lacks)


def check_data(data: Dataset | Stimuli | WordTest | Card) -> None:
    """Raise one sentence that names all that is wrong: ids, labels, citations, forms of words."""
    if isinstance(data, Card):
        _complain(data.name, _unresolved(data.cite, ""))
    elif isinstance(data, Dataset):
        _complain(data.name, _sentences(data))
    else:
        test = data.stimuli if isinstance(data, WordTest) else data
        odd = sorted({f for f in test.forms.values() if f not in TEMPLATES})
        lacks = [f"templates for the form {form!r}" for form in odd]
        _complain(test.name, lacks + _unresolved((test.source,), "", allowed=("user",)))


def _sentences(data: Dataset) -> list[str]:
    ids = [item.id for item in data.items]
    lacks = [] if len(set(ids)) == len(ids) else ["ids that are unique"]
    needed = {"stereotype", "antistereotype"} if data.shape != "templates" else set()
    for item in data.items:
        if missing := needed - item.texts.keys():
            return [*lacks, f"the {' and the '.join(sorted(missing))} of item {item.id!r}"]
        if data.shape == "templates" and item.meta.get("side") not in ("A", "B"):
            return [*lacks, f"a side (A or B) of item {item.id!r}"]
    return lacks


def _unresolved(cite: tuple[str, ...], bibtex: str, allowed: tuple[str, ...] = ()) -> list[str]:
    known = {*references(), *(key for key, _ in entries(bibtex)), *allowed}
    if not cite:
        return ["a citation"]
    return [f"a bibliography entry for {key!r}" for key in cite if key not in known]


def _complain(name: str, lacks: list[str]) -> None:
    if lacks:
        raise UnmaskError(f"{name!r} is not complete: it lacks {', '.join(lacks)}.")

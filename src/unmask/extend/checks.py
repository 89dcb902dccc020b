"""Is a measure or a data set complete? The test that our own rows pass, for users' rows too."""

from unmask.data.cards import Card
from unmask.errors import UnmaskError
from unmask.measures import Association, Likelihood, Measure
from unmask.reports.cite import entries, references
from unmask.text.contexts import TEMPLATES, WordTest
from unmask.types import Dataset, Stimuli


def check_measure(row: Measure) -> None:
    """Raise one sentence that names what a row lacks: citations that resolve, plans for its priors.

    The rest of its card it checks itself when it is made.
    """
    if not isinstance(row, Likelihood | Association):
        raise UnmaskError(f"{row!r:.60} is no measure; make a Likelihood or an Association.")
    lacks = _unresolved(row.cite, row.bibtex)
    if isinstance(row, Likelihood):
        wrong = [kind for kind in row.prior if kind not in row.plans]
        lacks += [f"a plan for {kind}, which has a prior" for kind in wrong]
    _complain(row.name, lacks)


def check_data(data: Dataset | Stimuli | WordTest | Card) -> None:
    """Raise one sentence that names what is wrong: ids, citations, forms of words.

    Labels, shapes and sets the records check themselves when they are made.
    """
    if isinstance(data, Card):
        _complain(data.name, _unresolved(data.cite, ""))
    elif isinstance(data, Dataset):
        unique = len({item.id for item in data.items}) == len(data.items)
        _complain(data.name, [] if unique else ["ids that are unique"])
    else:
        test = data.stimuli if isinstance(data, WordTest) else data
        odd = sorted({f for f in test.forms.values() if f not in TEMPLATES})
        lacks = [f"templates for the form {form!r}" for form in odd]
        _complain(test.name, lacks + _unresolved((test.source,), "", allowed=("user",)))


def _unresolved(cite: tuple[str, ...], bibtex: str, allowed: tuple[str, ...] = ()) -> list[str]:
    known = {*references(), *(key for key, _ in entries(bibtex)), *allowed}
    if not cite:
        return ["a citation"]
    return [f"a bibliography entry for {key!r}" for key in cite if key not in known]


def _complain(name: str, lacks: list[str]) -> None:
    if lacks:
        raise UnmaskError(f"{name!r} is not complete: it lacks {', '.join(lacks)}.")

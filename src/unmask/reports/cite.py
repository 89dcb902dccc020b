"""BibTeX entries for what was run."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from unmask.types import Result

_ENTRY = re.compile(r"@\w+\{([^,\s]+),")


@cache
def references() -> dict[str, str]:
    """The entries of `references.bib` by key."""
    text = resources.files("unmask.reports").joinpath("references.bib").read_text("utf-8")
    return dict(entries(text))


def entries(text: str) -> Iterable[tuple[str, str]]:
    """The entries of some BibTeX, each with its key; they are set apart by an empty line."""
    for entry in text.strip().split("\n\n"):
        if match := _ENTRY.match(entry.strip()):
            yield match[1], entry.strip()


def bibtex(keys: Iterable[str], extra: Iterable[str] = ()) -> str:
    """Return the entries of some keys, each once, sorted by key; `extra` is users' own BibTeX."""
    library = {**references(), **dict(e for text in extra for e in entries(text))}
    keys_used = [*keys, *(key for text in extra for key, _ in entries(text))]
    return "\n\n".join(library[k] for k in sorted(set(keys_used)) if k in library)


def cited(results: Iterable[Result]) -> str:
    """Return BibTeX for unmask and for the measures and data of some results."""
    keys, extra = ["unmask"], []
    for result in results:
        measure, data = (_facts(result.provenance, k) for k in ("measure", "data"))
        keys += _keys(measure) + _keys(data)
        extra += [str(measure["bibtex"])] if measure.get("bibtex") else []
    return bibtex(keys, extra)


def _facts(provenance: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = provenance.get(name)
    return value if isinstance(value, Mapping) else {}


def _keys(facts: Mapping[str, Any]) -> list[str]:
    keys = facts.get("cite") or []
    return [keys] if isinstance(keys, str) else [str(k) for k in keys]

"""Names of a user's columns: letter case, hyphens and spaces are ignored."""

import re
from collections.abc import Iterable

from unmask.errors import DataError

# Accepted aliases of each column, without case and punctuation.
ALIASES = {
    "stereotype": ("stereotyped", "stereotypical", "stereo", "prostereotype", "sentmore"),
    "antistereotype": ("antistereotypical", "antistereo", "counterstereotype", "sentless"),
    "unrelated": ("unrelatedsentence", "meaningless"),
    "id": ("identifier", "itemid"),
    "category": ("categories", "biastype", "bias_type"),
    "cluster": ("clusters", "writer", "anonwriter"),
    "group_pair": ("family",),
    "group": ("side", "direction", "stereoantistereo"),
    "template": ("frame",),
    "source": ("reference",),
    "valence": (),
    "frequency": (),
    "stereotype_fill": (),
    "antistereotype_fill": (),
    "unrelated_fill": (),
}
_MEANS = {
    alias: name for name, others in ALIASES.items() for alias in (name.replace("_", ""), *others)
}


def understood(names: Iterable[str]) -> dict[str, str]:
    """Map the file's column names to the known ones; unknown columns are left out.

    An exact name takes precedence over an alias.
    """
    named = [n for n in names if isinstance(n, str)]
    exact = {n for n in named if n in ALIASES}
    meanings = {n: n for n in exact}
    for name in named:
        meaning = _MEANS.get(re.sub(r"[\W_]+", "", name.casefold()))
        if name in exact or meaning is None or meaning in exact:
            continue
        if meaning in meanings.values():
            twin = next(n for n, m in meanings.items() if m == meaning)
            raise DataError(
                f"the columns {twin!r} and {name!r} both look like {meaning!r}; rename one of them "
                f"to {meaning!r}."
            )
        meanings[name] = meaning
    return {n: meanings[n] for n in named if n in meanings}

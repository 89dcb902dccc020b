"""The definition of a data card; the cards are in `cards.toml` and `cards`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unmask.text.contexts import WordTest
from unmask.types import Dataset


@dataclass(frozen=True, slots=True)
class Card:
    """A data set: what it is, where its file comes from, its licence and its known defects.

    `path` is the file's place in a folder of local copies (`UNMASK_DATA`) and in the cache;
    `checksum` is `git:` and a blob id, or `sha256:` and a digest. A set of the package has no
    address. `size` in bytes, 0 where it is not known. `alias` are other names of a local copy.
    A set `by_hand` has no known checksum, so it is never fetched: the user puts `path`, and the
    files of `beside` next to it, into `UNMASK_DATA`; `url` is then the page to get them from.
    `needs` are files that are read with it: `read` takes their paths behind its own. `items` is how
    many the published file has, where that is known: reading must give as many.
    """

    name: str
    about: str
    read: Callable[..., Dataset | WordTest | list[Dataset | WordTest]]
    cite: tuple[str, ...]
    licence: str
    language: str = "en"
    path: str = ""
    url: str = ""
    checksum: str = ""
    size: int = 0
    defects: str = ""
    alias: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    by_hand: bool = False
    needs: tuple["Card", ...] = ()
    items: int = 0
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.about and self.cite and self.licence and self.language):
            raise ValueError(f"the card of {self.name!r} is not complete")
        if self.url and not (self.path and bool(self.checksum) != self.by_hand):
            raise ValueError(f"{self.name!r} has an address and no path, or no checksum")

    @property
    def packaged(self) -> bool:
        """Whether the set comes with the package."""
        return not self.url

"""Models known by name: those of the papers, and the bundled one. Any hub name works."""

from pathlib import Path

from unmask.support.plugins import EntryPoints

BUNDLED = "bundled"
CHAT_MARK = "?chat"  # after the address of a server of chat models
BUNDLED_FOLDER = Path(__file__).parent / "bundled_model"
ENTRY_POINTS = EntryPoints("unmask.models")


def from_plugin(name: str | int) -> bool:
    """Whether an installed package offers a model of this name."""
    return name in ENTRY_POINTS


KNOWN = {
    BUNDLED: "a small uncased English BERT that comes with unmask; for first steps and tests",
    "bert-base-cased": "kaneko2022, thys2025, husse2022",
    "bert-base-uncased": "nangia2020, kurita2019, husse2022 (LPBS)",
    "bert-large-cased": "thys2025",
    "roberta-base": "thys2025, nadeem2021",
    "roberta-large": "kaneko2022, thys2025, nangia2020",
    "albert-large-v2": "kaneko2022",
    "albert-xxlarge-v2": "nangia2020",
    "xlnet-base-cased": "thys2025, nadeem2021",
    "xlnet-large-cased": "thys2025",
    "gpt2": "husse2022, nadeem2021",
    "facebook/opt-125m": "husse2022",
    "bigscience/bloom-560m": "husse2022",
}

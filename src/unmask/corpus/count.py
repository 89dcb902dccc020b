"""Count words in a corpus."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from unmask.corpus.harvest import FOLD
from unmask.corpus.readers import DamagedFile, blocks, documents, is_json


def count(files: Iterable[Path], words: Iterable[str]) -> Counter[str]:
    """Occurrences of each word, whatever its case."""
    encoded = {w: w.lower().encode() for w in words}
    total: Counter[str] = Counter()
    for file in files:
        json_lines = is_json(file)
        try:
            for block in blocks(file):
                block_counts = Counter(words_of(documents(block, json_lines)))
                total.update({w: block_counts[b] for w, b in encoded.items()})
        except DamagedFile:
            continue
    return Counter({w: total[w] for w in encoded})


def words_of(text: bytes) -> list[bytes]:
    """The words of a text, in small letters."""
    return text.lower().translate(FOLD).split()

"""Loading onto a cluster: the weights go to its workers, the tokenizer stays here."""

from pathlib import Path

from unmask.clusters import started
from unmask.models.cluster import Workers
from unmask.models.codec import TokenizerCodec
from unmask.models.load import without_weights
from unmask.models.remote import Remote


def load_remote(
    name: str,
    *,
    dtype: str = "float32",
    device: str | None = None,
    address: str | None = None,
    workers: int | None = None,
    among: int = 1,
) -> Remote:
    """A transformer on the workers of a Ray cluster, which is shared among so many models."""
    known = without_weights(name)
    codec = TokenizerCodec(known.tokenizer(), known.kind, name)
    place = known.source if Path(known.source).exists() else name
    made = Workers(name, place, dtype, device, started(address), workers, among)
    return Remote(name, known.kind, codec, known.config, made, dtype, **made.facts(dtype))

"""Loading onto a cluster: the weights go to its workers, the tokenizer stays here."""

from pathlib import Path

from unmask.models.cluster import Workers, started
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
    place = known.source if Path(known.source).exists() else name
    made = Workers(name, place, dtype, device, started(address), workers, among)

    def again(other: str) -> Remote:
        how = {"device": device, "address": address}
        return load_remote(name, dtype=other, **how, workers=workers, among=among)

    return Remote(
        name,
        known.kind,
        TokenizerCodec(known.tokenizer, known.kind, name),
        known.config,
        made,
        again,
        dtype,
        made.facts["provenance"],
    )

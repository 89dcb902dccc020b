"""Singular and plural in sentences."""


def counted(count: int, one: str, many: str = "") -> str:
    """A number and what it counts: `counted(1, "
    ""item")`, `counted(2, "item is a tie", "items are ties")`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"

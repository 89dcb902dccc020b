"""What the commands of studies have in common: their options, and the models that they name."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import typer

from unmask.cli.lazy import lazy
from unmask.cli.options import split, token_budget

if TYPE_CHECKING:
    from unmask import options
    from unmask.flow import loading
else:
    loading = lazy("unmask.flow.loading")
    options = lazy("unmask.options")

# Parameters of a study's command that are fields of `Options`.
SHARED = ("seed", "level", "cache", "fast", "engine", "address", "workers")


def study_options(
    context: typer.Context, progress: Callable[[str, int, int], None]
) -> "options.Options":
    """The options of a study, from the parameters of its command."""
    given = {k: v for k, v in context.params.items() if k in SHARED}
    tokens = token_budget(context.params["tokens"])
    return options.Options(tokens=tokens, progress=progress, **given)


def named_models(option: Sequence[str] | None, given: Sequence[str] | None) -> list[str]:
    """The models of a command, as an option or behind it; each is looked for at once."""
    names = split([*(option or ()), *(given or ())] or None, ("bundled",))
    loading.look_up(names)
    return names

"""Measure bias during training: scores of a model every N steps, reported to the trainer."""

from collections.abc import Mapping
from typing import Any

import transformers

from unmask.api import run
from unmask.errors import UnmaskError
from unmask.options import Options


def watch(
    trainer: Any, measures: Any = None, data: Any = None, *, every: int = 500, **options: Any
) -> "Watch":
    """Measure the model of a `transformers.Trainer` every `every` steps, and at the end.

    The scores go to `trainer.log`, and so to its history and wherever else it reports: as
    `unmask/MEASURE on DATA`, with `/low` and `/high`. Measures, data and options as in
    `unmask.run`. Returns the callback; its `scores` has all results by step. The trainer must have
    the model's tokenizer as its `processing_class`.
    """
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise UnmaskError(f"every is {every!r}; give a whole number of steps of at least 1.")
    if not hasattr(trainer, "add_callback"):
        raise UnmaskError(f"{trainer!r:.40} is not a trainer; give a transformers.Trainer.")
    if getattr(trainer, "processing_class", None) is None:
        raise UnmaskError(
            "the trainer has no tokenizer; pass Trainer(..., processing_class=tokenizer)."
        )
    Options(**options)
    callback = Watch(trainer, measures, data, every, options)
    trainer.add_callback(callback)
    return callback


class Watch(transformers.TrainerCallback):
    """Scores a trainer's model as it is now, without dropout, and lets the training go on."""

    def __init__(
        self, trainer: Any, measures: Any, data: Any, interval: int, options: Mapping[str, Any]
    ) -> None:
        self._trainer, self._asked, self._every = trainer, (measures, data), interval
        self._options = dict(options)
        self.scores: dict[int, Any] = {}

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Measure at regular intervals of steps."""
        if state.global_step % self._every == 0:
            self._measure(state)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Measure the final model, unless the last step was measured."""
        if state.global_step not in self.scores:
            self._measure(state)

    def _measure(self, state: Any) -> None:
        if not state.is_world_process_zero:  # the other processes have the same weights
            return
        net = self._trainer.accelerator.unwrap_model(self._trainer.model)
        results = run((net, self._trainer.processing_class), *self._asked, **self._options)
        self.scores[state.global_step] = results
        logs: dict[str, float] = {}
        for r in results:
            at = {"": r.overall.value, "/low": r.overall.low, "/high": r.overall.high}
            logs |= {f"unmask/{r.title}{k}": v for k, v in at.items()}
        self._trainer.log(logs)

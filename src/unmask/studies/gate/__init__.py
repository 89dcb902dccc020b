"""A gate: rules that a run has to keep, decided by tests of statistics."""

"""Support for user code: completeness checks, and scores during training."""

"""For other people's code: completeness checks, and scores during training."""

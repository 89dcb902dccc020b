"""The lab: text with a planted bias, models trained on it, and which measures find it."""

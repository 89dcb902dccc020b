"""Studies over many specs: comparison, design choices, word frequency, the papers."""

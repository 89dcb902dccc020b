"""Natural contexts of words from any corpus."""

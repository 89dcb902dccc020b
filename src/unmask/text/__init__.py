"""From characters to places: roles of tokens, contexts of words."""

"""A local page to score sentence pairs with a model, and to browse results."""

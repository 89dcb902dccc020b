"""A local page: type a pair and see what a model makes of it, and browse results."""

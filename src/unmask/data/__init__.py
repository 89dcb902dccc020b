"""Data: the catalogue, the readers, and the sets that come with the package."""

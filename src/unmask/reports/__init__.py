"""Results to files, tables, pages and citations."""

"""What every part may use: names, entry points, paths."""

"""Optimisations that change only the speed, with one switch."""

"""Simulations of every interval and test that a user can see; `coverage.py` runs them."""

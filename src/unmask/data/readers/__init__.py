"""Readers of published and of users' files."""

"""Decisions of consumption as pure functions."""

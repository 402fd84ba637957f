"""Consuming segments of the data plane."""

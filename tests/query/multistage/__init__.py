"""Queries of several stages."""

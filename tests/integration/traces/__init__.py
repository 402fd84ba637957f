"""Traces of a whole installation, as a collector gets them."""

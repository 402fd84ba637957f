"""Segments as values: records, names, places, and what an upload or a deletion makes of them."""

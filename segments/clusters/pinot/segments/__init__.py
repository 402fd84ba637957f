"""Segments of a real Pinot: uploaded behind the fence of their entry, kept as copies before they go."""

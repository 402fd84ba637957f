"""Segments at the edge of a replaced time range: what of their rows stays."""

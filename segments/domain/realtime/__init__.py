"""Consumption as pure decisions: pauses, offsets, repairs and commits."""

"""Segments as tar files: packed, unpacked within bounds, renamed."""

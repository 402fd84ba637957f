"""Pushes of whole snapshots: who replaces what, and what came in next to it."""

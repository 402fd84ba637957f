"""Use cases: segments."""

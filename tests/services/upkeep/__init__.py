"""Use cases: passes."""

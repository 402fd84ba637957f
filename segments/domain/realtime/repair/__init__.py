"""Decisions about copies of rows: none of them ever gives up the last copy."""

"""The query page."""

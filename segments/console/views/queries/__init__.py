"""The query page: run, columns at the side, formatting, export."""

"""The segments that a server holds: fetched, checked, opened, cached."""

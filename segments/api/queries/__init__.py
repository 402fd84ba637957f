"""REST: queries and their answers."""

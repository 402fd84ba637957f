"""How long visible rows stand still."""

"""REST: segments."""

"""REST: clusters."""

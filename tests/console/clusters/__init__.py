"""Pages: clusters."""

"""Pages: pushes and their reports."""

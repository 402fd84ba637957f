"""Pages: pushes."""

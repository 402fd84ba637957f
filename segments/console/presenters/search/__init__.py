"""What the search finds, as lines."""

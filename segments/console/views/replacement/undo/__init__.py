"""Pages that bring back what a replacement took away."""

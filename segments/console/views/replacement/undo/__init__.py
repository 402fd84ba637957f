"""Pages that bring back what a replacement removed."""

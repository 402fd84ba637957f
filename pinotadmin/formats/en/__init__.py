"""English, the only language that there is."""

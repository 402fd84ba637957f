"""Who gets in where."""

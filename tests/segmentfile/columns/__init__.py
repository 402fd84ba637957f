"""Input columns become stored ones."""

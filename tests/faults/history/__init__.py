"""A table's history, walked at random against a model."""

"""Finds Pinot's data types for columns of a sample: of text as well as of typed values."""

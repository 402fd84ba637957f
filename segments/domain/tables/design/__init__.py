"""A table that is about to be: the columns found in its files, and the schema and config that are made of them."""

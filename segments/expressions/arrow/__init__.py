"""Functions over whole Arrow columns, for transforms and filters while segments are built."""

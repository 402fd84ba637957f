"""Reads the beginning of an input file of which nothing is known yet: its format, and its first rows."""

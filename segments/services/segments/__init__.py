"""Segments and their files: the record decides what a file is, and a deletion is the last step of all."""

"""Reads input files of every supported format as Arrow tables: whole, or in the pieces that they were cut into."""

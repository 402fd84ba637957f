"""Reingestion: the rows of a segment that nobody holds are read from the stream again. Values and decisions, all
pure."""

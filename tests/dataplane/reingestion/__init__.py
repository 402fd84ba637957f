"""Reingestion: servers read segments from the stream again."""

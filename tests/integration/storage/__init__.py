"""Whole installations whose files are elsewhere: in an S3 store, or on servers only."""

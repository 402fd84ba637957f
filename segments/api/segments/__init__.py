"""REST: segments, uploads and the archive of deleted ones."""

"""Parts of a table that a session replaces: time slices, partitions, sets of files."""

"""Changes of a table's schema and config: read, previewed, saved on the version that was read, kept as a history."""

"""REST: the replacement protocol, lineage, checks and undo."""

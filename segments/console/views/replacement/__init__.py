"""Pages: lineage, one replacement, checks, rollback and undo."""

"""Pages of a table's history of snapshots."""

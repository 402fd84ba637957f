"""The replacement protocol as pure decisions over the lineage."""

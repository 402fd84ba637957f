"""Query text becomes a checked statement, and its expressions become DuckDB text."""

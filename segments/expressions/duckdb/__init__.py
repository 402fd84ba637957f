"""Functions as DuckDB text, for queries: everything is written from our own templates."""

"""Pinot's expressions: one grammar and one table of functions, run over Arrow columns or written as DuckDB text."""

"""What a query over columns takes when Arrow and NumPy do it, without a call of DuckDB."""

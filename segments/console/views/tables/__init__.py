"""Pages: tables, their secrets, queries."""

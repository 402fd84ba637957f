"""File ingestion sessions as use cases."""

"""REST: file ingestion."""

"""Pages: file ingestion."""

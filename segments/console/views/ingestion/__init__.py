"""Pages: file ingestion of a table, and its sessions."""

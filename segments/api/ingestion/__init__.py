"""/api/v1/tables/{table}/ingestion: sessions of file ingestion."""

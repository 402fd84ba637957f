"""How long file ingestion and its pages take."""

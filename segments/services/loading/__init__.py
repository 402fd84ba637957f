"""Steps that bring built segments into a table, the same for pushes and for file ingestion sessions."""

"""A new table as people design it in the console: forms, and the draft between them and the documents."""

"""The settings of a table as people change them: forms, and the draft between them and the documents."""

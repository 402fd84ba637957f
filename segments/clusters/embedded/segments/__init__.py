"""The segments of the embedded cluster: records, ideal state and files are written here."""

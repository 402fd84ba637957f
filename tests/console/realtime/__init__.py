"""Pages: consumption."""

"""REST: consumption."""

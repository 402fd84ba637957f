"""Use cases: consumption."""

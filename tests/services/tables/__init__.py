"""Use cases: tables, schemas, instances and settings."""

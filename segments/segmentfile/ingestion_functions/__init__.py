"""Expressions of ingestion configs: parsed, and run over whole Arrow columns."""

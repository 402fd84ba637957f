"""Ingestion jobs as values: their specification, plan and report."""

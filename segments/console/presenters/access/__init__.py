"""Audit records as pages show them."""

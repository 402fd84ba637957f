"""Queries that people keep. Nothing here runs one."""

"""REST: tables and schemas."""

"""Pages: signing in, tokens, the audit record."""

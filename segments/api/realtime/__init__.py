"""REST: consumption and the completion protocol."""

"""REST: replacements."""

"""Pages: replacements."""

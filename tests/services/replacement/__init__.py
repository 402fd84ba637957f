"""Use cases: replacements."""

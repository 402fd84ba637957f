"""Replacements of segments: one pure decision, one transaction, one acknowledged switch, then the clean-up."""

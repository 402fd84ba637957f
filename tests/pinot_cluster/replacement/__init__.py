"""Pinot clusters: replacements."""

"""Formats of text and data that come from outside, read within bounds, and those that go out."""

"""The quickstart's data."""

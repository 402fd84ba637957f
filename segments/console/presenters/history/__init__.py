"""Turns the history of a table into what its pages show."""

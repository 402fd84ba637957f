"""Journeys in a real browser on a running installation."""

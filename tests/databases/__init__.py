"""Databases that tests run on."""

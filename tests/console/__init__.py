"""Tests of the console's pages through Django's test client."""

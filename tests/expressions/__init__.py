"""Tests of Pinot's expressions: the grammar of ingestion, and functions by both back ends."""

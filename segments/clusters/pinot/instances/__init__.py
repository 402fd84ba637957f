"""Instances, cluster settings, reset and reload of segments of a real Pinot."""

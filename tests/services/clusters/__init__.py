"""Instances and cluster settings as use cases."""

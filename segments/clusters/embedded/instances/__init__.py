"""Instances, cluster settings and messages to servers of the embedded cluster."""

"""Engines: what a use case asks of a cluster, answered once for each kind of cluster."""

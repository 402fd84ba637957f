"""Pinot clusters: connections, stores, mirror."""

"""Pinot clusters: segments and pushes."""

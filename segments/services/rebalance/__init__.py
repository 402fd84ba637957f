"""Rebalance as use cases: what would move, begin, how far it is, stop. What differs by kind of cluster is in its
engine.
"""

"""Bringing back what a replacement took away, as pure decisions: which entries are known, what comes back, what it
replaces.
"""

"""Bringing back what a replacement removed, as pure decisions: which entries are known, what comes back, what it
replaces.
"""

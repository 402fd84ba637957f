"""Backups of an installation: what ZooKeeper and the database hold in one file, and the list of the deep store's files.

A restore is all or nothing: while it is under way no part starts, and done again it begins from the start.
"""

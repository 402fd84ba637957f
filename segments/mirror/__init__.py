"""Follows ZooKeeper into the Django models, incrementally; the only writer of mirror rows."""

"""Somebody is told: each finding once when it is there and once when it is gone, by webhook and mail, and never at others' cost."""

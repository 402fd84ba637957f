"""Checks of a new snapshot while it is still hidden: what they read is what queries will see."""

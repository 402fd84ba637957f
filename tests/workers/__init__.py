"""Which worker does what, for how long at most, and how it is seen that one does not work."""

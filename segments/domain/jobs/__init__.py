"""Jobs as values: which worker does what, and for how long."""

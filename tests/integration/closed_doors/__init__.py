"""One test for each closed door, on a running installation."""

"""What operators set: every value once, with default and meaning, read from the environment, else from one file."""

"""New tables in the console: from files and from streams."""

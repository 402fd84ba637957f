"""Pages: segments and deleted segments."""

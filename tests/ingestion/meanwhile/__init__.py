"""What somebody changes while a session reads or switches."""

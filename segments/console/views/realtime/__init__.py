"""Pages: consumption, and messages that were set aside."""

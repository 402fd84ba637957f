"""Pages by keyboard."""

"""The replacement protocol, pure."""

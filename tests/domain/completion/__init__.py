"""The completion protocol, pure."""

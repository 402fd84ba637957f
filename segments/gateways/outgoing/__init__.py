"""Connections to addresses that a user's text names: all of them pass the gate."""

"""Minion tasks: what only a real Pinot has."""

"""A real Pinot's versions, refusals, paths and tasks as values."""

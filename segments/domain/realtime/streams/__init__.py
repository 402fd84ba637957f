"""Stream configs and offsets as values."""

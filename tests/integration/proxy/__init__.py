"""An installation behind a real nginx."""

"""An installation whose parts speak TLS with one another."""

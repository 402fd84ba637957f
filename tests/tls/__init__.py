"""TLS between the parts of a cluster."""

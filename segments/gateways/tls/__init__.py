"""TLS between the parts of a cluster: what a part shows to those who call it, and whom it believes when it calls."""

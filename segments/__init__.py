"""pinotadmin's one Django app: protocols, segments, data plane and console of Apache Pinot tables."""

"""Django's PostgreSQL, with an end to waiting for a server that is frozen."""

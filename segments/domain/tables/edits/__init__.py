"""A changed schema or table config: what differs, what a schema may not change, what follows from it."""

"""A real PostgreSQL for tests, and tests run on it."""

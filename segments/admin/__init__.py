"""Django admin pages: read-only mirrors and records, users and groups; actions lead to the console's pages."""

from segments.admin import mirrors, people, records

__all__ = ["mirrors", "people", "records"]

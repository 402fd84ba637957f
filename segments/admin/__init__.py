"""Django admin pages: read-only mirrors and records, users, groups and their grants; actions lead to the console's pages."""

from segments.admin import grants, mirrors, people, records

__all__ = ["grants", "mirrors", "people", "records"]

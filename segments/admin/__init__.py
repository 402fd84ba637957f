"""Django admin pages: read-only mirrors and records, users, groups and their grants; actions ask for a
reason and act.
"""

from segments.admin import grants, ingestion, mirrors, people, records, schedules

__all__ = ["grants", "ingestion", "mirrors", "people", "records", "schedules"]

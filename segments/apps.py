"""Django app registration; opens no connection at import."""

import importlib

from django.apps import AppConfig
from django.conf import settings

from segments.dataplane import query_bounds
from segments.dataplane.query_bounds import QueryBounds


class SegmentsConfig(AppConfig):
    """The one app of this project."""

    name = "segments"
    verbose_name = "Tables and pushes"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """What a query may cost holds in every process that may run one. Changes of people and their rights go on
        record from now on.
        """
        from segments.services.access import people_audit  # needs the models

        # Celery's current application, for all who queue tasks.
        importlib.import_module("pinotadmin.celery")

        query_bounds.use(
            QueryBounds(
                settings.QUERY_MAX_ROWS,
                settings.QUERY_MAX_ANSWER_BYTES,
                settings.QUERY_MEMORY_BYTES,
                settings.QUERY_MAX_TIMEOUT_MS,
            )
        )
        people_audit.connect()

"""Django app registration; opens no connection at import."""

from django.apps import AppConfig


class SegmentsConfig(AppConfig):
    """The one app of this project."""

    name = "segments"
    default_auto_field = "django.db.models.BigAutoField"

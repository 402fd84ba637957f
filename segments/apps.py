"""Django app registration; opens no connection at import."""

from django.apps import AppConfig


class SegmentsConfig(AppConfig):
    """The one app of this project."""

    name = "segments"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Changes of people and their rights are put on record from now on."""
        from segments.services import people_audit  # needs the models

        people_audit.connect()

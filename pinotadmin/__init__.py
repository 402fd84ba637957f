"""The Django project: settings, URLs, ASGI entry point and the Celery application."""

from pinotadmin.celery import app as celery_app

__all__ = ["celery_app"]

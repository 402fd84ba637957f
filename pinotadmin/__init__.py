"""The Django project: settings, URLs, ASGI entry point, the Celery application and the command line."""

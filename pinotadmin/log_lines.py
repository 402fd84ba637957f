"""Lines of the log, tracebacks included, without the passwords of addresses and logins that libraries write into
theirs.
"""

from __future__ import annotations

import logging
from typing import Any

from segments.secret_texts import mask_text


class WithoutSecrets(logging.Formatter):
    """As the standard formatter; see ``segments.secret_texts`` for what is masked."""

    def format(self, record: logging.LogRecord) -> str:
        """The whole text of one record."""
        return mask_text(super().format(record))


def settings(level: str) -> dict[str, Any]:
    """Django's ``LOGGING``: lines without secrets to the console, from this level on."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "plain": {
                "()": "pinotadmin.log_lines.WithoutSecrets",
                "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
            }
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "django.request": {"level": "ERROR"},
            "kazoo": {"level": "WARNING"},
            "httpx": {"level": "WARNING"},
            "py4j": {"level": "WARNING"},
            # Two lines for every run of a task that mostly has nothing to do; failures are logged all the same.
            "celery.beat": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
        },
    }

"""Lines of the log, tracebacks included, without the passwords of addresses and logins that libraries write into
theirs.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from segments.request_ids import current_request
from segments.secret_texts import mask_text
from segments.traces import trace_id


class WithoutSecrets(logging.Formatter):
    """As the standard formatter; see ``segments.secret_texts`` for what is masked."""

    def format(self, record: logging.LogRecord) -> str:
        """The whole text of one record."""
        return mask_text(super().format(record))


class JsonLines(logging.Formatter):
    """One JSON object a line: ``at``, ``level``, ``logger``, ``message``, ``request_id`` (empty outside of requests and
    of what was done for one), ``trace_id`` (empty without a trace), ``pid``, ``thread``, and ``error`` with the
    traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The object of one record; nothing in it breaks the line."""
        found = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": mask_text(record.getMessage()),
            "request_id": current_request(),
            "trace_id": trace_id(),
            "pid": record.process,
            "thread": record.threadName,
        }
        if record.exc_info:
            found["error"] = mask_text(self.formatException(record.exc_info))
        return json.dumps(found, ensure_ascii=False)


def settings(level: str, form: str) -> dict[str, Any]:
    """Django's ``LOGGING``: lines without secrets to the console, from this level on. ``form``: plain or json."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "plain": {
                "()": "pinotadmin.log_lines.WithoutSecrets",
                "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
            },
            "json": {"()": "pinotadmin.log_lines.JsonLines"},
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": form}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            # uvicorn writes its own lines itself otherwise.
            "uvicorn": {"handlers": ["console"], "level": "WARNING", "propagate": False},
            # With a handler above it, uvicorn would put together a line for every answer, which nobody writes.
            "uvicorn.access": {"propagate": False},
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

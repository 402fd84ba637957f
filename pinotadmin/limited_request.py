"""A task in a worker: when it is ended because its time is up, the worker writes that down, since the task itself no
longer can.
"""

from __future__ import annotations

from celery.worker.request import Request

from pinotadmin.celery import note_ended


class LimitedRequest(Request):
    """The request class of all tasks."""

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """Celery's hook, called in the worker's main process."""
        super().on_timeout(soft, timeout)
        if not soft:
            note_ended(self.id, self.name, self.args, self.kwargs, timeout)

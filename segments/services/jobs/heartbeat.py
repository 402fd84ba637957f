"""A lease is renewed from a thread of its own while its holder works."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connections

from segments.traces import carried

log = logging.getLogger(__name__)


@contextmanager
def heartbeat(what: str, renew: Callable[[], bool], every_s: float) -> Iterator[None]:
    """Call ``renew`` every so many seconds while the block runs, until it answers False: the lease of ``what`` is lost.
    A failure is logged and tried again.
    """
    stop = threading.Event()
    beat = carried(lambda: _beat(stop, what, renew, every_s))
    thread = threading.Thread(target=beat, name=f"lease of {what}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _beat(stop: threading.Event, what: str, renew: Callable[[], bool], every_s: float) -> None:
    try:
        while not stop.wait(every_s):
            try:
                if not renew():
                    return
            except Exception:
                log.exception("The lease of %s could not be renewed; trying again.", what)
    finally:
        # The thread's own ones.
        connections.close_all()

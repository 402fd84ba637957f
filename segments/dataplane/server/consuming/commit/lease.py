"""Keeps the committer's time from running out while it builds and uploads (rule `lease-until-uploaded`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final

from segments.gateways import controller_protocol as protocol
from segments.gateways.controller_protocol import Controller, Report

log = logging.getLogger(__name__)

#: Seconds that one extension asks for, and after which the next one is asked.
EXTENSION_S: Final = 120
_EVERY_S: Final = 108.0
#: Seconds assumed when the controller gave none.
_ASSUMED_S: Final = 30
_FIRST_AT: Final = 0.9
_TRIES: Final = 3
_TRY_AGAIN_S: Final = 2.0


class Lease:
    """``with Lease(...)``: a thread asks for more time until the block ends. ``report`` gives the message of the
    moment.
    """

    def __init__(self, controller: Controller, report: Callable[[], Report], build_time_s: int) -> None:
        self._controller, self._report = controller, report
        self._first_s = _FIRST_AT * (build_time_s if build_time_s > 0 else _ASSUMED_S)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def __enter__(self) -> Lease:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()

    def _run(self) -> None:
        pause_s = self._first_s
        while not self._done.wait(pause_s):
            for _ in range(_TRIES):
                if self._controller.extend_build_time(self._report()).status == protocol.PROCESSED:
                    break
                if self._done.wait(_TRY_AGAIN_S):
                    return
            else:
                log.warning("The controller does not extend the time to build %s", self._report().segment)
            pause_s = _EVERY_S

"""Work that a test has done beside it: one step again and again, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Background:
    """Calls ``step`` with ``every_s`` seconds between two calls until ``stop``; a step that raises is the last one."""

    def __init__(self, step: Callable[[], object], every_s: float) -> None:
        self._step, self._every_s = step, every_s
        self._failure: Exception | None = None
        #: Set when the end is wanted; a step that waits may watch it.
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Background:
        """From now on."""
        self._thread.start()
        return self

    @property
    def works(self) -> bool:
        """Did no step raise so far?"""
        return self._failure is None

    def stop(self, seconds: float = 60.0) -> None:
        """No more, once the last step is over, which takes at most so long; raises what a step raised."""
        self.stopping.set()
        self._thread.join(seconds)
        assert not self._thread.is_alive(), f"a step takes longer than {seconds:g} s"
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self.stopping.wait(self._every_s):
                self._step()
        except Exception as error:  # noqa: BLE001  raised again by stop()
            self._failure = error

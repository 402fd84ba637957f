"""Whether a controller is worth asking: after a failure it is not called for a growing while, and every caller fails at
once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from segments.gateways.pinot.refusals import DOWN, UNKNOWN, UP, ControllerFault

#: Seconds until the first and at most until the next try; one silent answer after another that make a controller count
#: as down.
_FIRST_S: Final = 0.5
_LONGEST_S: Final = 15.0
_SILENCES: Final = 3


@dataclass(frozen=True)
class Circuit:
    """``state`` as in ``Cluster.State``; ``since_ms`` when it became so; ``error`` why; ``retry_at_ms`` when it is
    asked again.
    """

    state: str = UNKNOWN
    since_ms: int = 0
    error: str = ""
    remedy: str = ""
    retry_at_ms: int = 0

    @property
    def is_open(self) -> bool:
        """Can it not be used?"""
        return self.state not in (UNKNOWN, UP)


class Breaker:
    """Keeps one ``Circuit``; safe between threads. While it is open one caller at a time may try, when the pause is
    over.
    """

    def __init__(self, name: str, clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._name, self._clock = name, clock_ms
        self._lock = threading.Lock()
        self._circuit = Circuit()
        self._pause_s = _FIRST_S
        self._silences = 0

    @property
    def circuit(self) -> Circuit:
        """As it stands."""
        return self._circuit

    def require(self) -> None:
        """Raise at once while the controller is left alone; who passes tries it."""
        with self._lock:
            now, circuit = self._clock(), self._circuit
            # A clock that was set back must not make the pause longer than it can be.
            if circuit.is_open and 0 < circuit.retry_at_ms - now <= _LONGEST_S * 1000:
                since = datetime.fromtimestamp(circuit.since_ms / 1000, UTC)
                text = (
                    f"The controller of cluster '{self._name}' cannot be used since {since:%Y-%m-%d %H:%M:%S} UTC: "
                    f"{circuit.error}"
                )
                raise ControllerFault(circuit.state, text, remedy=circuit.remedy, since_ms=circuit.since_ms)
            if circuit.is_open:
                self._circuit = replace(circuit, retry_at_ms=now + int(self._pause_s * 1000))

    def succeeded(self) -> None:
        """It answered as Pinot does."""
        with self._lock:
            self._pause_s, self._silences = _FIRST_S, 0
            if self._circuit.state != UP:
                self._circuit = Circuit(UP, self._clock())

    def failed(self, fault: ControllerFault) -> None:
        """It cannot be used, and why."""
        with self._lock:
            self._open(fault)

    def was_silent(self, fault: ControllerFault) -> None:
        """It took longer than was allowed, which one heavy request may do; several in a row mean that it is down."""
        with self._lock:
            self._silences += 1
            if self._silences >= _SILENCES or self._circuit.is_open:
                self._open(fault)

    def _open(self, fault: ControllerFault) -> None:
        now, before = self._clock(), self._circuit
        since = before.since_ms if before.is_open and before.state == fault.state else now
        if before.is_open:
            self._pause_s = min(self._pause_s * 2, _LONGEST_S)
        self._circuit = Circuit(
            fault.state or DOWN, since, fault.message, fault.remedy, now + int(self._pause_s * 1000)
        )

"""What became of the last segments of each partition on this server, step by step: consumed, built, uploaded,
committed, downloaded, and what of it failed.

In memory and bounded: the page of a partition shows it, nothing is decided by it, and a restart begins again.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from segments.dataplane.server.consuming.decisions import State
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name

#: Segments kept of a partition, steps kept of a segment, and partitions in all.
_SEGMENTS: Final = 40
_STEPS: Final = 30
_PARTITIONS: Final = 5_000
#: Characters of a failure.
_LONGEST: Final = 500

CONSUME, BUILD, UPLOAD, COMMIT, DOWNLOAD = "consume", "build", "upload", "commit", "download"
#: Which step a worker's state is part of; states of no step end the one before.
_STEP_OF: Final = {State.STARTING: CONSUME, State.CONSUMING: CONSUME, State.COMMITTING: COMMIT}
_GOOD_ENDS: Final = {COMMIT: (State.COMMITTED,)}


@dataclass
class Step:
    """One thing that was done with a segment: times in epoch milliseconds, ``ended_ms`` None while it goes on."""

    kind: str
    began_ms: int
    ended_ms: int | None = None
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """For the page of the partition."""
        return {"kind": self.kind, "beganMs": self.began_ms, "endedMs": self.ended_ms, "problem": self.problem}


@dataclass
class _Life:
    state: str = ""
    since_ms: int = 0
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=_STEPS))


class SegmentLives:
    """Safe between threads; every call is a few dictionary operations."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._partitions: OrderedDict[tuple[str, int], OrderedDict[str, _Life]] = OrderedDict()

    def entered(self, table: str, segment: str, state: State) -> None:
        """The worker of a consuming segment is in this state now."""
        now_ms, kind = _now_ms(), _STEP_OF.get(state)
        with self._lock:
            life = self._life(table, segment)
            if life is None or life.state == state.value:
                return
            running = life.steps[-1] if life.steps and life.steps[-1].ended_ms is None else None
            if running is not None and running.kind in (CONSUME, COMMIT) and running.kind != kind:
                running.ended_ms = now_ms
                if state not in _GOOD_ENDS.get(running.kind, (state,)):
                    running.problem = "did not end"
                running = None
            if kind is not None and running is None:
                life.steps.append(Step(kind, now_ms))
            life.state, life.since_ms = state.value, now_ms

    def took(self, table: str, segment: str, kind: str, seconds: float, problem: str = "") -> None:
        """A step that is over; ``problem`` says why it failed."""
        now_ms = _now_ms()
        with self._lock:
            life = self._life(table, segment)
            if life is not None:
                step = Step(kind, now_ms - round(seconds * 1000), now_ms, problem[:_LONGEST])
                _insert(life.steps, step)

    @contextmanager
    def step(self, table: str, segment: str, kind: str) -> Iterator[None]:
        """The block is one step; what it raises is its problem."""
        began = time.monotonic()
        try:
            yield
        except Exception as error:
            self.took(table, segment, kind, time.monotonic() - began, str(error) or type(error).__name__)
            raise
        self.took(table, segment, kind, time.monotonic() - began)

    def of(self, table: str, partition: int) -> list[dict[str, Any]]:
        """The last segments of a partition of a typed table, by sequence."""
        with self._lock:
            lives = sorted(self._partitions.get((table, partition), {}).items(), key=lambda i: parse_llc_name(i[0]))
            return [
                {
                    "segmentName": name,
                    "state": life.state,
                    "sinceMs": life.since_ms,
                    "steps": [step.to_json() for step in life.steps],
                }
                for name, life in lives
            ]

    def forget(self, table: str) -> None:
        """The table is gone."""
        with self._lock:
            for key in [key for key in self._partitions if key[0] == table]:
                del self._partitions[key]

    def _life(self, table: str, segment: str) -> _Life | None:
        if not is_llc_name(segment):
            return None
        key = table, parse_llc_name(segment).partition
        lives = self._partitions.setdefault(key, OrderedDict())
        self._partitions.move_to_end(key)
        life = lives.setdefault(segment, _Life())
        while len(lives) > _SEGMENTS:
            del lives[min(lives, key=parse_llc_name)]
        while len(self._partitions) > _PARTITIONS:
            self._partitions.popitem(last=False)
        return life


def _insert(steps: deque[Step], step: Step) -> None:
    """Before a step that still goes on: the last one is that of the worker's state."""
    if steps and steps[-1].ended_ms is None:
        running = steps.pop()
        steps.extend((step, running))
    else:
        steps.append(step)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

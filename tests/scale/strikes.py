"""Chooses by chance what dies next, one after the other, while the rest of the installation works."""

from __future__ import annotations

import random
import threading
import time
from contextlib import suppress
from typing import Any, Final

from tests.scale.world import AWAY_S, IS_SHORT, SPARK_STARTS_AGAIN, World, stays_so
from tests.waiting import poll

#: Processes of the installation, and how often each is in one round: what answers and keeps data matters most.
_PROCESSES: Final = {
    "web": 2, "web-2": 2, "server": 4, "worker": 2, "mirror": 1, "beat": 1, "repairs": 1, "passes": 1, "validation": 1,
}  # fmt: skip
_WITHOUT_PEOPLE: Final = ("server", "worker", "mirror", "beat", "repairs", "passes", "validation")
#: What a process dies next to, half of the time.
_AWAY: Final = ("database", "ZooKeeper's leader", "S3 frozen")
#: What is not struck here: without a majority of ZooKeepers nothing is changed, and the stream is in that Redis.
_SPARED: Final = ("two ZooKeepers", "Redis")


class Strikes:
    """``done`` is what was struck so far, in order, and ``at`` when (of the monotonic clock)."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.random = world, random.Random(seed)
        self.done, self.at = list[str](), list[float]()
        self._round: list[str] = []

    def strike(self) -> None:
        """One fault, once everything is healthy after the one before; sometimes a process dies while something else is
        away.
        """
        found = self.world.wait_whole(300)
        stays_so(self.random.uniform(0.5, 4))
        name = self._next()
        if name in _PROCESSES:
            self._kill(name, found)
            return
        seconds = self.random.uniform(1, AWAY_S)
        self._note(name)
        away = threading.Thread(target=self.world.fault(name, seconds), name=name)
        away.start()
        if name in _AWAY and self.random.random() < 0.5:
            # A web process that starts without the database knows nobody, and answers 503.
            names = _WITHOUT_PEOPLE if name == "database" else tuple(_PROCESSES)
            self._kill(self.random.choice([n for n in names if not (IS_SHORT and n == "worker")]), found)
        away.join()

    def _next(self) -> str:
        """Everything has its turn in each round, in an order by chance."""
        if not self._round:
            names = [name for name, count in _PROCESSES.items() for _ in range(count)]
            names += [name for name in self.world.others(1) if name not in _SPARED]
            self._round = [name for name in names if not (IS_SHORT and name in SPARK_STARTS_AGAIN)]
            self.random.shuffle(self._round)
        return self._round.pop()

    def last_before(self, moment: float) -> str:
        """What was struck last before that moment, and how long before."""
        found = [(name, at) for name, at in zip(self.done, self.at, strict=True) if at <= moment]
        return f"{moment - found[-1][1]:.1f} s after {found[-1][0]}" if found else "before all"

    def _note(self, name: str) -> None:
        self.done.append(name)
        self.at.append(time.monotonic())

    def _kill(self, name: str, found: dict[str, Any]) -> None:
        self._note(name)
        with suppress(ProcessLookupError):  # it ended by itself
            self.world.kill(name, found)
        # Until that is noticed everything looks healthy, and both web processes of a host are not to die at once.
        installation = self.world.installation
        with suppress(AssertionError):
            poll(lambda: not (installation.folder / "endpoints.json").exists(), 15, "it is noticed")

"""Does a pool of workers do its work? Decided from what its processes report of themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from segments.domain.jobs.workers.pools import Pool

#: Seconds between two signs of life of a worker, and of silence after which it counts as gone.
BEAT_EVERY_S: Final = 5.0
_SILENT_S: Final = 30.0


@dataclass(frozen=True)
class Running:
    """A task that holds a slot: its name, since when (epoch ms), and what it is about (a push, a table;
    may be empty).
    """

    task: str
    since_ms: int
    about: str = ""


@dataclass(frozen=True)
class Seen:
    """What a worker wrote down: its last sign of life, when it began and last finished a task (epoch ms, None: never),
    what it is at.
    """

    beat_ms: int | None = None
    began_ms: int | None = None
    done_ms: int | None = None
    running: tuple[Running, ...] = ()


@dataclass(frozen=True)
class PoolState:
    """``problem`` is empty while the pool does its work."""

    pool: Pool
    problem: str
    running: tuple[Running, ...] = ()

    @property
    def ok(self) -> bool:
        """Does it do its work?"""
        return not self.problem

    def to_json(self, now_ms: int) -> dict[str, Any]:
        """The answer to who asks for its health."""
        tasks = [
            {"task": r.task, "about": r.about, "seconds": round((now_ms - r.since_ms) / 1000, 1)} for r in self.running
        ]
        return {
            "name": self.pool.name,
            "ok": self.ok,
            "problem": self.problem,
            "purpose": self.pool.purpose,
            "slots": self.pool.slots,
            "running": tasks,
        }


def judge(pool: Pool, seen: Seen, now_ms: int) -> PoolState:
    """Why the pool does not do its work, or that it does."""
    running = tuple(sorted(seen.running, key=lambda r: r.since_ms))
    return PoolState(pool, _problem(pool, seen, running, now_ms), running)


def _problem(pool: Pool, seen: Seen, running: tuple[Running, ...], now_ms: int) -> str:
    if seen.beat_ms is None:
        return f"The worker '{pool.name}' ({pool.purpose}) has never been up."
    silent_s = (now_ms - seen.beat_ms) / 1000
    if silent_s > _SILENT_S:
        return f"The worker '{pool.name}' ({pool.purpose}) has given no sign of life for {silent_s:.0f} s."
    last_ms = max(seen.began_ms or 0, seen.done_ms or 0)
    quiet_s = (now_ms - last_ms) / 1000
    if pool.quiet_s is None or not last_ms or quiet_s <= pool.quiet_s:
        return ""
    if not running:
        return f"The worker '{pool.name}' ({pool.purpose}) was given nothing to do for {quiet_s:.0f} s: does beat run?"
    at = ", ".join(
        f"{r.task}{f' ({r.about})' if r.about else ''} for {(now_ms - r.since_ms) / 1000:.0f} s" for r in running
    )
    return f"The worker '{pool.name}' ({pool.purpose}) finished nothing for {quiet_s:.0f} s; it is at {at}."

"""Where workers write down what they do, in Redis, for every process to see. Writing never raises: no task fails
because of it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Final

from redis import Redis, RedisError
from redis.exceptions import LockError

from segments.domain.jobs.workers.state import Running, Seen
from segments.errors import Unavailable

log = logging.getLogger(__name__)
_TIMEOUT_S: Final = 2.0
_RUN: Final = "run:"
#: The header of a task's message: when it was queued, in epoch milliseconds.
QUEUED_AT: Final = "pinotadmin_queued_at_ms"
#: Tasks that were ended because they took too long: so many are remembered.
_KEPT: Final = 100


@lru_cache(maxsize=4)
def shared(url: str, cluster: str) -> WorkerStatus:
    """This process's board of an installation."""
    return WorkerStatus(Redis.from_url(url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S), cluster)


class WorkerStatus:
    """One Redis hash per pool; times are epoch milliseconds."""

    def __init__(self, client: Redis, cluster: str) -> None:
        self._client, self._prefix = client, f"pinotadmin:{cluster}:workers:"

    def begin(self, pool: str, now_ms: int) -> None:
        """A worker comes up: what an earlier one was at is over."""
        self._try(lambda: self._begin(self._prefix + pool, now_ms))

    def beat(self, pool: str, now_ms: int) -> None:
        """A sign of life."""
        self._try(lambda: self._client.hset(self._prefix + pool, "beat", now_ms))

    def started(self, pool: str, task_id: str, task: str, about: str, now_ms: int) -> None:
        """A task took a slot."""
        self._try(lambda: self._client.hset(self._prefix + pool, _RUN + task_id, json.dumps([task, now_ms, about])))

    def finished(self, pool: str, task_id: str, now_ms: int, task: str = "", error: str = "") -> None:
        """A task gave its slot back; with an error it failed. How often in a row it did is counted by its name."""
        self._try(lambda: self._finish(self._prefix + pool, task_id, now_ms, task, error))

    def ended(self, pool: str, task_id: str, task: str, about: str, limit_s: float, now_ms: int) -> None:
        """A task was ended because its time was up."""
        self._try(lambda: self._end(pool, task_id, json.dumps([task, about, limit_s, now_ms])))

    @contextmanager
    def alone(self, what: str, seconds: float) -> Iterator[bool]:
        """True for one caller at a time, for at most so many seconds; False for the others. Unavailable when
        Redis does not answer.

        For what must go on while ZooKeeper is unreachable; everything else locks there.
        """
        lock = self._client.lock(f"{self._prefix}alone:{what}", timeout=seconds, blocking=False)
        with _reached():
            is_free = bool(lock.acquire())
        try:
            yield is_free
        finally:
            if is_free:
                with suppress(LockError, RedisError):  # it ended when its time was over
                    lock.release()

    def read(self, pool: str) -> Seen:
        """What the pool wrote down. Unavailable when Redis does not answer."""
        with _reached():
            found: Mapping[bytes, bytes] = self._client.hgetall(self._prefix + pool)  # type: ignore[assignment]  # not the asynchronous client
        fields = {name.decode(): value.decode() for name, value in found.items()}
        running = tuple(_running(value) for name, value in fields.items() if name.startswith(_RUN))
        beat, began, done = (int(fields[name]) if name in fields else None for name in ("beat", "began", "done"))
        return Seen(beat, began, done, running)

    def ticked(self, now_ms: int) -> None:
        """Beat has checked which schedules are due."""
        self._try(lambda: self._client.set(self._prefix + "ticked", now_ms))

    def read_tick(self) -> int | None:
        """When beat last did; None: never. Unavailable when Redis does not answer."""
        with _reached():
            found: bytes | None = self._client.get(self._prefix + "ticked")  # type: ignore[assignment]  # not the asynchronous client
        return None if found is None else int(found)

    def read_queue(self, queue: str) -> tuple[int, int | None]:
        """How many tasks wait for a worker in this queue of Celery's, and since when the oldest does, where its message
        says so. Unavailable when Redis does not answer.
        """
        with _reached(), self._client.pipeline() as pipe:
            pipe.llen(queue)
            pipe.lindex(queue, -1)  # workers take from this end
            length, oldest = pipe.execute()
        headers = json.loads(oldest).get("headers", {}) if oldest else {}
        at = headers.get(QUEUED_AT)
        return int(length), int(at) if isinstance(at, int) else None

    def read_ended(self, since_ms: int) -> list[tuple[str, str, float, int]]:
        """(task, about, limit in s, when) of tasks that were ended since then. Unavailable when
        Redis does not answer.
        """
        with _reached():
            lines: list[bytes] = self._client.lrange(self._prefix + "ended", 0, -1)  # type: ignore[assignment]  # not the asynchronous client
        found = [(str(t), str(a), float(limit), int(at)) for t, a, limit, at in map(json.loads, lines)]
        return [one for one in found if one[3] >= since_ms]

    def _begin(self, key: str, now_ms: int) -> None:
        with self._client.pipeline() as pipe:
            pipe.delete(key)
            pipe.hset(key, mapping={"beat": now_ms, "began": now_ms})
            pipe.execute()

    def read_failing(self) -> list[tuple[str, int, str]]:
        """(task, failures in a row, last error) of tasks whose last run failed. Unavailable when
        Redis does not answer.
        """
        with _reached():
            times: Mapping[bytes, bytes] = self._client.hgetall(self._prefix + "failures")  # type: ignore[assignment]  # not the asynchronous client
            errors: Mapping[bytes, bytes] = self._client.hgetall(self._prefix + "errors")  # type: ignore[assignment]  # as above
        return [(task.decode(), int(count), errors.get(task, b"").decode()) for task, count in sorted(times.items())]

    def _finish(self, key: str, task_id: str, now_ms: int, task: str, error: str) -> None:
        with self._client.pipeline() as pipe:
            pipe.hdel(key, _RUN + task_id)
            pipe.hset(key, "done", now_ms)
            if error:
                pipe.hincrby(self._prefix + "failures", task)
                pipe.hset(self._prefix + "errors", task, error)
            else:
                pipe.hdel(self._prefix + "failures", task)
            pipe.execute()

    def _end(self, pool: str, task_id: str, line: str) -> None:
        with self._client.pipeline() as pipe:
            pipe.hdel(self._prefix + pool, _RUN + task_id)
            pipe.lpush(self._prefix + "ended", line)
            pipe.ltrim(self._prefix + "ended", 0, _KEPT - 1)
            pipe.execute()

    def _try(self, write: Callable[[], Any]) -> None:
        try:
            write()
        except (RedisError, OSError) as error:
            log.warning("What this worker does could not be written down: %s", error)


@contextmanager
def _reached() -> Iterator[None]:
    """What Redis fails with, as Unavailable."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise Unavailable(f"Redis does not answer: {error}.", remedy="Check that it runs (REDIS_URL).") from error


def _running(line: str) -> Running:
    task, since_ms, about = json.loads(line)
    return Running(str(task), int(since_ms), str(about))

"""A Store that fails on purpose at the k-th write, so that tests can interrupt a use case at every point it has."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, OutcomeUnknown
from segments.store.base import Create, Delete, Replace, Store, Versioned, Watch, WatchCallback, Write

T = TypeVar("T")


class Cut(BaseException):
    """The process died here. No ``except Exception`` of the code under test can catch it, and the store stays dead."""


class Fault(enum.Enum):
    """What happens at a write."""

    CUT_BEFORE = "the process dies, nothing is written"
    CUT_AFTER = "the process dies after the write"
    LOST_BEFORE = "OutcomeUnknown, nothing is written"
    LOST_AFTER = "OutcomeUnknown, but the write landed"
    CONFLICT = "Conflict, as if somebody had been faster"


@dataclass
class Plan:
    """Faults by the number of the write, from 1 (a transaction is one write). ``before`` runs right before the k-th
    write: a race.
    """

    faults: dict[int, Fault] = field(default_factory=dict)
    before: dict[int, Callable[[], object]] = field(default_factory=dict)


class FaultyStore:
    """Passes everything to ``inner`` but follows ``plan`` at writes. ``writes`` lists what was tried, in order."""

    def __init__(self, inner: Store, plan: Plan | None = None) -> None:
        self.inner = inner
        self.plan = plan or Plan()
        self.writes: list[tuple[Write, ...]] = []
        self.is_dead = False

    def get(self, path: str) -> Versioned | None:
        return self._alive().get(path)

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        return self._alive().get_many(paths)

    def children(self, path: str) -> list[str]:
        return self._alive().children(path)

    def children_many(self, paths: Sequence[str]) -> list[list[str]]:
        return self._alive().children_many(paths)

    def exists(self, path: str) -> int | None:
        return self._alive().exists(path)

    def create(self, path: str, record: ZNRecord | None, *, ephemeral: bool = False) -> Versioned:
        return self._write((Create(path, record),), lambda: self.inner.create(path, record, ephemeral=ephemeral))

    def replace(self, path: str, record: ZNRecord, version: int) -> Versioned:
        return self._write((Replace(path, record, version),), lambda: self.inner.replace(path, record, version))

    def delete(self, path: str, version: int | None = None) -> bool:
        return self._write((Delete(path, version),), lambda: self.inner.delete(path, version))

    def delete_tree(self, path: str) -> None:
        self._write((Delete(path),), lambda: self.inner.delete_tree(path))

    def transaction(self, writes: Sequence[Write]) -> None:
        self._write(tuple(writes), lambda: self.inner.transaction(writes))

    def watch(self, prefix: str, callback: WatchCallback) -> Watch:
        return self._alive().watch(prefix, callback)

    def session_id(self) -> str:
        return self._alive().session_id()

    def on_session(self, callback: Callable[[], None]) -> None:
        self._alive().on_session(callback)

    def close(self) -> None:
        self.inner.close()

    def _alive(self) -> Store:
        if self.is_dead:
            raise Cut("the process is dead")
        return self.inner

    def _write(self, writes: tuple[Write, ...], apply: Callable[[], T]) -> T:
        self._alive()
        self.writes.append(writes)
        number = len(self.writes)
        self.plan.before.get(number, lambda: None)()
        fault = self.plan.faults.get(number)
        if fault is Fault.CUT_BEFORE:
            self._die(number)
        if fault is Fault.CONFLICT:
            raise Conflict(f"Write {number} is made to conflict.")
        if fault is Fault.LOST_BEFORE:
            raise OutcomeUnknown(f"Write {number} is lost on its way.")
        result = apply()
        if fault is Fault.CUT_AFTER:
            self._die(number)
        if fault is Fault.LOST_AFTER:
            raise OutcomeUnknown(f"The reply to write {number} is lost.")
        return result

    def _die(self, number: int) -> None:
        self.is_dead = True
        raise Cut(f"the process dies at write {number}")


def every_interruption(
    start: Callable[[], Store], run: Callable[[Store], object], kinds: Sequence[Fault] = tuple(Fault)
) -> Iterator[tuple[int, Fault, Store]]:
    """Run a use case once undisturbed to count its writes, then once for each (write, fault); yield where, what and the
    inner store.

    ``start`` makes a fresh prepared store for each run. A ``Cut`` is caught here; what else ``run`` raises is the
    test's to see.
    """
    counting = FaultyStore(start())
    run(counting)
    for number in range(1, len(counting.writes) + 1):
        for kind in kinds:
            inner = start()
            with contextlib.suppress(Cut):
                run(FaultyStore(inner, Plan({number: kind})))
            yield number, kind, inner

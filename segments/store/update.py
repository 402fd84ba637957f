"""THE compare-and-set loop: read, decide, no write if equal, write on the version read, start over on a
conflict.

Nothing decided from an older read survives a retry (rules `decide-again-after-conflict` and `repeats-are-harmless`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, OutcomeUnknown, Unavailable
from segments.store.base import Check, Create, Delete, Replace, Store, Versioned, Write
from segments.store.writer_turns import in_turn

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how fast a lost write is tried again.

    The first retry comes at once, later ones after a random pause below ``first_pause_s`` * 2^n, at most
    ``longest_pause_s`` (seconds). ``attempts`` and ``deadline_s`` both end it. ``sleep``, ``random`` and ``clock`` are
    there for tests.
    """

    attempts: int = 40
    deadline_s: float = 20.0
    first_pause_s: float = 0.004
    longest_pause_s: float = 0.25
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic

    def pause_s(self, lost: int) -> float:
        """Seconds to wait after the ``lost``-th lost attempt (1, 2, ...)."""
        if lost <= 1:
            return 0.0
        return float(self.random() * min(self.longest_pause_s, self.first_pause_s * 2 ** min(lost - 2, 16)))


DEFAULT_POLICY = RetryPolicy()


@dataclass(frozen=True)
class Update:
    """What ``update_record`` did: the znode as last read, as it is now, and the number of attempts (1 =
    no conflict).
    """

    before: Versioned | None
    after: Versioned | None
    changed: bool
    attempts: int


@dataclass(frozen=True)
class Committed:
    """What ``update_transaction`` did: the writes that landed (empty: nothing to do) and the number of attempts."""

    writes: tuple[Write, ...]
    attempts: int

    @property
    def changed(self) -> bool:
        return bool(self.writes)


def update_record(
    store: Store,
    path: str,
    decide: Callable[[Versioned | None], ZNRecord | None],
    *,
    policy: RetryPolicy = DEFAULT_POLICY,
) -> Update:
    """Change one znode by ``decide``, which gets a fresh read in each attempt and returns the new record, or None for
    no change.

    A missing znode is created (it must still be missing), an existing one replaced on the version read. ``decide`` must
    find its own trace when it runs again (rule 6): a write whose reply was lost and that was overwritten meanwhile is
    decided again. Raises what ``decide`` raises, at once; Conflict when all attempts lost; OutcomeUnknown when the last
    write may have landed.
    """
    tries = _Tries(path, policy)
    doubtful: ZNRecord | None = None
    while True:
        before = tries.read(lambda: store.get(path))
        if doubtful is not None and before is not None and before.record == doubtful:
            return Update(before, before, True, tries.attempt)
        tries.doubt = doubtful = None
        wanted = decide(before)
        if wanted is None or (before is not None and before.record == wanted):
            return Update(before, before, False, tries.attempt)
        try:
            after = store.create(path, wanted) if before is None else store.replace(path, wanted, before.version)
            return Update(before, after, True, tries.attempt)
        except Conflict as error:
            tries.lost(error)
        except OutcomeUnknown as error:
            doubtful, tries.doubt = wanted, error
            tries.lost(error)


def update_transaction(
    store: Store,
    attempt: Callable[[], Sequence[Write] | None],
    *,
    policy: RetryPolicy = DEFAULT_POLICY,
    turn: str | None = None,
) -> Committed:
    """Change several znodes as one: ``attempt`` reads, decides and returns the writes; None or empty means nothing to
    do.

    ``attempt`` runs again, from its reads on, after every conflict. After a lost reply the znodes are read first:
    writes that landed are not repeated; where others wrote meanwhile ``attempt`` decides and must find its own trace
    (rule 6). ``turn``: writers of this process that name the same one (a table) go one after another, which saves
    attempts. Raises as ``update_record``.
    """
    if turn is not None:
        with in_turn(store, turn):
            return update_transaction(store, attempt, policy=policy)
    tries = _Tries("transaction", policy)
    doubtful: tuple[Write, ...] = ()
    while True:
        if bool(doubtful) and tries.read(partial(has_landed, store, doubtful)):
            return Committed(doubtful, tries.attempt)
        tries.doubt, doubtful = None, ()
        writes = tuple(attempt() or ())
        if not writes:
            return Committed((), tries.attempt)
        tries.name = ", ".join(write.path for write in writes[:3])
        try:
            store.transaction(writes)
            return Committed(writes, tries.attempt)
        except Conflict as error:
            tries.lost(error)
        except OutcomeUnknown as error:
            doubtful, tries.doubt = writes, error
            tries.lost(error)


def has_landed(store: Store, writes: Sequence[Write]) -> bool:
    """True when every znode is as right after ``writes``, False as soon as one does not (or was changed again
    since).
    """
    last = {write.path: write for write in writes if not isinstance(write, Check)}
    return all(_fits(write, found) for write, found in zip(last.values(), store.get_many(list(last)), strict=True))


def _fits(write: Create | Replace | Delete, found: Versioned | None) -> bool:
    match write:
        case Create(_, record):
            return found is not None and found.version == 0 and found.record == record
        case Replace(_, record, version):
            return found is not None and found.version == version + 1 and found.record == record
        case Delete():
            return found is None


class _Tries:
    """Counts attempts, waits between them, and ends them with the error that fits. ``doubt`` is the write that may have
    landed.
    """

    def __init__(self, name: str, policy: RetryPolicy) -> None:
        self.name = name
        self.attempt = 1
        self.doubt: OutcomeUnknown | None = None
        self._policy = policy
        self._deadline = policy.clock() + policy.deadline_s

    def lost(self, error: Conflict | OutcomeUnknown) -> None:
        """Wait for the next attempt, or raise when there is none left."""
        if self._is_over() and isinstance(error, OutcomeUnknown):
            raise error
        if self._is_over():
            text = f"{self.name} changed under each of {self.attempt} attempts."
            raise Conflict(text, remedy="Try again later.", last=str(error)) from error
        self._policy.sleep(self._policy.pause_s(self.attempt))
        self.attempt += 1

    def read(self, read: Callable[[], T]) -> T:
        """The read; while a write is in doubt an unreachable ZooKeeper is waited for, then the doubt is
        what is raised.
        """
        while True:
            try:
                return read()
            except Unavailable:
                if self.doubt is None:
                    raise
                if self._policy.clock() >= self._deadline:
                    raise self.doubt from None
                self._policy.sleep(self._policy.longest_pause_s)

    def _is_over(self) -> bool:
        return self.attempt >= self._policy.attempts or self._policy.clock() >= self._deadline

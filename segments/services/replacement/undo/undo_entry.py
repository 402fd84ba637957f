"""The entry with which segments come back, and the lock under which one process carries it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from segments.domain.replacement.lineage import ACTOR, HEARTBEAT, LEASE, Entry, State
from segments.errors import StateConflict
from segments.services.core.context import Actor, Context
from segments.services.jobs.job_lock import sole_worker


def new_entry(
    ctx: Context, entry_id: str, old: Sequence[str], new: Sequence[str], actor: Actor, notes: Mapping[str, str]
) -> Entry:
    """An unfinished entry with a lease from now on."""
    now = ctx.clock()
    signs = {ACTOR: actor.name, LEASE: "true", HEARTBEAT: str(now)}
    return Entry(entry_id, tuple(old), tuple(new), State.IN_PROGRESS, now, notes={**signs, **notes})


@contextmanager
def held(ctx: Context, entry_id: str) -> Iterator[None]:
    """Nobody else carries this entry out meanwhile. StateConflict when somebody does."""
    for is_last in (False, True):  # the first try removes a lock that this process left
        with sole_worker(ctx, f"return-{entry_id}") as is_ours:
            if is_ours:
                yield
                return
        if is_last:
            raise StateConflict(
                f"Lineage entry '{entry_id}' is being carried out right now.",
                remedy="Check it again in a moment.",
                entry=entry_id,
            )

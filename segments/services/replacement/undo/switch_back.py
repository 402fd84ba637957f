"""A replacement whose new side comes back from the archive of deleted segments: opened hidden, restored, waited for,
switched.

Its entry is leased: a process that dies leaves it to whoever asks again, or to the reaper, which reverts it; then the
files go back into the archive. Until the switch queries see what they saw before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.lineage import ACTOR, HEARTBEAT, LEASE, Entry, Lineage, State
from segments.domain.replacement.replacement_settings import settings_or_default
from segments.errors import PinotAdminError, PreconditionFailed, StateConflict
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.jobs.job_lock import sole_worker
from segments.services.replacement.ends.waiting_ends import kept_alive
from segments.services.replacement.lineage_record import Observed, observe, read_lineage
from segments.services.replacement.lineage_switch import Switch, apply_switch
from segments.services.replacement.undo.past_entries import keep_entries
from segments.services.segments import deletion
from segments.services.segments.deletion_queue import read_queue
from segments.services.segments.online import wait_until_online
from segments.services.segments.restore import restore_hidden
from segments.store import paths
from segments.store.base import Check, Write
from segments.store.update import update_transaction

#: Seconds for which a segment is waited for that is just being put away, or whose interrupted restore is to be undone
#: first.
_BUSY_S: Final = 45.0
_LOOK_S: Final = 0.1


@dataclass(frozen=True)
class Opening:
    """The lineage with the new entry, that entry, and those that gave up names to it."""

    lineage: Lineage
    entry: Entry
    stripped: tuple[Entry, ...]


@dataclass(frozen=True)
class Return:
    """One return of segments. ``action`` and ``detail`` go into the audit record."""

    ctx: Context
    table: TableName
    actor: Actor
    action: str
    detail: Mapping[str, Any]

    def open(self, decide: Callable[[Observed], Opening | Entry]) -> Entry:
        """Write what ``decide`` opens, in one step with what it was decided from; an entry it returns is one that is
        open already.
        """
        found: list[Entry] = []

        def attempt() -> Sequence[Write] | None:
            seen = observe(self.ctx, self.table)
            opening = decide(seen)
            if isinstance(opening, Entry):
                found[:] = [opening]
                return None
            found[:] = [opening.entry]
            keep_entries(self.ctx, self.table, opening.stripped)
            return [seen.write_lineage(opening.lineage), Check(paths.ideal_state(self.table.typed), seen.ideal_version)]

        update_transaction(self.ctx.store, attempt, turn=self.table.typed)
        return found[0]

    def carry_out(self, entry_id: str) -> Entry:
        """Until queries see the new side. What stays in the way gives the entry up and is raised; queries never saw it
        then.
        """
        try:
            with kept_alive(self.ctx, self.table, entry_id):
                entry = self._bring_back(entry_id)
                self._wait(entry)
                apply_switch(self.ctx, self.table, self.action, self.actor, lambda seen: self._switch(seen, entry_id))
        except PinotAdminError as error:
            if error.permanent:
                self._give_up(entry_id, str(error))
            raise
        return observe(self.ctx, self.table).lineage.entry(entry_id)

    def _bring_back(self, entry_id: str) -> Entry:
        deadline = self.ctx.timer.seconds() + _BUSY_S
        while True:
            seen = observe(self.ctx, self.table)
            entry = _open_entry(seen.lineage, entry_id)
            missing = [s for s in entry.segments_to if s not in seen.ideal.maps]
            if not missing or entry.state is State.COMPLETED:
                return entry
            left = [o for o in restore_hidden(self.ctx, self.table, missing, entry_id) if o.outcome != "done"]
            queued = read_queue(self.ctx, self.table).items if left else {}
            lost = [o for o in left if o.segment not in queued]
            if lost or (left and self.ctx.timer.seconds() > deadline):
                first = (lost or left)[0]
                raise PreconditionFailed(first.message, remedy=first.remedy, segments=[o.segment for o in lost or left])
            if left:
                deletion.drain(self.ctx, self.table)
                self.ctx.timer.pause(_LOOK_S)

    def _wait(self, entry: Entry) -> None:
        ctx, table = self.ctx, self.table
        if entry.state is State.COMPLETED:
            return
        required = settings_or_default(observe(ctx, table).config).replicas_required

        def is_worth_it() -> None:
            _open_entry(read_lineage(ctx, table) or Lineage(table.typed), entry.id)

        wait_until_online(ctx, table, entry.segments_to, required=required, is_worth_it=is_worth_it)

    def _switch(self, seen: Observed, entry_id: str) -> Switch | None:
        if _open_entry(seen.lineage, entry_id).state is State.COMPLETED:
            return None
        decision = replacement.end(
            seen.lineage, entry_id, segments_to=(), ideal=seen.ideal.maps, is_refresh=False, now_ms=self.ctx.clock()
        )
        return Switch(decision.lineage, decision.delete, {"entry": entry_id, **self.detail})

    def _give_up(self, entry_id: str, why: str) -> None:
        def decide(seen: Observed) -> Switch | None:
            entry = seen.lineage.entries.get(entry_id)
            if entry is None or entry.state is not State.IN_PROGRESS:
                return None
            rows = dict.fromkeys(seen.ideal.maps, True)
            decision = replacement.revert(seen.lineage, entry_id, force=True, ideal=rows, now_ms=self.ctx.clock())
            return Switch(decision.lineage, decision.delete, {"entry": entry_id, "error": why})

        apply_switch(self.ctx, self.table, f"{self.action}GivenUp", self.actor, decide)


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
    for is_last in (False, True):  # a lock that this process left is removed by the first look
        with sole_worker(ctx, f"return-{entry_id}") as is_ours:
            if is_ours:
                yield
                return
        if is_last:
            raise StateConflict(
                f"Lineage entry '{entry_id}' is being carried out right now.",
                remedy="Look at it again in a moment.",
                entry=entry_id,
            )


def _open_entry(lineage: Lineage, entry_id: str) -> Entry:
    """The entry while it is IN_PROGRESS or, ended by somebody else, COMPLETED. StateConflict when it was taken back
    meanwhile.
    """
    entry = lineage.entries.get(entry_id)
    if entry is None or entry.state is State.REVERTED:
        raise StateConflict(
            f"Lineage entry '{entry_id}' of table '{lineage.table}' was taken back while its segments came back.",
            remedy="Look at the table's lineage, then try again.", entry=entry_id,
        )  # fmt: skip
    return entry

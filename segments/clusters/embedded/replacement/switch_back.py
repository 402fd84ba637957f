"""A replacement whose new side comes back from the archive of deleted segments: opened hidden, restored, waited for,
switched.

Its entry is leased: a process that dies leaves it to whoever asks again, or to the reaper, which reverts it; then the
files go back into the archive. Until the switch queries see what they saw before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from segments.clusters.embedded.replacement.switching import switch
from segments.clusters.embedded.segments.deletion_queue import read_queue
from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.domain.replacement.replacement_settings import settings_or_default
from segments.errors import PinotAdminError, PreconditionFailed, StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.engine.lineage import BroughtBack, Return, Switch, switch_of
from segments.services.replacement.ends.waiting_ends import kept_alive
from segments.services.replacement.lineage_record import Observed, observe, read_lineage
from segments.services.replacement.undo.kept_entries import keep_entries
from segments.services.replacement.undo.undo_entry import held
from segments.services.segments import deletion
from segments.services.segments.online import wait_until_online
from segments.services.segments.restore import restore_hidden
from segments.store import paths
from segments.store.base import Check, Write
from segments.store.update import update_transaction

#: Seconds for which a segment is waited for that is just being archived, or whose interrupted restore is to be undone
#: first.
_BUSY_S: Final = 45.0
_POLL_S: Final = 0.1


def bring_back(ctx: Context, table: TableName, back: Return, actor: Actor) -> BroughtBack:
    """As ``LineageEngine.bring_back``."""
    with held(ctx, back.entry_id):
        one = _Returning(ctx, table, back, actor)
        one.open()
        return one.carry_out()


@dataclass(frozen=True)
class _Returning:
    ctx: Context
    table: TableName
    back: Return
    actor: Actor

    def open(self) -> None:
        """Write the entry, in one step with what it was decided from."""

        def attempt() -> Sequence[Write] | None:
            seen = observe(self.ctx, self.table)
            opening = self.back.decide(seen)
            if isinstance(opening, Entry):
                return None
            keep_entries(self.ctx, self.table, opening.stripped)
            return [seen.write_lineage(opening.lineage), Check(paths.ideal_state(self.table.typed), seen.ideal_version)]

        update_transaction(self.ctx.store, attempt, turn=self.table.typed)

    def carry_out(self) -> BroughtBack:
        """Until queries see the new side, or the entry is given up."""
        entry_id = self.back.entry_id
        try:
            with kept_alive(self.ctx, self.table, entry_id):
                self._wait(self._bring_back())
                done = switch(self.ctx, self.table, self._switch)
        except PinotAdminError as error:
            if error.permanent:
                self._give_up(str(error))
            raise
        return BroughtBack(observe(self.ctx, self.table).lineage.entry(entry_id), done)

    def _bring_back(self) -> Entry:
        entry_id = self.back.entry_id
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
                self.ctx.timer.pause(_POLL_S)

    def _wait(self, entry: Entry) -> None:
        ctx, table = self.ctx, self.table
        if entry.state is State.COMPLETED:
            return
        required = settings_or_default(observe(ctx, table).config).replicas_required

        def is_worth_it() -> None:
            _open_entry(read_lineage(ctx, table) or Lineage(table.typed), entry.id)

        wait_until_online(ctx, table, entry.segments_to, required=required, is_worth_it=is_worth_it)

    def _switch(self, seen: Observed) -> Switch | None:
        entry_id = self.back.entry_id
        if _open_entry(seen.lineage, entry_id).state is State.COMPLETED:
            return None
        return switch_of(
            replacement.end(
                seen.lineage, entry_id, segments_to=(), ideal=seen.ideal.maps, is_refresh=False, now_ms=self.ctx.clock()
            )
        )

    def _give_up(self, why: str) -> None:
        ctx, entry_id = self.ctx, self.back.entry_id

        def decide(seen: Observed) -> Switch | None:
            entry = seen.lineage.entries.get(entry_id)
            if entry is None or entry.state is not State.IN_PROGRESS:
                return None
            rows = dict.fromkeys(seen.ideal.maps, True)
            return switch_of(replacement.revert(seen.lineage, entry_id, force=True, ideal=rows, now_ms=ctx.clock()))

        done = switch(ctx, self.table, decide)
        if done is not None:
            action, detail = f"{self.back.action}GivenUp", {"entry": entry_id, "error": why, **done.brokers}
            deleted = list(done.deleted[:100])
            audit.record(self.actor, action, cluster=ctx.cluster, target=self.table.typed, deleted=deleted, **detail)


def _open_entry(lineage: Lineage, entry_id: str) -> Entry:
    """The entry while it is IN_PROGRESS or, ended by somebody else, COMPLETED. StateConflict when it was taken back
    meanwhile.
    """
    entry = lineage.entries.get(entry_id)
    if entry is None or entry.state is State.REVERTED:
        raise StateConflict(
            f"Lineage entry '{entry_id}' of table '{lineage.table}' was taken back while its segments came back.",
            remedy="Check the table's lineage, then try again.", entry=entry_id,
        )  # fmt: skip
    return entry

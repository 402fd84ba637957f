"""An end as requested, and what it waits for before it switches: replicas of the new segments, checks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from segments import traces
from segments.domain.formats.plural import counted
from segments.domain.replacement.lineage import Entry, State
from segments.domain.replacement.replacement_settings import settings_or_default
from segments.domain.tables.table_config import TableConfig
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.replacement import start_admission
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.ends.waiting_ends import kept_alive
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.segments.online import Progress, wait_until_online

T = TypeVar("T")

#: Names in a refusal's sentence, and in its data.
_NAMED: Final = 3
_LISTED: Final = 100

#: How often an end waits and checks because segments were uploaded again meanwhile.
_ROUNDS: Final = 3


class NotWhole(StateConflict):
    """Queries would see other segments next to a new side that was to be the whole table."""


@dataclass(frozen=True)
class EndRequest:
    """``segments_to``: what the end names instead of the entry's own, empty: nothing. ``override``: the reason for
    which a failed check is passed over. ``progress`` as for ``wait_until_online``. ``guard`` gets the entry as read in
    every attempt, and raises when the caller no longer wants this end. ``strict``: the new side must be all that
    queries see.
    """

    ctx: Context
    table: TableName
    entry_id: str
    segments_to: tuple[str, ...]
    actor: Actor
    override: str = ""
    progress: Progress | None = None
    guard: Callable[[Entry], object] | None = None
    strict: bool = False

    def observe(self) -> Observed:
        """The table's replacements now. Raises what the guard raises."""
        seen = observe(self.ctx, self.table)
        self.check(seen)
        return seen

    def check(self, seen: Observed) -> None:
        """Raises what the guard raises for the entry as read; NotWhole."""
        entry = seen.lineage.entry(self.entry_id)
        if self.guard is not None:
            self.guard(entry)
        if self.strict and entry.state is State.IN_PROGRESS:
            self._require_whole(seen)

    def _require_whole(self, seen: Observed) -> None:
        found = seen.lineage.uncovered(self.entry_id, seen.ideal.maps)
        if found:
            more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
            raise NotWhole(
                f"{counted(len(found), 'segment', 'was', 'were')} added to table '{self.table}' after the start of "
                f"'{self.entry_id}', and would stay next to its new segments: {', '.join(found[:_NAMED])}{more}.",
                remedy="Revert it and start again, which replaces them, too; or end it without strictSnapshot.",
                segments=found[:_LISTED],
                count=len(found),
            )

    def require_ready(
        self, entry: Entry, config: TableConfig, is_worth_it: Callable[[], None] | None = None
    ) -> dict[str, str]:
        """Wait for the replicas, then run the checks; the files that they read, {segment: CRC}.

        Where the end names segments of its own, the rows declared at the start do not count. ``is_worth_it`` as for
        ``wait_until_online``. A client with a lease keeps it meanwhile. Raises PreconditionFailed, or what
        ``is_worth_it`` raises.
        """
        declared = None if self.segments_to else start_admission.declared_rows(entry)
        required = settings_or_default(config).replicas_required
        with kept_alive(self.ctx, self.table, entry.id):
            with traces.step("wait for replicas", segments=len(entry.segments_to)):
                wait_until_online(
                    self.ctx,
                    self.table,
                    entry.segments_to,
                    progress=self.progress,
                    required=required,
                    is_worth_it=is_worth_it,
                )
            with traces.step("check the snapshot"):
                read = snapshot_checks.require_passed(
                    self.ctx,
                    self.table,
                    entry,
                    override=self.override,
                    actor=self.actor,
                    config=config,
                    declared=declared,
                )
            return dict(read)

    def until_files_stay(self, attempt: Callable[[], T]) -> T:
        """What ``attempt`` returns; called again when a segment was uploaded again after its checks."""
        for _ in range(_ROUNDS):
            with suppress(snapshot_checks.FilesChanged):
                return attempt()
        raise snapshot_checks.uploading_again(self.table, self.entry_id)

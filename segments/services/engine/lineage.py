"""Replacements: the lineage of a table and the switches of queries between its sides, as every kind of cluster offers
it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from segments.domain.replacement.decisions import Decision, Replacement
from segments.domain.replacement.lineage import Entry, Lineage
from segments.domain.replacement.rollback import RollbackPlan
from segments.domain.replacement.stepwise_rollback import StepwiseRollback
from segments.domain.replacement.undo.plan import UndoPlan
from segments.domain.tables.table_config import TableConfig
from segments.names import TableName

if TYPE_CHECKING:
    from segments.services.core.context import Actor, Context
    from segments.services.replacement.lineage_record import Observed
    from segments.store.base import Write


@dataclass(frozen=True)
class Start:
    """A replacement to open. ``entry_id``: whoever gives one may repeat the call, it is done once; empty: none.

    ``admit`` gets the state as read, the lineage without this entry, and the segments that leave with the start; it
    raises when the table's quota is too small.
    """

    wanted: Replacement
    actor: Actor
    admit: Callable[[Observed, Lineage, Collection[str]], None]
    entry_id: str = ""
    custom_map: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Started:
    """The new entry's id, and the segments that left the table with the start."""

    entry_id: str
    deleted: Sequence[str] = ()


@dataclass(frozen=True)
class Switch:
    """What a decision makes of a lineage. ``entry`` is the one concerned, as it is then.

    ``remove_now``: segments that leave with the switch, because queries would see them. ``delete``: hidden ones that go
    when brokers have acknowledged it. ``changed``: False when it was switched before. ``force``: also past an entry
    that is IN_PROGRESS or lost segments. ``keeps_copies``: the new side of a revert is worth a copy. ``conditions``
    must hold until it is written. ``detail`` goes into the audit record.
    """

    lineage: Lineage
    entry: Entry
    remove_now: Sequence[str] = ()
    delete: Sequence[str] = ()
    changed: bool = True
    force: bool = False
    keeps_copies: bool = True
    conditions: Sequence[Write] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)


def switch_of(decision: Decision, **more: Any) -> Switch:
    """The switch that carries out a decision; ``more`` are other fields of it."""
    return Switch(
        decision.lineage, decision.entry, decision.remove_now, decision.delete, changed=decision.changed, **more
    )


#: The switch for the state as read in this attempt; None: there is nothing to switch. Raises why it cannot be.
Decide = Callable[["Observed"], Switch | None]


@dataclass(frozen=True)
class Switched:
    """A switch that is done, the segments that were deleted with it, and for its audit record what brokers answered."""

    switch: Switch
    deleted: Sequence[str]
    brokers: Mapping[str, Any]


@dataclass(frozen=True)
class RolledBack:
    """Entries that were taken back, newest first, the requested one last; segments that go; details for its record."""

    steps: tuple[str, ...]
    deleted: tuple[str, ...]
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Opening:
    """The lineage with the new entry, that entry, and those that gave up names to it."""

    lineage: Lineage
    entry: Entry
    stripped: tuple[Entry, ...]


@dataclass(frozen=True)
class Return:
    """Segments that come back as the new side of entry ``entry_id``. ``decide``: what to open for the state as read, or
    the entry when it is open already; raises why it cannot be. ``action`` is the one that an audit record names when
    it is given up.
    """

    entry_id: str
    action: str
    decide: Callable[[Observed], Opening | Entry]


@dataclass(frozen=True)
class BroughtBack:
    """The entry as it is now, and its switch; None: somebody else had switched it."""

    entry: Entry
    switched: Switched | None


@dataclass(frozen=True)
class Undone:
    """What was undone, the new entry, and its switch; None: it has a record of its own, or is not ours."""

    plan: UndoPlan
    entry: Entry
    switched: Switched | None


class LineageEngine(Protocol):
    """Replacements: the lineage of a table and the switches of queries between its sides."""

    @property
    def owns_record(self) -> bool:
        """Is the lineage record ours to write? If not, our notes of its entries are in a record of their own."""

    @property
    def retention(self) -> str:
        """Who cleans up what nobody ends, as the subject of a sentence."""

    def start(self, ctx: Context, table: TableName, asked: Start) -> Started:
        """Open a replacement. Raises NotFound, StateConflict or Forbidden; nothing is changed then.

        Embedded: one transaction; leftovers of failed pushes leave the ideal state in it. Pinot: on record before it is
        sent once, and searched for in Pinot's lineage when the answer is lost; the id is Pinot's own. OutcomeUnknown
        when it cannot be found: the same ``entry_id`` continues the search.
        """

    def switch(
        self, ctx: Context, table: TableName, decide: Decide, actor: Actor, *, served: bool = False
    ) -> Switched | None:
        """Make the one change of a lineage that ``decide`` wants; returns when live brokers serve it, None when there
        was nothing to switch.

        ``decide`` runs again in every attempt; ``served``: it wants to know which segments are served
        (``Observed.served``). Brokers that stay behind longer than ``limits.broker_ack_s`` are named in the result.

        Embedded: one transaction of lineage and ideal state; then brokers acknowledge it; then hidden segments go, or
        are left to retention when a broker is behind. Pinot: the call for the entry's new state is sent once, and its
        outcome is read from Pinot's lineage when the answer is lost; then queries show which side brokers read. It
        deletes by its own rules, a reverted new side at once.
        """

    def watch(self, ctx: Context) -> Callable[[], None]:
        """To call now and then while replicas are waited for. It raises Unavailable when waiting is in vain because
        Pinot's controller does not answer; on the embedded cluster never.
        """

    def limited(self, plan: RollbackPlan, served: Mapping[str, bool]) -> RollbackPlan:
        """A rollback over several entries, with what else stands in its way. ``served``: does a replica serve the
        segment?

        Pinot: each snapshot between must be served, since each is gone back to, and none of the entries be pinned.
        """

    def rollback_notes(self, plan: RollbackPlan) -> list[str]:
        """What a person must know before that rollback begins, as sentences."""

    def roll_back(self, ctx: Context, table: TableName, target: str, *, force: bool, actor: Actor) -> RolledBack:
        """Take back ``target`` and all that was built on it. Records every entry but ``target``, whose record is the
        caller's.

        Embedded: one switch, so queries see no snapshot between. Pinot: one revert after the other under a record that
        survives this process; asked again after a cut, the same rollback continues.
        """

    def rollback_on_record(self, ctx: Context, table: TableName) -> StepwiseRollback | None:
        """The rollback of the table that is, or was last, under way. Embedded: None, it is one switch."""

    def continue_rollback(self, ctx: Context, table: TableName, actor: Actor) -> StepwiseRollback:
        """Carry out what is left of it. NotFound: none is under way."""

    def give_up_rollback(self, ctx: Context, table: TableName, actor: Actor) -> StepwiseRollback:
        """Leave the table at the snapshot that it has reached. NotFound: none is under way."""

    def resume_rollbacks(self, ctx: Context) -> list[str]:
        """Continue rollbacks that a process which died left halfway; a sentence each. Embedded: there are none."""

    def undo(self, ctx: Context, table: TableName, entry_id: str, *, force: bool, actor: Actor) -> Undone:
        """Undo a rollback. Cut anywhere it may be called again.

        Embedded: the segments come back under their own names. Pinot: as copies under new names, if copies were kept.
        """

    def bring_back(self, ctx: Context, table: TableName, back: Return, actor: Actor) -> BroughtBack:
        """Deleted segments come back hidden, then queries switch to them. What stays in the way gives the entry up and
        is raised; queries never saw it then. Pinot: StateConflict.
        """

    def require_bring_back(self) -> None:
        """Raises what ``bring_back`` raises on this kind of cluster whatever the segments are."""

    def rollback_until_ms(self, ctx: Context, seen: Observed, entry: Entry, config: TableConfig) -> int | None:
        """Until when (epoch ms) a COMPLETED entry can be taken back as far as clean-ups go; None: none ends it, or it
        is not known when.
        """

    def keeps_deleted(self, ctx: Context, config: TableConfig) -> bool:
        """Are files of what a rollback deletes kept, so that it can be undone? Pinot: if the table asks for
        copies.
        """

    def warnings(self, ctx: Context, entry: Entry, config: TableConfig) -> list[str]:
        """What the cluster will do to the entry's segments though nobody asks for it here."""

    def clean_up(self, ctx: Context, seen: Observed, entry: Entry, config: TableConfig) -> list[tuple[str, int | None]]:
        """What retention will do to the entry, (sentence, not before that time in epoch ms)."""

    def tables_with_open_entries(self, ctx: Context) -> list[str]:
        """Typed tables that may have unfinished replacements, for the pass over leases."""

    def tidy(self, ctx: Context, table: TableName) -> list[str]:
        """Finish what only this kind leaves unfinished: on a Pinot starts whose answer was lost. A sentence each."""

"""Go back, or forward again, to a snapshot of the history: one operation with a preview, whatever the way is (rule
`preview-first`).

The way is read from the state before each switch, so that an operation that was cut goes on when it is asked for again,
and ends with exactly the snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.replacement.history.origin import RETURNS_TO
from segments.domain.replacement.history.way import Present, Step, Way, differing, way_to
from segments.domain.replacement.lineage import Entry, State
from segments.domain.replacement.undo.plan import begin
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.errors import PinotAdminError, PreconditionFailed, StateConflict
from segments.names import REALTIME, TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.engine.lineage import Opening, Return
from segments.services.replacement.history.snapshots import contents_of, history_of, snapshot
from segments.services.replacement.lineage_record import Observed, observe_served
from segments.services.replacement.rollback import roll_back
from segments.services.replacement.rollback_preview import SnapshotSummary, summarise
from segments.services.replacement.undo.kept_entries import read_kept_entries
from segments.services.replacement.undo.rollback import undo_rollback
from segments.services.replacement.undo.undo_entry import new_entry
from segments.services.replacement.undo_deadline import undo_until_ms
from segments.services.segments import archive, restore
from segments.services.segments.segments import read_records

ACTION: Final = "restoreSnapshot"
#: Names in the audit record and in the answer.
_SHOWN: Final = 100
#: Switches of one operation; the way never takes so many.
_MOST_SWITCHES: Final = 40


@dataclass(frozen=True)
class ReturnPreview:
    """What going to snapshot ``number`` does. ``steps``: its switches as sentences; none: queries see it already.
    ``blockers`` are sentences; it is allowed when there are none. ``present``: the newest recorded snapshot, to which
    *Undo* goes back, until ``undo_until_ms`` (epoch ms; None: not known).
    """

    table: str
    number: int
    present: int
    allowed: bool
    blockers: list[str]
    steps: list[str]
    before: SnapshotSummary
    after: SnapshotSummary
    returning_segments: list[str]
    leaving_segments: list[str]
    undo_until_ms: int | None
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        lists = {
            "returning_segments": self.returning_segments[:_SHOWN],
            "leaving_segments": self.leaving_segments[:_SHOWN],
        }
        counts = {"returning_count": len(self.returning_segments), "leaving_count": len(self.leaving_segments)}
        return {**asdict(self), **lists, **counts}


@dataclass(frozen=True)
class Returned:
    """Queries see snapshot ``number``. ``entries``: what was rolled back, undone or made on the way. ``undo``: the
    snapshot that they saw before.
    """

    table: str
    number: int
    entries: list[str]
    undo: int
    undo_until_ms: int | None

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)


@dataclass(frozen=True)
class _Target:
    """A table as it was read, the wanted contents, and the way there."""

    seen: Observed
    wanted: Mapping[str, int]
    way: Way


def preview_return(ctx: Context, table: TableName, number: int) -> ReturnPreview:
    """Changes nothing. NotFound: no such table or snapshot."""
    found = _target(ctx, table, number)
    seen, wanted, way = found.seen, found.wanted, found.way
    visible = seen.lineage.visible(seen.ideal.maps)
    records = read_records(ctx, table, sorted({*visible, *(s for s in wanted if s in seen.ideal.maps)}))
    kept = _kept_metadata(ctx, seen, [s for s in wanted if s not in seen.ideal.maps])
    there = {**kept, **records}
    blockers = [*way.blockers, *(_other_content(wanted, there) if way.steps else ())]
    newest = history_of(ctx, table).first()
    return ReturnPreview(
        table=table.typed,
        number=number,
        present=newest.number if newest else number,
        allowed=bool(way.steps) and not blockers,
        blockers=blockers if way.steps or blockers else [_seen_now(way, number)],
        steps=[_sentence(step) for step in way.steps],
        before=summarise(records[s] for s in visible if s in records),
        after=summarise(there[s] for s in wanted if s in there),
        returning_segments=sorted(set(wanted).difference(visible)),
        leaving_segments=sorted(set(visible).difference(wanted)),
        undo_until_ms=undo_until_ms(ctx, seen.config),
        notes=_notes(way),
    )


def return_to(ctx: Context, table: TableName, number: int, *, actor: Actor, part_of: str = "") -> Returned:
    """Make queries see exactly that snapshot; returns when all live brokers do. ``part_of``: the action that it is a
    step of, for the record.

    Raises NotFound, StateConflict or PreconditionFailed; nothing is changed then, unless it takes several switches and
    a later one was refused: then the message says which snapshot queries see. Cut anywhere it may be called again.
    """
    whole = {"partOf": part_of} if part_of else {}
    with audit.recorded(ctx, actor, ACTION, table.typed, snapshot=number, **whole) as recorded:
        preview = preview_return(ctx, table, number)
        recorded["from"] = preview.present
        if not preview.allowed:
            raise StateConflict(
                f"Table '{table}' cannot go to snapshot {number}: {' '.join(preview.blockers)}",
                remedy="Choose another snapshot, or push the data again.",
                snapshot=number,
            )
        entries: list[str] = []
        for _ in range(_MOST_SWITCHES):
            found = _target(ctx, table, number)
            if not found.way.steps:
                break
            if found.way.blockers:
                raise PreconditionFailed(
                    f"Switch {len(entries) + 1} cannot be made: {' '.join(found.way.blockers)}",
                    remedy="Check the table's history.",
                )
            entries.append(_take(ctx, table, found, number, actor))
        recorded |= {"entry": entries[-1] if entries else "", "entries": entries}
    return Returned(table.typed, number, entries, preview.present, preview.undo_until_ms)


def _target(ctx: Context, table: TableName, number: int) -> _Target:
    wanted = contents_of(snapshot(ctx, table, number))
    seen = observe_served(ctx, table)
    way = way_to(_present(ctx, table, seen, wanted), wanted)
    if any(step.kind == "replace" for step in way.steps):
        try:
            ctx.engine.lineage.require_bring_back()
        except PinotAdminError as error:
            way = replace(way, blockers=(*way.blockers, str(error)))
    return _Target(seen, wanted | dict.fromkeys(way.streamed, 0), way)


def _present(ctx: Context, table: TableName, seen: Observed, wanted: Collection[str]) -> Present:
    missing = any(s not in seen.ideal.maps for s in wanted)
    kept: Collection[str] = ()
    if missing and ctx.deep_store.exists and ctx.engine.lineage.keeps_deleted(ctx, seen.config):
        kept = {*ctx.engine.segments.waiting_deletions(ctx, table)} | archive.kept_names(ctx, table)
    past = read_kept_entries(ctx, table)
    return Present(seen.lineage, seen.served, kept, past, ctx.clock(), has_stream=table.type == REALTIME)


def _take(ctx: Context, table: TableName, found: _Target, number: int, actor: Actor) -> str:
    """The first step of the way; returns the entry concerned."""
    step = found.way.steps[0]
    if step.kind == "rollback":
        roll_back(ctx, table, step.entry, actor=actor)
        return step.entry
    if step.kind == "undo":
        return undo_rollback(ctx, table, step.entry, actor=actor).entry
    return _replace(ctx, table, found, number, actor)


def _replace(ctx: Context, table: TableName, found: _Target, number: int, actor: Actor) -> str:
    """A replacement whose new side comes back from the kept files."""
    step, wanted = found.way.steps[0], set(found.wanted)
    new_id = _begun(found.seen, step, number) or ctx.new_id()

    def decide(seen: Observed) -> Opening | Entry:
        if new_id in seen.lineage.entries:
            return seen.lineage.entries[new_id]
        visible = seen.lineage.visible(seen.ideal.maps)
        if differing(visible, wanted, has_stream=found.way.has_stream) != (set(step.hide), set(step.back)):
            raise StateConflict(
                f"What queries see of table '{table}' changed meanwhile.", remedy="See the preview again, then confirm."
            )
        entry = new_entry(ctx, new_id, step.hide, step.back, actor, {RETURNS_TO: str(number)})
        lineage, stripped = begin(seen.lineage, entry)
        back = set(step.back)
        holding = [
            e
            for e in lineage.in_order()
            if e.id != new_id and e.state is State.COMPLETED and not back.isdisjoint(e.segments_from)
        ]
        lineage = lineage.having(
            *(replace(e, segments_from=tuple(s for s in e.segments_from if s not in back)) for e in holding)
        )
        before = [seen.lineage.entries[e.id] for e in holding if e.id not in {s.id for s in stripped}]
        return Opening(lineage, lineage.entries[new_id], (*stripped, *before))

    ctx.engine.lineage.bring_back(ctx, table, Return(new_id, ACTION, decide), actor)
    return new_id


def _begun(seen: Observed, step: Step, number: int) -> str:
    """The entry of the same return that an earlier attempt left open."""
    for entry in seen.lineage.in_order():
        if (
            entry.state is State.IN_PROGRESS
            and entry.notes.get(RETURNS_TO) == str(number)
            and (set(entry.segments_from), set(entry.segments_to)) == (set(step.hide), set(step.back))
        ):
            return entry.id
    return ""


def _kept_metadata(ctx: Context, seen: Observed, names: Collection[str]) -> dict[str, SegmentMetadata]:
    """Records of deleted segments whose files are kept, and of those that wait for their deletion."""
    if not names or not ctx.deep_store.exists or not ctx.engine.lineage.keeps_deleted(ctx, seen.config):
        return {}
    found = restore.look_up(ctx, seen.config, sorted(names))
    kept = {s: f.kept.kept.metadata for s, f in found.items() if f.kept is not None and f.kept.kept is not None}
    waiting = [s for s, f in found.items() if f.kept is None and f.item is not None]
    return {**read_records(ctx, seen.table, waiting), **kept} if waiting else kept


def _other_content(wanted: Mapping[str, int], there: Mapping[str, SegmentMetadata]) -> list[str]:
    """Segments of the same name that are not those of the snapshot."""
    other = sorted(s for s, crc in wanted.items() if crc and s in there and there[s].crc not in (None, crc))
    if not other:
        return []
    more = f" and {len(other) - 1} more" if len(other) > 1 else ""
    return [
        f"Segment '{other[0]}'{more} was overwritten by another of its name since. Its earlier version, if it is kept, "
        "can be restored on tab Deleted."
    ]


def _seen_now(way: Way, number: int) -> str:
    if way.has_stream:
        return f"Queries see all of snapshot {number} now. What the stream brought since stays."
    return f"Queries see snapshot {number} now."


def _sentence(step: Step) -> str:
    if step.kind == "rollback":
        return "Rolls back the replacements that came later, in one switch."
    if step.kind == "undo":
        return "Undoes a rollback, in one switch: what it removed comes back from kept files."
    back = counted(len(step.back), "deleted segment", "comes", "come")
    hide = counted(len(step.hide), "segment", "is", "are")
    shown = f"{back} back from kept files and {hide} hidden" if step.back else f"{hide} hidden"
    return f"{shown[0].upper()}{shown[1:]}, in one switch."


def _notes(way: Way) -> list[str]:
    stays = "What the stream brought since then stays, and consumption goes on."
    notes = [stays] if way.has_stream and way.steps else []
    if len(way.steps) < 2:
        return notes
    return [
        *notes,
        f"It takes {len(way.steps)} switches: between two of them queries see neither this snapshot nor today's.",
    ]

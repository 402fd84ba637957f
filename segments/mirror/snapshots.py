"""Writes the history of a table: a row for each snapshot that queries saw, numbered, with what made it.

Of a REALTIME table a snapshot is what is committed; rows that are still being consumed belong to none. What the stream
commits within an hour is one snapshot, which grows so long.

The mirror may be late: what it sees is recorded, and that more than one switch lies between two of its readings is on
record too. What queries saw between them is not guessed. It never records a mixture: a reading counts only if the
lineage is the same after it as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from sys import intern
from typing import Final

from django.db.models import Q
from django.utils import timezone

from segments.domain.realtime.llc_name import is_llc_name
from segments.domain.replacement.history import contents as history
from segments.domain.replacement.history.contents import Changes
from segments.domain.replacement.history.origin import Kind, Origin, origin_of, states_of
from segments.domain.replacement.lineage import Lineage
from segments.domain.segments.segment_metadata import COMMITTING, IN_PROGRESS
from segments.mirror.fitting import Fitted
from segments.mirror.rows import TableState
from segments.mirror.segment_rows import SegmentRow
from segments.models import Cluster, IngestionSession, Push, PushSegment, Snapshot
from segments.names import REALTIME, split_table_name
from segments.services.replacement.checks.snapshot_checks import status_of
from segments.services.replacement.history.snapshots import WHOLE_EVERY, contents_of
from segments.store.base import Store

#: Uploads, or deletions, that follow one another within so much time are one snapshot.
_TOGETHER: Final = timedelta(seconds=10)
#: {what made it: for so long the next such change is part of it}
_JOINED: Final = {Kind.UPLOAD: _TOGETHER, Kind.DELETE: _TOGETHER, Kind.COMMIT: timedelta(hours=1)}
#: A push is over before the mirror sees what it uploaded last.
_JUST_OVER: Final = timedelta(minutes=1)
#: Segments by whose names it is searched.
_NAMED: Final = 100
_UNFINISHED: Final = frozenset({IN_PROGRESS, COMMITTING})


class TableHistory:
    """The history of one table as far as it is recorded. ``keep`` writes the snapshot that ``next`` made."""

    def __init__(self, cluster: Cluster, name: str, store: Store) -> None:
        self._cluster, self._name, self._store = cluster, name, store
        self._is_stream = split_table_name(name)[1] == REALTIME
        self._last = Snapshot.objects.filter(cluster=cluster, table_name=name).first()
        contents = contents_of(self._last) if self._last else {}
        self._contents = {intern(name): crc for name, crc in contents.items()}  # as the rows of the table have them
        self._states: Mapping[str, str] | None = self._last.states or {} if self._last else None
        self._last_changes: Changes = {}
        self._doubtful: set[str] = set()

    def differences(self, state: TableState, names: Iterable[str] | None) -> Changes:
        """How what queries see differs from the newest snapshot; ``names``: the segments whose rows changed, None:
        any may have.
        """
        listed = {*self._contents, *state.segments} if names is None else {*names, *self._doubtful}
        now = {name: self._crc(state.segments.get(name)) for name in listed}
        found = history.changes_of(self._contents, listed, now)
        for name, crc in now.items():
            if name in self._contents and name not in found and crc:
                self._contents[name] = crc
        if not found:
            self._doubtful.clear()
            self._note_unchanged(state.lineage)
        return found

    def is_of_one_moment(self, changes: Changes) -> bool:
        """Can no switch be half in them? Commits add segments, and no entry of the lineage speaks of these yet."""
        return self._is_stream and all(before is None and is_llc_name(name) for name, (before, _) in changes.items())

    def put_off(self, changes: Changes) -> None:
        """What was read is a mixture of two states: these are compared again with the next reading."""
        self._doubtful.update(changes)

    def next(self, state: TableState, changes: Changes) -> Snapshot:
        """The row to write for what queries see now; it continues the newest one where these belong together."""
        origin = origin_of(self._states, state.lineage, changes)
        made_by = _made_by(origin) or self._uploaded_by(origin, changes)
        row = self._joined(origin, changes, made_by) or self._new(origin, changes, made_by)
        seen = [values for values in state.segments.values() if self._crc(values) is not None]
        row.segments = len(seen)
        row.rows = sum(v.total_docs or 0 for v in seen)
        row.bytes = sum(v.size_bytes or 0 for v in seen)
        row.start_ms = min((v.start_ms for v in seen if v.start_ms is not None), default=None)
        row.end_ms = max((v.end_ms for v in seen if v.end_ms is not None), default=None)
        row.states = states_of(state.lineage)
        return row

    def keep(self, row: Snapshot) -> None:
        """Write it, in the caller's transaction with the table's other rows."""
        fitted = Fitted().values(Snapshot, {"entries": row.entries, "states": row.states, "checks": row.checks}, "")
        row.entries, row.states, row.checks = fitted["entries"], fitted["states"], fitted["checks"]
        row.save()
        Snapshot.objects.filter(cluster=self._cluster, table_name=self._name, number=row.number - 1).update(states=None)

    def is_kept(self, row: Snapshot, changes: Changes) -> None:
        """The transaction is through: it is the newest one now."""
        self._contents = history.applied(self._contents, changes)
        # What is stored whole is not joined.
        self._last_changes = {} if row.whole is not None else history.unpack_changes(row.changes)
        self._last, self._states = row, row.states
        self._doubtful.clear()

    def _note_unchanged(self, lineage: Lineage) -> None:
        if self._states is not None or not self._contents:
            self._states = states_of(lineage)

    def _crc(self, row: SegmentRow | None) -> int | None:
        """Of a segment that belongs to the snapshot; None: it does not, as one that is still consumed."""
        if row is None or not row.is_visible:
            return None
        if self._is_stream and (row.crc is None or row.status in _UNFINISHED):
            return None
        return row.crc or 0

    def _uploaded_by(self, origin: Origin, changes: Changes) -> dict[str, str]:
        """The push, under way or just over, whose segments these are: one that adds rows uploads without a switch."""
        if origin.kind is not Kind.UPLOAD:
            return {}
        recent = timezone.now() - _JUST_OVER
        pushes = Push.objects.filter(cluster=self._cluster.name, table_name=split_table_name(self._name)[0]).filter(
            Q(finished_at=None) | Q(finished_at__gte=recent)
        )
        named = PushSegment.objects.filter(push__in=pushes, name__in=list(islice(changes, _NAMED)))
        found = named.order_by("-push__created_at").values_list("push", flat=True).first()
        return {"push": str(found)} if found else {}

    def _joined(self, origin: Origin, changes: Changes, made_by: Mapping[str, str]) -> Snapshot | None:
        last = self._last
        if (
            last is None
            or origin.kind not in _JOINED
            or origin.kind != last.kind
            or last.push != made_by.get("push", "")
            or not self._last_changes
            or last.whole is not None
            or timezone.now() - last.at > _JOINED[origin.kind]
        ):
            return None
        last.changes = history.pack_changes(history.joined(self._last_changes, changes))
        return last

    def _new(self, origin: Origin, changes: Changes, made_by: Mapping[str, str]) -> Snapshot:
        number = self._last.number + 1 if self._last else 1
        at = timezone.now() if origin.at_ms is None else datetime.fromtimestamp(origin.at_ms / 1000, UTC)
        whole = history.pack_contents(history.applied(self._contents, changes)) if number % WHOLE_EVERY == 1 else None
        return Snapshot(
            cluster=self._cluster,
            table_name=self._name,
            number=number,
            at=at,
            kind=origin.kind.value,
            entries=list(origin.entries),
            switches=origin.switches,
            changes=history.pack_changes(changes),
            whole=whole,
            checks=self._checks(origin),
            **made_by,
        )

    def _checks(self, origin: Origin) -> str:
        """What the table's checks said of the new data."""
        return status_of(self._store, self._name, origin.entries[0]) if origin.kind is Kind.SWITCH else ""


def _made_by(origin: Origin) -> dict[str, str]:
    """The push or session of a replacement that switched."""
    if origin.kind is not Kind.SWITCH:
        return {}
    push = Push.objects.filter(entry_id__in=origin.entries).values_list("pk", flat=True).first()
    sessions = IngestionSession.objects.filter(entry_id__in=origin.entries)
    session = sessions.values_list("session_id", flat=True).first()
    return {"push": str(push or ""), "session": str(session or "")}

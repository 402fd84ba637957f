"""The record side of an upload: admit, then segment records, ideal state rows and the lineage fence in one transaction.

Invariant: a segment has a record if and only if it has a row; an upload that is refused wrote nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from segments.clusters.embedded.segments.replaced import KeptNow, Replaced, keep, take_back
from segments.clusters.embedded.segments.segment_servers import SegmentServers, segment_servers
from segments.domain.formats.znrecord import ZNRecord, encode
from segments.domain.push.same_name import SameName, would_replace
from segments.domain.replacement import lineage as lineages
from segments.domain.segments import admission, assignment, ideal_state, segment_metadata
from segments.domain.segments import upload as uploads
from segments.domain.segments.archive import is_replaced_by
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.segments.upload import UploadedSegment
from segments.domain.tables.table_config import TableConfig
from segments.errors import OutcomeUnknown, PinotAdminError
from segments.names import OFFLINE, REALTIME, TableName
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.replacement.entry_lease import renew_for_upload
from segments.services.segments.segments import read_segments
from segments.services.segments.upload_options import UploadOptions, table_missing
from segments.store import paths
from segments.store.base import Check, Create, Replace, Versioned, Write
from segments.store.records import messages
from segments.store.records.instances import live_instances
from segments.store.update import update_transaction

log = logging.getLogger(__name__)

#: Bytes of segment records per transaction: with the ideal state it stays below ZooKeeper's limit of 1 MB.
_CHUNK_BYTES = 400_000


@dataclass(frozen=True)
class _Seen:
    """What an upload is decided from: the lineage, the ideal state with its version, and the records on file in the
    order of the parts.
    """

    lineage: Versioned | None
    ideal: ZNRecord
    ideal_version: int
    nodes: Sequence[Versioned | None]


@dataclass
class Registration:
    """One upload of one or many segments of a table. ``now_ms`` is fixed, so that a repeated write is recognised."""

    ctx: Context
    config: TableConfig
    parts: Sequence[UploadedSegment]
    options: UploadOptions
    lineage_entry: str | None
    now_ms: int
    actor: Actor = SYSTEM
    #: Segments whose file changed under a record that was there before.
    changed: set[str] = field(default_factory=set)
    _hidden: list[str] = field(default_factory=list)
    _unkept: list[str] = field(default_factory=list)
    #: What was found to be replaced when the upload was checked, and {segment: CRC} of what is kept already.
    _replaced: list[Replaced] = field(default_factory=list)
    _kept: dict[str, int] = field(default_factory=dict)
    _made: list[KeptNow] = field(default_factory=list)
    _tried: dict[str, ZNRecord] = field(default_factory=dict)

    def check(self) -> dict[str, SegmentMetadata | None]:
        """Refuse now what must be refused; returns the records on file. Writes nothing but a sign of life."""
        for part in self.parts:
            admission.check_name_form(self.config, part.name)
            admission.check_time(self.config, part)
        self._check_other_half()
        self._check_quota()
        seen = self._observe(self.parts)
        self._decide(self.parts, seen, is_dry=True)
        self._replaced = [
            r for p, n in zip(self.parts, seen.nodes, strict=True) if (r := self._replaces(p, n, seen.ideal))
        ]
        renew_for_upload(self.ctx, self.config, [p.name for p in self.parts])
        records = zip(self.parts, seen.nodes, strict=True)
        return {p.name: segment_metadata.from_record(n.record) if n and n.record else None for p, n in records}

    def keep_replaced(self, *, is_landed: bool = False) -> None:
        """Keep files and records of what this upload replaces, as ``check`` found it; before any file gets its final
        name.

        ``is_landed``: a new file may be in its place already, so what is there is read first.
        """
        self._keep(self._replaced, is_landed=is_landed)

    def write(self) -> None:
        """All segments, in as few transactions as fit. What was kept for segments that were not replaced after all goes
        again.
        """
        try:
            for chunk in self._chunks():
                update_transaction(self.ctx.store, partial(self._writes, chunk), turn=self.config.table.typed)
                renew_for_upload(self.ctx, self.config, [p.name for p in chunk])
        except OutcomeUnknown:
            raise
        except PinotAdminError:
            take_back(self.ctx, self.config.table, self._made)
            raise

    def notify_servers(self) -> None:
        """Ask the servers that host a changed segment to load it again."""
        for segment in sorted(self.changed):
            refresh_on_servers(self.ctx, self.config.table.typed, segment)

    @property
    def warnings(self) -> list[str]:
        """What the caller should know though it was done."""
        return [*self._hidden, *self._unkept]

    @property
    def _began_ms(self) -> int:
        return self.now_ms if self.options.began_ms is None else self.options.began_ms

    def _observe(self, parts: Sequence[UploadedSegment]) -> _Seen:
        """Lineage, ideal state and the records on file, in one round trip and this order."""
        typed = self.config.table.typed
        fixed = [paths.lineage(typed), paths.ideal_state(typed)]
        lineage, ideal, *nodes = self.ctx.store.get_many([*fixed, *(paths.segment(typed, p.name) for p in parts)])
        if ideal is None or ideal.record is None:
            raise table_missing(typed)
        return _Seen(lineage, ideal.record, ideal.version, nodes)

    def _writes(self, parts: Sequence[UploadedSegment]) -> list[Write]:
        """Read, decide and give the writes of one transaction (called again after a conflict)."""
        return self._decide(parts, self._observe(parts))

    def _replaces(self, part: UploadedSegment, node: Versioned | None, ideal: ZNRecord) -> Replaced | None:
        if node is None or node.record is None:
            return None
        found = Replaced(node.record, tuple(ideal.maps.get(part.name, ())), part.crc, part.download_url)
        is_kept = found.old.crc == self._kept.get(part.name, self.options.kept.get(part.name))
        return None if is_kept or not is_replaced_by(found.old, part.crc) else found

    def _keep(self, replaced: Sequence[Replaced], *, is_landed: bool) -> None:
        made = keep(self.ctx, self.config, replaced, self.actor, is_landed=is_landed)
        self._made += [m for m in made if m.is_new]
        self._unkept += [m.warning for m in made if m.warning]
        self._kept.update({r.old.name: r.old.crc or 0 for r in replaced})

    def _decide(self, parts: Sequence[UploadedSegment], seen: _Seen, *, is_dry: bool = False) -> list[Write]:
        rows = seen.ideal.maps
        writes = self._fence(parts, {p.name for p in parts if p.name not in rows}, seen.lineage)
        fresh = []
        for part, node in zip(parts, seen.nodes, strict=True):
            has_row = part.name in rows
            if node is not None and has_row and node.record == self._tried.get(part.name):
                continue
            writes.append(self._record(part, node, has_row))
            if not is_dry and (late := self._replaces(part, node, seen.ideal)):
                self._keep([late], is_landed=True)  # somebody changed it after the check
            if not has_row:
                fresh.append(part.name)
        if fresh:
            path = paths.ideal_state(self.config.table.typed)
            writes.append(Replace(path, self._assigned(seen.ideal, fresh), seen.ideal_version))
        return writes

    def _record(self, part: UploadedSegment, node: Versioned | None, has_row: bool) -> Write:
        """The write of one record. A record without a row is left from an upload that failed: the segment counts as
        new.
        """
        typed = self.config.table.typed
        old = segment_metadata.from_record(node.record) if node and node.record and has_row else None
        lock_ms = int(self.ctx.limits.upload_lock_s * 1000)
        admission.check_existing(typed, part.name, old, self.options.conditions, now_ms=self.now_ms, lock_ms=lock_ms)
        if old is None:
            admission.check_comes_from_stream(self.config, part)
            admission.check_offsets(self.config, part)
        elif old.crc != part.crc:
            if self.options.conditions.keeps_content:
                raise would_replace(self.config, [SameName(part.name, old.total_docs, part.total_docs)])
            self.changed.add(part.name)
        is_realtime = self.config.table.type == REALTIME
        after = (
            uploads.new_metadata(part, self.options.modifier, self.now_ms, is_realtime=is_realtime)
            if old is None
            else uploads.refreshed_metadata(old, part, self.options.modifier, self.now_ms, is_realtime=is_realtime)
        )
        record = self._tried[part.name] = after.to_record()
        path = paths.segment(typed, part.name)
        return Create(path, record) if node is None else Replace(path, record, node.version)

    def _fence(self, parts: Sequence[UploadedSegment], new: set[str], node: Versioned | None) -> list[Write]:
        """The lineage must let these segments in, and still do so when the transaction lands (rule `fenced-uploads`).

        With a lineage entry: it runs and lists them. Without: no entry hides them for ever.
        """
        path, names = paths.lineage(self.config.table.typed), [p.name for p in parts]
        lineage = lineages.from_record(node.record) if node and node.record else lineages.empty(self.config.table.typed)
        if self.lineage_entry is not None:
            admission.check_fence(lineage, self.lineage_entry, names)
        else:
            strict = admission.is_fence_strict(self.config)
            self._hidden = admission.check_not_hidden(lineage, names, new, began_ms=self._began_ms, is_strict=strict)
        is_concerned = not lineage.mentioned().isdisjoint(names)
        return [Check(path, node.version)] if node is not None and is_concerned else []

    def _assigned(self, ideal: ZNRecord, fresh: Sequence[str]) -> ZNRecord:
        replication = self.config.replication
        servers = self._servers.choose(self.config.table.typed, replication)
        load = assignment.segments_per_server(ideal.maps.values())
        return ideal_state.with_rows(ideal, assignment.assign(fresh, servers, load, replication))

    @cached_property
    def _servers(self) -> SegmentServers:
        """Servers that may get segments of the table, as of the beginning of this upload."""
        return segment_servers(self.ctx, self.config)

    def _check_other_half(self) -> None:
        """Both halves of a hybrid table keep their files in one folder: neither takes a name whose file is, or will be,
        the other's.
        """
        table = self.config.table
        other = TableName(table.raw, OFFLINE if table.type == REALTIME else REALTIME)
        if self.ctx.store.exists(paths.table_config(other.typed)) is None:
            return
        names = [p.name for p in self.parts]
        nodes = self.ctx.store.get_many([paths.segment(other.typed, name) for name in names])
        admission.check_other_half(other, names, [n for n, node in zip(names, nodes, strict=True) if node is not None])

    def _check_quota(self) -> None:
        if admission.quota_bytes(self.config) is None:
            return
        names = {p.name for p in self.parts}
        kept = sum(m.size_bytes or 0 for m in read_segments(self.ctx, self.config.table) if m.name not in names)
        admission.check_quota(self.config, kept, sum(p.size_bytes or 0 for p in self.parts))

    def _chunks(self) -> Iterator[list[UploadedSegment]]:
        chunk: list[UploadedSegment] = []
        size = 0
        for part in self.parts:
            bytes_of = len(encode(uploads.new_metadata(part, self.options.modifier, self.now_ms).to_record())) + 200
            if chunk and size + bytes_of > _CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
            chunk.append(part)
            size += bytes_of
        if chunk:
            yield chunk


def refresh_on_servers(ctx: Context, typed: str, segment: str) -> None:
    """REFRESH_SEGMENT to every live server that has or should have the segment. One that cannot be asked is only
    logged.
    """
    nodes = ctx.store.get_many([paths.ideal_state(typed), paths.external_view(typed)])
    hosts = {i for node in nodes if node and node.record for i in node.record.maps.get(segment, {})}
    for instance, live in live_instances(ctx.store).items():
        if instance not in hosts:
            continue
        try:
            messages.send(
                ctx.store,
                instance,
                messages.REFRESH_SEGMENT,
                resource=typed,
                partition=segment,
                session=live.session,
                new_id=ctx.new_id,
                now_ms=ctx.clock(),
                cluster=ctx.cluster,
                fields={"tableName": typed, "segmentName": segment},
            )
        except PinotAdminError:
            log.exception("Instance %s could not be asked to load %s of %s again.", instance, segment, typed)

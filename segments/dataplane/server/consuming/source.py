"""What one consuming segment reads and until when: its record, table config, schema and pause, read together from
ZooKeeper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from segments.dataplane.server.consuming.decisions import Committed
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.commit.fields import END_OFFSET, FLUSH_ROWS, START_OFFSET
from segments.domain.realtime.llc_name import LLCName, is_llc_name, parse_llc_name, partition_stem
from segments.domain.realtime.pause import pause_of, stream_partition
from segments.domain.realtime.streams.stream_config import DEFAULT_FLUSH_ROWS, StreamConfig, stream_maps, stream_of
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.domain.segments import segment_metadata
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE, serving
from segments.domain.segments.peer_download_rules import peers_serve
from segments.domain.segments.segment_metadata import COMMITTING, COMPLETED_STATUSES, SegmentMetadata
from segments.domain.tables import schema as schemas
from segments.domain.tables import table_config as configs
from segments.domain.tables.keyed_tables import is_keyed
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import NotFound, RecordCorrupt
from segments.names import split_table_name
from segments.store import paths
from segments.store.base import Store, Versioned


@dataclass(frozen=True)
class Source:
    """One segment to consume. ``versions`` are the zxids of config and schema: with the same ones the same rows come
    out.

    ``end``: where a commit that has started ends it; None while nobody knows. ``is_done``: somebody has committed it
    already. ``is_paused``: nothing is to consume this partition now.
    ``has_others``: another replica answers queries on it. ``rows``: its row limit; ``created_ms``: the record's
    creation, which also stands for null times, so that all replicas build the same file.
    """

    table: str
    name: LLCName
    config: TableConfig
    schema: Schema
    versions: tuple[int, int]
    stream: StreamConfig
    stream_partition: int
    topics: int
    start: Offset
    rows: int
    created_ms: int
    end: Offset | None = None
    is_done: bool = False
    is_paused: bool = False
    has_others: bool = False

    @property
    def has_peers(self) -> bool:
        """``segmentsConfig.peerSegmentDownloadScheme``: the table's segments may live on servers only."""
        return peers_serve(self.config)

    @property
    def downloads_only(self) -> bool:
        """completionMode DOWNLOAD: only the committer builds."""
        completion = self.config.segments.completion_config
        return completion is not None and (completion.completion_mode or "").upper() == "DOWNLOAD"

    @property
    def tells_build_failures(self) -> bool:
        """``retryOnSegmentBuildPrecheckFailure``: a failed build halves the segment's row limit."""
        return bool(self.config.ingestion.retry_on_segment_build_precheck_failure)

    def continues(self, other: Source) -> bool:
        """Would the rows of ``other``'s partition, read on, be the ones of this segment?"""
        return (self.versions, self.stream.raw, self.name.partition) == (
            other.versions,
            other.stream.raw,
            other.name.partition,
        )


def read_source(store: Store, table: str, segment: str, instance: str) -> Source:
    """Read it all at once. NotFound when record, config or schema is missing; InvalidInput or RecordCorrupt for what
    cannot work.
    """
    raw = split_table_name(table)[0]
    record, config, schema, ideal, view = store.get_many(
        [
            paths.segment(table, segment),
            paths.table_config(table),
            paths.schema(raw),
            paths.ideal_state(table),
            paths.external_view(table),
        ]
    )
    name = parse_llc_name(segment)
    meta = segment_metadata.from_record(_record(record, f"Segment '{segment}' of table '{table}'"))
    read_config = configs.from_record(_record(config, f"Table '{table}'"))
    read_schema = schemas.from_record(_record(schema, f"Schema '{raw}'"))
    stream, topics = stream_of(read_config, name.partition), len(stream_maps(read_config))
    pause = pause_of(ideal.record) if ideal and ideal.record else None
    rows = int(meta.fields.get(FLUSH_ROWS) or 0)
    return Source(
        table=table,
        name=name,
        config=read_config,
        schema=read_schema,
        versions=(_zxid(config), _zxid(schema)),
        stream=stream,
        stream_partition=stream_partition(name.partition, topics),
        topics=topics,
        start=_offset(stream, meta, START_OFFSET),
        rows=rows if rows > 0 else stream.flush.segment_rows or stream.flush.rows or DEFAULT_FLUSH_ROWS,
        created_ms=meta.creation_ms or 0,
        end=_offset(stream, meta, END_OFFSET) if meta.status == COMMITTING else None,
        is_done=meta.status in COMPLETED_STATUSES,
        is_paused=pause is not None and pause.stops(name.partition, topics),
        has_others=_has_others(view, ideal, read_config, segment, instance),
    )


def read_committed(store: Store, source: Source) -> Committed | None:
    """What the record says of the segment's commit, as soon as its end is fixed; None before. NotFound when there is no
    record any more.
    """
    segment = source.name.text
    node = store.get(paths.segment(source.table, segment))
    meta = segment_metadata.from_record(_record(node, f"Segment '{segment}' of table '{source.table}'"))
    if meta.status not in (*COMPLETED_STATUSES, COMMITTING) or END_OFFSET not in meta.fields:
        return None
    return Committed(_offset(source.stream, meta, END_OFFSET), meta.crc, meta.download_url)


def is_pauseless_now(store: Store, source: Source) -> bool:
    """Does the table's config, as it is now, want its commits to start before the segment is built?"""
    node = store.get(paths.table_config(source.table))
    return configs.from_record(_record(node, f"Table '{source.table}'")).is_pauseless


def _record(node: Versioned | None, what: str) -> ZNRecord:
    if node is None or node.record is None:
        raise NotFound(f"{what} has no record.")
    return node.record


def _offset(stream: StreamConfig, meta: SegmentMetadata, key: str) -> Offset:
    text = meta.fields.get(key)
    if text is None:
        raise RecordCorrupt(
            f"The record of segment '{meta.name}' has no '{key}'.", remedy="Run the realtime validation of its table."
        )
    return parse_offset(stream.type, text)


def _zxid(node: Versioned | None) -> int:
    return node.mzxid if node else 0


def has_others(store: Store, source: Source, instance: str) -> bool:
    """Does another replica answer queries on the segment now?"""
    view, ideal = store.get_many([paths.external_view(source.table), paths.ideal_state(source.table)])
    return _has_others(view, ideal, source.config, source.name.text, instance)


def _has_others(
    view: Versioned | None, ideal: Versioned | None, config: TableConfig, segment: str, instance: str
) -> bool:
    served, wanted = _rows(view), _rows(ideal)
    others = [i for i, state in served.get(segment, {}).items() if state == CONSUMING and i != instance]
    if not others or not is_keyed(config):
        return bool(others)
    # Only a server with the whole partition is asked.
    before = [s for s, row in wanted.items() if set(row.values()) != {OFFLINE} and _is_before(s, segment)]
    return any(all(i in serving(served.get(s, {})) for s in before) for i in others)


def _is_before(segment: str, other: str) -> bool:
    return (
        is_llc_name(segment)
        and partition_stem(segment) == partition_stem(other)
        and parse_llc_name(segment).sequence < parse_llc_name(other).sequence
    )


def _rows(node: Versioned | None) -> Mapping[str, Mapping[str, str]]:
    return node.record.maps if node and node.record else {}

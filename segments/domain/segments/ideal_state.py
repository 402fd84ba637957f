"""Ideal state and external view of a table: ask and edit by copy (rule `pinot-layout`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from segments.domain.formats.znrecord import ZNRecord

ONLINE: Final = "ONLINE"
CONSUMING: Final = "CONSUMING"
OFFLINE: Final = "OFFLINE"
ERROR: Final = "ERROR"
#: A replica in one of these answers queries.
SERVING: Final = frozenset({ONLINE, CONSUMING})
#: Next to a replica's state in CURRENTSTATES: the CRC of what it serves. Ours; absent from what a foreign server
#: reports.
SEGMENT_CRC: Final = "PINOTADMIN_SEGMENT_CRC"
#: From this number of rows on the record is written compressed, as Pinot does.
COMPRESS_FROM_ROWS: Final = 1000


def new_ideal_state(table: str, replication: int) -> ZNRecord:
    """The ideal state of a table without segments. ``table`` is the typed name."""
    simple = {
        "IDEAL_STATE_MODE": "CUSTOMIZED",
        "INSTANCE_GROUP_TAG": table,
        "MAX_PARTITIONS_PER_INSTANCE": "1",
        "NUM_PARTITIONS": "0",
        "REBALANCE_MODE": "CUSTOMIZED",
        "REPLICAS": str(replication),
        "STATE_MODEL_DEF_REF": "SegmentOnlineOfflineStateModel",
        "STATE_MODEL_FACTORY_NAME": "DEFAULT",
    }
    return ZNRecord(table, simple)


def with_rows(record: ZNRecord, rows: Mapping[str, Mapping[str, str]]) -> ZNRecord:
    """A copy with these rows added or replaced ({segment: {instance: state}}); NUM_PARTITIONS follows."""
    return _counted(record, {**record.maps, **{s: dict(r) for s, r in rows.items()}})


def without_rows(record: ZNRecord, segments: Iterable[str]) -> ZNRecord:
    """A copy without these segments; unknown names are ignored. Returns the very record when nothing changes."""
    gone = set(segments) & set(record.maps)
    if not gone:
        return record
    return _counted(record, {s: r for s, r in record.maps.items() if s not in gone})


def external_view(ideal: ZNRecord, states: Mapping[str, Mapping[str, str]]) -> ZNRecord:
    """The external view: the ideal state's simple fields, ``BUCKET_SIZE`` and the states that live instances report."""
    rows = {s: dict(sorted(r.items())) for s, r in sorted(states.items()) if r}
    return ZNRecord(ideal.id, {**ideal.simple, "BUCKET_SIZE": "0"}, rows)


def serving(row: Mapping[str, str]) -> list[str]:
    """Instances of one row that answer queries, sorted."""
    return sorted(i for i, state in row.items() if state in SERVING)


def _counted(record: ZNRecord, maps: dict[str, dict[str, str]]) -> ZNRecord:
    compress = "true" if len(maps) > COMPRESS_FROM_ROWS else None
    counted = record.with_simple_items({"NUM_PARTITIONS": str(len(maps)), "enableCompression": compress})
    return replace(counted, maps=dict(sorted(maps.items())))

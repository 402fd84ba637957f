"""When the rows of a segment may be read again, by whom, and what its record says afterwards."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from segments.domain.segments.ideal_state import ERROR, OFFLINE
from segments.domain.segments.segment_metadata import COMMITTING, DONE, SegmentMetadata
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, StateConflict

DEFAULT: Final = "DEFAULT"
ALWAYS: Final = "ALWAYS"
MODES: Final = (DEFAULT, ALWAYS)
#: Cluster setting, Pinot's key: the mode of every table that does not say ALWAYS itself.
MODE_KEY: Final = "controller.segment.disaster.recovery.mode"

_START: Final = "segment.realtime.startOffset"
_END: Final = "segment.realtime.endOffset"
_URL: Final = "segment.download.url"
#: What a record says of a file; a segment whose rows are read again has none.
_OF_FILE: Final = (
    _URL, "segment.offline.download.url", "segment.realtime.download.url", "segment.crc", "segment.data.crc",
    "segment.use.data.crc", "segment.total.docs", "segment.size.in.bytes", "segment.index.version",
    "segment.start.time", "segment.end.time", "segment.time.unit", "segment.crypter",
)  # fmt: skip


def check_mode(mode: str | None, where: str) -> None:
    """InvalidInput unless it is one of the modes, spelled exactly; None is left to the default."""
    if mode is not None and mode not in MODES:
        raise InvalidInput(f"'{where}' is '{mode}'.", remedy=f"Use {' or '.join(MODES)}.")


def cluster_mode(settings: Mapping[str, str]) -> str:
    """The cluster's mode. What is no mode is refused when it is set; here it counts as DEFAULT."""
    found = settings.get(MODE_KEY, DEFAULT).strip()
    return found if found in MODES else DEFAULT


def reingestion_allowed(config: TableConfig, cluster: str, *, override: bool | None = None) -> bool:
    """May a pass read rows of this table again without a person?

    ``cluster`` is the cluster's mode. ``override`` (``repairErrorSegmentsForPartialUpsertOrDedup`` of one run) replaces
    it, both ways. A table with partial upsert or deduplication depends on the order of its rows: only ALWAYS, of the
    table or of the cluster, allows it. A table can not opt out of the cluster's ALWAYS.
    """
    of_run = cluster == ALWAYS if override is None else override
    return of_run or config.streaming.disaster_recovery_mode == ALWAYS or not depends_on_order(config)


def depends_on_order(config: TableConfig) -> bool:
    """Does what a query sees depend on the order in which rows were read: partial upsert, or deduplication?"""
    upsert, dedup = config.model.upsert_config, config.model.dedup_config
    is_partial = upsert is not None and (upsert.mode or "").upper() == "PARTIAL"
    return is_partial or bool(dedup is not None and dedup.dedup_enabled)


@dataclass(frozen=True)
class Range:
    """Offsets to read, as on record; ``end`` is exclusive."""

    start: str
    end: str


def range_of(metadata: SegmentMetadata) -> Range:
    """What a server has to read. The checks of ``POST /reingestSegment``: InvalidInput for a segment with an address
    of its file (also ``""``, which stands for "on servers"), StateConflict for one whose end is not known.
    """
    if _URL in metadata.fields:
        raise InvalidInput(
            f"Segment '{metadata.name}' has a download address: it was committed, so its rows need not be read again.",
            remedy="Reset its replicas, so that they load it.",
        )
    return offsets_of(metadata)


def offsets_of(metadata: SegmentMetadata) -> Range:
    """The offsets on record. StateConflict without both of them: the segment was never ended."""
    start, end = metadata.fields.get(_START), metadata.fields.get(_END)
    if start is None or end is None:
        lacking = "start" if start is None else "end"
        raise StateConflict(
            f"Segment '{metadata.name}' is {metadata.status} and its record has no {lacking} offset.",
            remedy="Only a segment whose commit began can be reingested; one that is consumed needs a reset.",
        )
    return Range(start, end)


def is_lost(row: Mapping[str, str], view: Mapping[str, str]) -> bool:
    """Is every replica that reports the segment in ERROR, and at least one? Those that the table wants OFFLINE do not
    count.
    """
    states = [state for instance, state in view.items() if row.get(instance, OFFLINE) != OFFLINE]
    return bool(states) and set(states) == {ERROR}


def choose_server(row: Mapping[str, str], live: Collection[str], busy: Mapping[str, int]) -> str:
    """The live server among the segment's replicas that has the fewest jobs (``busy``: jobs by instance).

    Raises StateConflict when none of them is alive.
    """
    candidates = sorted(i for i, state in row.items() if state != OFFLINE and i in live)
    if not candidates:
        raise StateConflict(
            f"None of the segment's servers is alive: {', '.join(sorted(row)) or 'it has none'}.",
            remedy="Start one of them, or rebalance the table.",
        )
    return min(candidates, key=lambda i: (busy.get(i, 0), i))


def reopened(metadata: SegmentMetadata) -> SegmentMetadata:
    """The record of a committed segment whose file is nowhere any more: COMMITTING, as before its file was there.

    StateConflict for a segment that is not DONE.
    """
    if metadata.status != DONE:
        raise StateConflict(f"Segment '{metadata.name}' is {metadata.status}, not {DONE}.")
    offsets_of(metadata)
    return metadata.edited({**dict.fromkeys(_OF_FILE), "segment.realtime.status": COMMITTING})

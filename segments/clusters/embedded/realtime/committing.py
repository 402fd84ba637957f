"""Commits that have started and not ended: ended from a server's sealed copy, or reported with what is missing."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from segments.clusters.embedded.instances.server_calls import ask_server
from segments.clusters.embedded.realtime.completion.commit_end import end_writes
from segments.clusters.embedded.realtime.completion.commit_file import CommitFile
from segments.clusters.embedded.realtime.completion.committing_list import correct_list
from segments.clusters.embedded.realtime.lost_segments import reingest_lost
from segments.domain.realtime.commit.end import Built
from segments.domain.realtime.commit.fields import END_OFFSET, PARTITION_METADATA
from segments.domain.realtime.completion import from_record
from segments.domain.realtime.flush_threshold import is_tuned
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.realtime.realtime_table import check_realtime
from segments.domain.realtime.reingestion.rules import is_lost
from segments.domain.realtime.repair.committing import Committing, Need, need_of
from segments.domain.realtime.repair.recovery_mode import RECOVERY_MODE_KEY, may_reingest
from segments.domain.segments import segment_metadata
from segments.domain.segments.segment_metadata import COMMITTING, SegmentMetadata
from segments.domain.tables.keyed_tables import is_keyed
from segments.domain.upkeep.findings import Found
from segments.errors import PinotAdminError, RecordCorrupt, StateConflict
from segments.names import TableName
from segments.services.clusters.cluster_settings import read_settings
from segments.services.core.context import Context
from segments.services.realtime.realtime_state import COMPLETION_TIME_KEY, completion_ms
from segments.services.segments.segments import cached_records
from segments.services.tables.table_record import read_table_config
from segments.services.upkeep.segment_record_cache import CachedRecord
from segments.services.upkeep.validation import CONSUMPTION as PREFIX
from segments.store import paths
from segments.store.base import Versioned, Write
from segments.store.records.instances import live_instances
from segments.store.update import update_transaction

log = logging.getLogger(__name__)

LATE: Final = PREFIX + "committing"
REINGEST: Final = PREFIX + "reingest"
UNRECOVERABLE: Final = PREFIX + "unrecoverable"
CODES: Final = frozenset({LATE, REINGEST, UNRECOVERABLE})
#: Seconds for which a server is waited for; an upload that takes longer goes on there.
_UPLOAD_S: Final = 20.0
#: After so many seconds, or failures, a run ends no further commit: the next one goes on.
_LONGEST_RUN_S: Final = 120.0
_MOST_FAILURES: Final = 5


@dataclass(frozen=True)
class Unfinished:
    """A segment that is COMMITTING, its record as read, and what it needs."""

    segment: Committing
    node: Versioned
    need: Need


def unfinished_commits(
    ctx: Context, table: TableName, cached: Mapping[str, CachedRecord] | None = None
) -> list[Unfinished]:
    """Every segment of the table that is COMMITTING, with what it needs now. ``cached``: the table's records, if they
    were just read.
    """
    rows, view = (
        n.record.maps if n and n.record else {}
        for n in ctx.store.get_many([paths.ideal_state(table.typed), paths.external_view(table.typed)])
    )
    # A segment that no server has may have been DONE when its record was read last.
    known = cached_records(ctx, table) if cached is None else cached
    wanted = {s for s, record in known.items() if record.status == COMMITTING}
    wanted |= {s for s, row in rows.items() if is_lost(row, view.get(s, {}))}
    names = sorted((s for s in wanted if is_llc_name(s)), key=_place)
    if not names:
        return []
    records = ctx.store.get_many([paths.segment(table.typed, s) for s in names])
    rounds = ctx.store.get_many([paths.completion(table.typed, s) for s in names])
    settings, live = read_settings(ctx), set(live_instances(ctx.store))
    asked = ctx.run_properties.repairs_ordered
    may = may_reingest(read_table_config(ctx, table), settings.get(RECOVERY_MODE_KEY), override=asked)
    age_ms, found = completion_ms(settings.get(COMPLETION_TIME_KEY)), []
    for name, record, current in zip(names, records, rounds, strict=True):
        if record is None or record.record is None or _metadata(record).status != COMMITTING:
            continue
        until_ms = _until(current)
        segment = Committing(name, record.modified_ms, rows.get(name, {}), view.get(name, {}), live, until_ms)
        need = need_of(segment, ctx.clock(), completion_ms=age_ms, may_reingest=may)
        found.append(Unfinished(segment, record, need))
    return found


def repair_committing(
    ctx: Context, table: TableName, cached: Mapping[str, CachedRecord] | None = None
) -> tuple[list[str], list[Found]]:
    """End the commits that a server's sealed copy can end, have rows read again that no server has. A sentence for each
    thing done, and findings about what is left. ``cached`` as in ``unfinished_commits``.
    """
    done: list[str] = []
    found: list[Found] = []
    until, failures = ctx.timer.seconds() + _LONGEST_RUN_S, 0
    turns = _Turns(depend=is_keyed(read_table_config(ctx, table)))
    unfinished = unfinished_commits(ctx, table, cached)
    correct_list(ctx.store, table, [each.segment.name for each in unfinished])
    for each in unfinished:
        why = ""
        if each.need is Need.UPLOAD:
            is_late = failures == _MOST_FAILURES or ctx.timer.seconds() > until
            why = "its turn comes with the next pass." if is_late else end_from_server(ctx, table, each)
            failures += bool(why) and not is_late
            if not why:
                done.append(f"Segment {each.segment.name}: the commit was ended with a server's copy.")
        if each.need in (Need.REINGEST, Need.UNBUILT):
            began, why = turns.take(each.segment.name, lambda name: reingest_lost(ctx, table, name))
            done += [began] if began else []
        if each.need is not Need.WAIT and (why or each.need is not Need.UPLOAD):
            found.append(_finding(each, why, ctx.clock()))
    return done, found


class _Turns:
    """Which lost segments are read again in this run. Where rows ``depend`` on those before them, one of a partition at
    a time, the first one first.
    """

    def __init__(self, *, depend: bool) -> None:
        self._depend = depend
        self._first: dict[int, str] = {}

    def take(self, segment: str, begin: Callable[[str], tuple[str, str]]) -> tuple[str, str]:
        """What ``begin`` says, or that it waits for the one before."""
        first = self._first.setdefault(parse_llc_name(segment).partition, segment)
        if self._depend and first != segment:
            return "", f"It is read again when {first}, on whose rows its own depend, is back."
        return begin(segment)


def end_from_server(ctx: Context, table: TableName, each: Unfinished) -> str:
    """Have one server after the other upload its sealed copy, and end the commit with it; "" when one did, else why
    none did.
    """
    why = "no live server has it."
    for server in each.segment.holders:
        try:
            answer = _ask(ctx, table, each.segment.name, server)
            _end(ctx, table, each, answer)
        except (PinotAdminError, KeyError, TypeError, ValueError) as error:
            log.warning("The copy of %s on %s does not end its commit: %s", each.segment.name, server, error)
            why = f"{server} could not upload it: {error}"
            continue
        return ""
    return why


def _ask(ctx: Context, table: TableName, segment: str, server: str) -> SegmentMetadata:
    """The record as the server would have it, after its upload."""
    path = f"/segments/{quote(table.typed, safe='')}/{quote(segment, safe='')}/uploadCommittedSegment"
    timed = f"{path}?uploadTimeoutMs={int(_UPLOAD_S * 1000)}"
    answer: Any = ask_server(ctx, server, "POST", timed, _UPLOAD_S + 10)
    fields = {str(k): str(v) for k, v in answer["simpleFields"].items()}
    custom = {str(k): str(v) for k, v in (answer.get("customMap") or {}).items()}
    return SegmentMetadata(segment, fields, custom)


def _end(ctx: Context, table: TableName, each: Unfinished, theirs: SegmentMetadata) -> None:
    """Write the end of the commit with what the server has. StateConflict when its copy is another one, or the segment
    was changed meanwhile; the file it brought is then left to the clean-up of uploads.
    """
    name, path = each.segment.name, paths.segment(table.typed, each.segment.name)
    wanted = _metadata(each.node).fields.get(END_OFFSET)
    if theirs.fields.get(END_OFFSET, wanted) != wanted:
        raise StateConflict(f"It ends at {theirs.fields[END_OFFSET]} there, and is committed at {wanted}.")
    built = _built(theirs)
    file = CommitFile(ctx, table, name, theirs.download_url or f"peer:///{name}", built.crc)
    stream = check_realtime(read_table_config(ctx, table))[0]

    def writes() -> Sequence[Write]:
        node = ctx.store.get(path)
        if node is None:
            raise StateConflict(f"Segment '{name}' of table '{table}' was deleted while it was uploaded.")
        return end_writes(ctx, table, node, built, file.url, is_tuned=is_tuned(stream.flush))

    file.stage()
    update_transaction(ctx.store, writes)
    file.finish()


def _built(theirs: SegmentMetadata) -> Built:
    """The facts of a built segment as a server's answer names them. ValueError when one is missing."""
    crc, docs = theirs.crc, theirs.total_docs
    if crc is None or docs is None:
        raise ValueError("the answer lacks the CRC or the number of rows")
    partitions: Mapping[str, Mapping[str, Any]] = {}
    if text := theirs.fields.get(PARTITION_METADATA):
        partitions = json.loads(text)["columnPartitionMap"]
    data_crc = theirs.fields.get("segment.data.crc", "")
    return Built(
        crc=crc,
        total_docs=docs,
        index_version=theirs.fields.get("segment.index.version", "v3"),
        size_bytes=theirs.size_bytes if theirs.size_bytes is not None else -1,
        data_crc=int(data_crc) if data_crc.isdecimal() else None,
        start_ms=theirs.start_ms,
        end_ms=theirs.end_ms,
        partitions=partitions,
        custom=theirs.custom,
    )


def _until(node: Versioned | None) -> int:
    """Until when the committer of a round may be at work; 0: no round is open, its committer has given up, or the round
    cannot be read.
    """
    try:
        machine = from_record(node.record) if node and node.record else None
    except RecordCorrupt as error:
        log.warning("%s", error)
        return 0
    return 0 if machine is None or machine.winner is None else machine.deadline_ms


def _place(segment: str) -> tuple[int, int]:
    name = parse_llc_name(segment)
    return name.partition, name.sequence


def _metadata(node: Versioned) -> SegmentMetadata:
    assert node.record is not None  # those without were left out
    return segment_metadata.from_record(node.record)


def _finding(each: Unfinished, why: str, now_ms: int) -> Found:
    name, minutes = each.segment.name, (now_ms - each.segment.since_ms) // 60_000
    partition = parse_llc_name(name).partition
    since = f"Segment {name} of partition {partition} is being committed for {minutes} minutes"
    match each.need:
        case Need.REINGEST:
            text = f"No replica has segment {name}: all are in ERROR. {why or 'It is read from the stream again.'}"
            return Found(REINGEST, name, "error", text)
        case Need.UNBUILT:
            text = f"{since}: its servers have its rows and cannot build it. {why or 'They are read again.'}"
            return Found(REINGEST, name, "error", text)
        case Need.FORBIDDEN:
            text = (
                f"No replica has segment {name}: all are in ERROR. The table keeps rows in the order of the stream "
                "(partial upsert or dedup), so they are not read again unless its disasterRecoveryMode is ALWAYS. "
                "Set it, or delete the segments from this one on."
            )
            return Found(UNRECOVERABLE, name, "error", text)
        case Need.UNREACHABLE:
            down = ", ".join(each.segment.down)
            return Found(LATE, name, "error", f"{since}: no live server has it. Start {down}, which may have it.")
        case Need.LATE:
            return Found(LATE, name, "warning", f"{since}: its servers are still at it; their logs say why.")
    return Found(LATE, name, "warning", f"{since}: a server has it, but {why}")

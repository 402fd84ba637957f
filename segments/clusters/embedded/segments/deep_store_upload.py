"""Segments that only servers have are put into the deep store, and their records say so."""

from __future__ import annotations

import logging
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from segments.clusters.embedded.instances.server_calls import ask_server
from segments.clusters.embedded.realtime.completion.commit_file import CommitFile
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments import segment_metadata
from segments.domain.segments.ideal_state import ONLINE
from segments.domain.segments.segment_metadata import COMPLETED_STATUSES, DONE, SegmentMetadata
from segments.errors import PinotAdminError, StateConflict
from segments.metrics import consumption as metrics
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.realtime_state import read_ideal
from segments.services.segments.segments import cached_records, read_records
from segments.services.upkeep.segment_record_cache import CachedRecord
from segments.store import paths
from segments.store.base import Versioned
from segments.store.records.instances import live_instances
from segments.store.update import update_record

log = logging.getLogger(__name__)

#: Seconds for which a server is waited for. An upload that takes longer goes on there, and the next pass takes what it
#: brought.
_UPLOAD_S: Final = 20.0
#: Segments tried per run, and the seconds after which no further one is begun: a pass goes on with the rest next time.
_PER_RUN: Final = 50
_LONGEST_RUN_S: Final = 120.0
#: So many failures end a run: the store is likely to be down, and each try has a server pack its segment.
_MOST_FAILURES: Final = 5


def missing_from_store(ctx: Context, table: TableName, cached: Mapping[str, CachedRecord] | None = None) -> list[str]:
    """Committed segments whose record says that only servers have them, over all segments of the table. ``cached``: the
    table's records, if just read.
    """
    records = cached_records(ctx, table) if cached is None else cached
    return sorted(s for s, record in records.items() if record.status == DONE and record.url == "")


def upload_to_store(ctx: Context, table: TableName, segments: Collection[str], *, is_forced: bool) -> list[str]:
    """As ``SegmentEngine.upload_to_store``."""
    records = read_records(ctx, table, sorted(segments))
    wanted = [s for s, m in records.items() if m.is_on_servers_only or (is_forced and m.status == DONE)]
    return [s for s in wanted if not try_upload(ctx, table, s, records[s])]


def upload_missing(
    ctx: Context, table: TableName, cached: Mapping[str, CachedRecord] | None = None
) -> tuple[list[str], dict[str, str]]:
    """One run of a pass: fetch what the deep store lacks from servers that have it. A sentence per segment that it has
    now, and {segment: why not} of those that it still lacks; the pass goes on with what it did not come to.

    Not always the same ones first: those that nobody can upload must not keep the others from their turn. ``cached`` as
    in ``missing_from_store``.
    """
    names, until = missing_from_store(ctx, table, cached), ctx.timer.seconds() + _LONGEST_RUN_S
    done, left, failures = [], dict.fromkeys(names, "its turn comes with the next pass."), 0
    for segment, metadata in read_records(ctx, table, random.sample(names, min(_PER_RUN, len(names)))).items():
        if ctx.timer.seconds() > until or failures == _MOST_FAILURES:
            break
        failure = try_upload(ctx, table, segment, metadata)
        if failure:
            left[segment], failures = failure, failures + 1
        else:
            del left[segment]
            done.append(f"Segment {segment} was only on servers and is in the deep store now.")
    return done, left


def try_upload(ctx: Context, table: TableName, segment: str, metadata: SegmentMetadata) -> str:
    """Have one live ONLINE replica after the other, in no order, upload the segment; "" when one did it, else why none
    did.
    """
    why = "no live server has it."
    for server in replicas(ctx, table, segment):
        try:
            answer = _ask(ctx, table, segment, server)
            if int(answer["crc"]) != metadata.crc:
                why = f"{server} has it with CRC {answer['crc']}, on record is {metadata.crc}."
                continue
            _take_in(ctx, table, segment, metadata, str(answer["downloadUrl"]))
        except (PinotAdminError, KeyError, TypeError, ValueError) as error:
            log.warning("Server %s did not upload %s of %s: %s", server, segment, table, error)
            why = f"{server} could not upload it: {error}"
            continue
        metrics.DEEP_STORE_UPLOAD_RETRIES.add(ctx.cluster, table.typed, "success")
        return ""
    metrics.DEEP_STORE_UPLOAD_RETRIES.add(ctx.cluster, table.typed, "error")
    return why


def replicas(ctx: Context, table: TableName, segment: str) -> Sequence[str]:
    """Live servers that serve the segment, in no order."""
    read_ideal(ctx, table)
    view = ctx.store.get(paths.external_view(table.typed))
    states = view.record.maps.get(segment, {}) if view and view.record else {}
    live = live_instances(ctx.store)
    found = sorted(i for i, state in states.items() if state == ONLINE and i in live)
    random.shuffle(found)
    return found


def _ask(ctx: Context, table: TableName, segment: str, server: str) -> Any:
    path = f"/segments/{quote(table.typed, safe='')}/{quote(segment, safe='')}/uploadLLCSegment"
    path += f"?uploadTimeoutMs={int(_UPLOAD_S * 1000)}"
    return ask_server(ctx, server, "POST", path, _UPLOAD_S + 10)


def _has_other_file(node: Versioned | None, metadata: SegmentMetadata) -> bool:
    return (
        node is not None and node.record is not None and segment_metadata.from_record(node.record).crc != metadata.crc
    )


def _take_in(ctx: Context, table: TableName, segment: str, metadata: SegmentMetadata, location: str) -> None:
    """The uploaded file gets its place, the record its address.

    A segment that was changed or deleted meanwhile is left alone, its file too: nothing gets the final name before the
    record is known to want it. Raises StateConflict then.
    """
    assert metadata.crc is not None
    path = paths.segment(table.typed, segment)
    file = CommitFile(ctx, table, segment, location, metadata.crc)

    def wanted(node: Versioned | None) -> SegmentMetadata | None:
        now = segment_metadata.from_record(node.record) if node and node.record else None
        is_same = now is not None and (now.crc, now.status) == (metadata.crc, metadata.status)
        return now if is_same and metadata.status in COMPLETED_STATUSES else None

    def decide(node: Versioned | None) -> ZNRecord | None:
        now = wanted(node)
        return now.edited({"segment.download.url": file.url}).to_record() if now else None

    if wanted(ctx.store.get(path)) is not None:
        file.stage()
        if wanted(update_record(ctx.store, path, decide).after) is not None:
            file.finish()
            return
    if _has_other_file(ctx.store.get(path), metadata):
        file.discard()  # of a deleted segment it may be the last copy: the clean-up of uploads takes it in its time
    raise StateConflict(f"Segment '{segment}' of table '{table}' was changed or deleted while it was uploaded.")

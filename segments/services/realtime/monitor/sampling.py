"""The pass that records every partition once a minute (Pinot calls it RealtimeConsumerMonitor), and finds messages that
will leave the stream unread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Max

from segments.domain.formats.moment import moment_at
from segments.domain.realtime import backlog
from segments.domain.realtime.backlog import Progress
from segments.domain.realtime.llc_name import parse_llc_name
from segments.errors import PinotAdminError
from segments.models import LagSample, Segment, Table
from segments.names import REALTIME, TableName
from segments.services.core.context import Context
from segments.services.realtime.consumers import read_consumers
from segments.services.realtime.lag import KEPT, PartitionLag, read_lag
from segments.services.realtime.monitor.counted import last_counts
from segments.services.realtime.monitor.unread import Examined, Place, examine
from segments.services.realtime.resume_plan import PlannedStart
from segments.services.upkeep.validation import keep_findings

#: A partition that is further behind is asked of its stream: what waits there may be about to go.
_BEHIND_MS: Final = 60_000
_RECENT: Final = timedelta(minutes=5)
_LONGEST_OFFSET: Final = 128


@dataclass(frozen=True)
class _Seen:
    """What one run read before it asks the streams; ``before``: the last sample of each partition."""

    lags: Sequence[PartitionLag]
    waiting: Sequence[PlannedStart]
    before: Mapping[int, LagSample]
    now: datetime


def run(ctx: Context, table: TableName) -> list[str]:
    """A sample per partition; what is older than a day goes. Returns a sentence for each thing that is wrong."""
    row = Table.objects.filter(cluster__name=ctx.cluster, name=table.typed).first()
    if table.type != REALTIME or row is None:
        return []
    now = ctx.now()
    seen = _Seen(read_lag(ctx, table), ctx.engine.consumption.waiting(ctx, table), _last(row, now), now)
    examined = _ask_streams(ctx, table, seen)
    rows = _rows(ctx, table, row, seen)
    samples = [*(_of_consumed(row, lag, seen) for lag in seen.lags), *(_of_waiting(row, s, seen) for s in seen.waiting)]
    for sample in samples:
        _add_unread(sample, examined.get(sample.partition))
        _add_rate(sample, rows.get(sample.partition), seen)
    LagSample.objects.bulk_create(samples, batch_size=500)
    LagSample.objects.filter(table=row, at__lt=now - KEPT).delete()
    found = backlog.findings(table.typed, [e.unread for e in examined.values()], ctx.clock())
    keep_findings(ctx.cluster, table.typed, found, owns=backlog.CODES.__contains__)
    silent = [lag.partition for lag in seen.lags if not lag.replicas]
    return [*(f"No server reports partition {p} of {table}." for p in silent), *(f.message for f in found)]


def _last(row: Table, now: datetime) -> dict[int, LagSample]:
    recent = LagSample.objects.filter(table=row, at__gt=now - _RECENT, at__lt=now)
    return {sample.partition: sample for sample in recent.order_by("at")}


def _ask_streams(ctx: Context, table: TableName, seen: _Seen) -> dict[int, Examined]:
    """Of partitions that nothing consumes, that are behind, or whose servers cannot count what they are behind."""
    if not ctx.engine.offers.reads_streams:
        return {}
    places = [_place(s.partition, _stopped_at(s), seen, is_waiting=True) for s in seen.waiting]
    places += [
        _place(lag.partition, lag.offset, seen, is_waiting=False)
        for lag in seen.lags
        if lag.offset and (lag.messages is None or (lag.behind_ms or 0) > _BEHIND_MS)
    ]
    try:
        return examine(ctx, table, places, last_counts(ctx, table)) if places else {}
    except PinotAdminError:
        return {}


def _stopped_at(start: PlannedStart) -> str:
    return start.last_consumed or start.start


def _place(partition: int, offset: str, seen: _Seen, *, is_waiting: bool) -> Place:
    before = seen.before.get(partition)
    is_same = before is not None and before.offset == offset and before.unread_since is not None
    since = int(before.unread_since.timestamp() * 1000) if before and before.unread_since and is_same else None
    return Place(partition, offset, is_waiting, since)


def _rows(ctx: Context, table: TableName, row: Table, seen: _Seen) -> dict[int, tuple[int | None, int | None]]:
    """{partition: (sequence number, rows)} as ``Progress`` has them."""
    found: dict[int, tuple[int | None, int | None]] = {
        lag.partition: (parse_llc_name(lag.segment).sequence, None) for lag in seen.lags
    }
    for consumer in read_consumers(ctx, table) if ctx.engine.offers.own_processes else ():
        sequence, rows = found.get(consumer.partition, (None, None))
        if sequence is not None and parse_llc_name(consumer.segment).sequence == sequence:
            found[consumer.partition] = sequence, max(rows or 0, consumer.rows)
    if seen.waiting:
        newest = Segment.objects.filter(table=row, partition__in=[s.partition for s in seen.waiting]).order_by()
        for partition, sequence in newest.values_list("partition").annotate(Max("sequence")):
            found[partition or 0] = (sequence or 0) + 1, 0
    return found


def _of_consumed(row: Table, lag: PartitionLag, seen: _Seen) -> LagSample:
    offset = lag.offset[:_LONGEST_OFFSET]
    return LagSample(
        table=row, partition=lag.partition, at=seen.now, messages=lag.messages, behind_ms=lag.behind_ms, offset=offset
    )


def _of_waiting(row: Table, start: PlannedStart, seen: _Seen) -> LagSample:
    """Of a partition that nothing consumes, as in a pause."""
    offset = _stopped_at(start)[:_LONGEST_OFFSET]
    return LagSample(table=row, partition=start.partition, at=seen.now, messages=start.waiting, offset=offset)


def _add_unread(sample: LagSample, found: Examined | None) -> None:
    """What the stream said. Where nothing consumes, the age of the first unread message is how far it is behind."""
    if found is None:
        return
    unread = found.unread
    if unread.messages is not None:
        sample.messages = unread.messages
    sample.end, sample.keeps, sample.lost = found.end[:_LONGEST_OFFSET], found.keeps[:200], unread.lost
    if unread.since_ms is not None:
        sample.unread_since = moment_at(unread.since_ms)
    if unread.expires_ms is not None:
        sample.expires_at = moment_at(unread.expires_ms)
    if sample.behind_ms is None and unread.messages is not None:
        age_ms = None if unread.since_ms is None else max(0, int(sample.at.timestamp() * 1000) - unread.since_ms)
        sample.behind_ms = 0 if unread.messages == 0 else age_ms


def _add_rate(sample: LagSample, place: tuple[int | None, int | None] | None, seen: _Seen) -> None:
    """Rows per second since the sample before; where servers do not report rows, messages by numbered offsets."""
    before = seen.before.get(sample.partition)
    if place is not None:
        sample.sequence, sample.rows = place
    if before is None:
        return
    if sample.rows is None:
        sample.rows_per_s = _by_offsets(before, sample)
        return
    then = Progress(before.at.timestamp(), before.sequence, before.rows)
    now = Progress(sample.at.timestamp(), sample.sequence, sample.rows)
    sample.rows_per_s = backlog.rows_per_second(then, now, _committed(sample, then, now))


def _by_offsets(before: LagSample, sample: LagSample) -> float | None:
    seconds = (sample.at - before.at).total_seconds()
    if not before.offset.isdecimal() or not sample.offset.isdecimal() or seconds <= 0:
        return None
    messages = int(sample.offset) - int(before.offset)
    return messages / seconds if messages >= 0 else None


def _committed(sample: LagSample, then: Progress, now: Progress) -> dict[int, int | None]:
    """Rows of the segments that were committed between, as far as the mirror has them."""
    if then.sequence is None or now.sequence is None or then.sequence >= now.sequence:
        return {}
    rows: Iterable[tuple[int | None, int | None]] = Segment.objects.filter(
        table=sample.table, partition=sample.partition, sequence__gte=then.sequence, sequence__lt=now.sequence
    ).values_list("sequence", "total_docs")
    return {sequence: count for sequence, count in rows if sequence is not None}

"""One validation pass over one table (Pinot's SegmentStatusChecker): diagnose, keep findings open or close them, repair
what is safe.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from django.utils import timezone

from segments.domain.formats.storable_text import without_nul
from segments.domain.replacement import lineage as lineages
from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep import missing_periods
from segments.domain.upkeep.findings import NO_FILE, Found, Observation, diagnose, is_of_validation
from segments.errors import Unavailable
from segments.models import Finding
from segments.names import TableName
from segments.secret_texts import mask_text
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import read_lineage
from segments.services.segments.segments import cached_records
from segments.services.set_aside.finding import set_aside_findings
from segments.services.tables.table_record import read_table_config
from segments.store import paths

#: Findings of the pass over consumption begin so.
CONSUMPTION: Final = "consumption-"


def run(ctx: Context, table: TableName) -> list[str]:
    """One pass; returns one plain sentence per finding and repair."""
    of_engine = ctx.engine.consumption.validate(ctx, table)
    unreachable: list[Found] = []
    observation, config = observe(ctx, table, unreachable), read_table_config(ctx, table)
    found = [*diagnose(observation, config, ctx.clock()), *of_engine.findings]
    found += _missing_periods(ctx, table, config, observation.lineage.hidden())
    found = [*found, *set_aside_findings(ctx.cluster, table), *unreachable]
    #: While the store does not answer nobody knows which files are there: what was known stays.
    unknown = {NO_FILE} if unreachable else set()
    keep_findings(ctx.cluster, table.typed, found, owns=lambda code: is_of_validation(code) and code not in unknown)
    sentences = [*of_engine.sentences, *(f.message for f in found)]
    return sentences or [f"{table} has no problems."]


def observe(ctx: Context, table: TableName, unreachable: list[Found]) -> Observation:
    """Read everything a diagnosis needs, once. A deep store that does not answer is added to ``unreachable``, and its
    files are left out.
    """
    ideal, view, pending = ctx.store.get_many(
        [paths.ideal_state(table.typed), paths.external_view(table.typed), paths.pending_deletions(table.typed)]
    )
    rows = ideal.record.maps if ideal and ideal.record else {}
    # Where it is one long answer of a controller, records that no ideal state names are not searched for.
    records = list(rows) if getattr(ctx.store, "is_costly", False) else ctx.store.children(paths.segments(table.typed))
    return Observation(
        ideal=rows,
        view=view.record.maps if view and view.record else {},
        live=set(ctx.store.children(paths.LIVE_INSTANCES)),
        records=set(records),
        pending=set(pending.record.maps) if pending and pending.record else set(),
        missing_files=_missing_files(ctx, table, list(rows), unreachable),
        lineage=read_lineage(ctx, table) or lineages.empty(table.typed),
    )


def _missing_periods(ctx: Context, table: TableName, config: TableConfig, hidden: Collection[str]) -> list[Found]:
    """Of the segments that are not hidden."""
    period_ms = missing_periods.period_of(config)
    if period_ms is None:
        return []
    records = cached_records(ctx, table).items()
    times = [(r.start_ms, r.end_ms) for name, r in records if name not in hidden]
    known = [(start, end) for start, end in times if start is not None and end is not None]
    return missing_periods.finding(missing_periods.gaps(known, period_ms), period_ms)


def _missing_files(ctx: Context, table: TableName, segments: list[str], unreachable: list[Found]) -> set[str]:
    try:
        return ctx.engine.consumption.missing_files(ctx, table, segments)
    except (Unavailable, OSError) as error:
        unreachable.append(
            Found(
                "deep-store-unreachable", "", "warning", f"Whether all files of {table} are there is not known: {error}"
            )
        )
        return set()


def keep_findings(
    cluster: str, table: str, found: list[Found], *, owns: Callable[[str], bool], subject: str | None = None
) -> None:
    """Open new findings, refresh known ones, close those that are gone. ``owns``: the codes that the calling pass
    finds; with ``subject`` only findings about this one.
    """
    still_open = Finding.objects.filter(cluster=cluster, table_name=table, closed_at=None)
    still_open = still_open if subject is None else still_open.filter(subject=subject)
    known = {(f.code, f.subject): f for f in still_open if owns(f.code)}
    for item in found:
        row = known.pop((item.code, item.subject), None) or Finding(
            cluster=cluster, table_name=table, code=item.code, subject=item.subject
        )
        row.severity, row.message = item.severity, mask_text(without_nul(item.message))
        # Who else writes the row, to note that it was sent, must not be overwritten.
        row.save(update_fields=None if row.pk is None else ["severity", "message", "last_seen"])
    for gone in known.values():
        gone.closed_at = timezone.now()
        gone.save(update_fields=["closed_at"])

"""One validation pass over one table (Pinot's SegmentStatusChecker): diagnose, keep findings open or close them, repair what is safe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.utils import timezone

from segments.domain import lineage as lineages
from segments.domain.findings import Found, Observation, diagnose
from segments.gateways.deepstore import encode
from segments.models import Finding
from segments.names import TableName
from segments.secret_texts import mask_text
from segments.services import archive, deletion, pinot_findings, pinot_reaper
from segments.services.context import Context
from segments.services.lineage_record import read_lineage
from segments.services.set_aside.finding import set_aside_findings
from segments.services.table_record import read_table_config
from segments.store import paths

#: Findings of the pass over consumption begin so.
CONSUMPTION: Final = "consumption-"


def run(ctx: Context, table: TableName) -> list[str]:
    """One pass; returns one plain sentence per finding and repair."""
    repaired = deletion.drain(ctx, table) if ctx.pinot is None else []
    found = diagnose(observe(ctx, table), read_table_config(ctx, table), ctx.clock())
    if ctx.pinot is not None:
        stopped = pinot_findings.consumption_findings(ctx, table)
        keep_findings(ctx.cluster, table.typed, stopped, owns=lambda code: code.startswith(CONSUMPTION))
        found = [*found, *pinot_findings.rollback_findings(ctx, table)]
        repaired = [*(f.message for f in stopped), *archive.remove_aged(ctx, encode(table.raw)), *pinot_reaper.tidy(ctx, table)]
    found = [*found, *set_aside_findings(ctx.cluster, table)]
    keep_findings(ctx.cluster, table.typed, found, owns=lambda code: not code.startswith(CONSUMPTION))
    sentences = [*repaired, *(f.message for f in found)]
    return sentences or [f"{table} is as it should be."]


def observe(ctx: Context, table: TableName) -> Observation:
    """Read everything a diagnosis needs, once."""
    ideal, view, pending = ctx.store.get_many(
        [paths.ideal_state(table.typed), paths.external_view(table.typed), paths.pending_deletions(table.typed)]
    )
    rows = ideal.record.maps if ideal and ideal.record else {}
    # Where it is one long answer of a controller, records that no ideal state names are not looked for.
    records = list(rows) if getattr(ctx.store, "is_costly", False) else ctx.store.children(paths.segments(table.typed))
    return Observation(
        ideal=rows,
        view=view.record.maps if view and view.record else {},
        live=set(ctx.store.children(paths.LIVE_INSTANCES)),
        records=set(records),
        pending=set(pending.record.maps) if pending and pending.record else set(),
        missing_files=_missing_files(ctx, table, list(rows)),
        lineage=read_lineage(ctx, table) or lineages.empty(table.typed),
    )


def _missing_files(ctx: Context, table: TableName, segments: list[str]) -> set[str]:
    """Segments whose record points into our deep store where no file is. One listing of the table's folder."""
    if ctx.pinot is not None:
        return set()  # its deep store is Pinot's: nobody tells us what lies in it
    stored = {f.name for f in ctx.deep_store.files(encode(table.raw))}
    missing = set()
    for segment, node in zip(segments, ctx.store.get_many([paths.segment(table.typed, s) for s in segments]), strict=True):
        url = node.record.simple.get("segment.download.url", "") if node and node.record else ""
        ours = url.startswith((ctx.controller_url + "/segments/", ctx.deep_store.uri(encode(table.raw)) + "/"))
        if ours and encode(segment) not in stored:
            missing.add(segment)
    return missing


def keep_findings(cluster: str, table: str, found: list[Found], *, owns: Callable[[str], bool]) -> None:
    """Open new findings, refresh known ones, close those that are gone. ``owns``: the codes that the calling pass looks for."""
    still_open = Finding.objects.filter(cluster=cluster, table_name=table, closed_at=None)
    known = {(f.code, f.subject): f for f in still_open if owns(f.code)}
    for item in found:
        row = known.pop((item.code, item.subject), None) or Finding(cluster=cluster, table_name=table, code=item.code, subject=item.subject)
        row.severity, row.message = item.severity, mask_text(item.message)
        row.save()
    for gone in known.values():
        gone.closed_at = timezone.now()
        gone.save(update_fields=["closed_at"])

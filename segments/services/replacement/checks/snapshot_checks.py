"""Checks on the hidden new segments right before the switch (write-audit-publish; rule `checked-before-switch`): run,
kept on record, blocking or passed over.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from segments.domain.formats.plural import counted
from segments.domain.replacement.check_document import CHECKS, checks_of
from segments.domain.replacement.checks import Check as TableCheck
from segments.domain.replacement.checks import (
    CheckPlan,
    CheckReport,
    Level,
    Measured,
    Outcome,
    evaluate,
    report_from_json,
)
from segments.domain.replacement.lineage import Entry, State
from segments.domain.segments.segment_metadata import from_record
from segments.domain.tables import schema as schemas
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, NotFound, PinotAdminError, PreconditionFailed, StateConflict, Unavailable
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.checks.check_measuring import Measuring, Snapshot
from segments.services.replacement.lineage_record import observe, read_lineage
from segments.services.replacement.start_admission import declared_rows
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.base import Check, Store, Versioned
from segments.store.records.document import Documents

log = logging.getLogger(__name__)

_REPORTS: Final = Documents(
    "report",
    "The check report of lineage entry '{}'",
    lambda report: report.entry,
    CheckReport.to_json,
    lambda _, body: report_from_json(body),
)
#: How often the checks run again because the new segments were replaced while they were read.
_ATTEMPTS: Final = 3
_LONGEST_REASON: Final = 2000
#: Segments whose files the transaction of a switch holds fast.
_MOST_CONDITIONS: Final = 1000
_DECLARED: Final = "declaredRows"

#: {segment: CRC on record} of what was checked.
Files = dict[str, str]


class ChecksFailed(PreconditionFailed):
    """The table's checks refuse the switch; nothing has changed, the new segments stay hidden. ``report`` has every
    figure.
    """

    def __init__(self, report: CheckReport) -> None:
        failed = report.blocking
        shown = "; ".join(o.sentence for o in failed)
        super().__init__(
            f"The checks of table '{report.table}' refuse the switch to lineage entry '{report.entry}': {shown}.",
            remedy="Bring corrected data, revert the entry, or switch all the same with a reason (overrideChecks).",
            entry=report.entry,
            checks=[{"name": o.name, "measured": o.measured, "allowed": o.allowed, "error": o.error} for o in failed],
        )
        self.report = report


class FilesChanged(Exception):
    """A segment that was checked is another file by now: check again. Never leaves an end."""


def require_passed(
    ctx: Context,
    table: TableName,
    entry: Entry,
    *,
    override: str,
    actor: Actor,
    config: TableConfig | None = None,
    declared: int | None = None,
) -> Files:
    """Called by end once all new segments are online and before queries switch; a refusal raised here keeps the old
    side.

    Runs the table's checks on the segments that ``entry`` would show and keeps the result on record. Raises
    ChecksFailed when one of level block failed and ``override`` (a reason) is empty; an override is audited. A check
    that cannot be measured has failed. Rows that the start ``declared`` are counted too. Without both nothing is done;
    ``config`` saves reading the table's config again.

    Returns what was checked, for ``same_files``.
    """
    config = config or read_table_config(ctx, table)
    plan = _plan_of(config) if config.custom else CheckPlan()
    counted, files = _count(ctx, table, entry.segments_to, declared) if declared is not None else ([], {})
    if isinstance(plan, CheckPlan) and not plan.checks and not counted:
        return files
    report, measured = _run(ctx, config, entry, plan)
    report = replace(report, actor=actor.name, outcomes=(*counted, *report.outcomes))
    if report.blocking and override.strip():
        report = replace(report, override=override.strip()[:_LONGEST_REASON])
    _judge(ctx, table, report, actor)
    return {**files, **measured}


def _judge(ctx: Context, table: TableName, report: CheckReport, actor: Actor) -> None:
    """Keep the report; ChecksFailed when it blocks."""
    _store(ctx, table, report)
    for outcome in report.warnings:
        log.warning("Check of lineage entry %s of %s: %s.", report.entry, table, outcome.sentence)
    if report.status == "blocked":
        raise ChecksFailed(report)
    if report.status == "overridden":
        audit.record(
            replace(actor, reason=report.override),
            "overrideChecks",
            cluster=ctx.cluster,
            target=table.typed,
            entry=report.entry,
            checks=[o.sentence for o in report.blocking],
        )


def same_files(ctx: Context, table: TableName, files: Files) -> list[Check]:
    """Raises FilesChanged when one of the segments is another file than the checked one.

    The returned conditions, for the transaction that switches, keep it so until then; of more segments than fit one
    transaction there are none, and only what was uploaded since this call can slip through.
    """
    nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in files])
    if [_crc(n) for n in nodes] != list(files.values()):
        raise FilesChanged
    found = [
        Check(paths.segment(table.typed, s), n.version) for s, n in zip(files, nodes, strict=True) if n is not None
    ]
    return found if len(found) <= _MOST_CONDITIONS else []


def uploading_again(table: TableName, entry_id: str) -> PreconditionFailed:
    """The refusal when new files kept coming in while they were checked."""
    return PreconditionFailed(
        f"Segments of lineage entry '{entry_id}' of table '{table}' were uploaded again while they were checked.",
        remedy="Wait until all uploads are through, then end again.",
        entry=entry_id,
    )


def run_checks(ctx: Context, table: TableName, entry_id: str, *, actor: Actor) -> CheckReport:
    """Run the checks now without switching. Of an open entry the result is kept on record; that of a switch is never
    overwritten.

    Raises NotFound, or StateConflict for a reverted entry, whose segments are gone.
    """
    config, seen = read_table_config(ctx, table), observe(ctx, table)
    entry = seen.lineage.entry(entry_id)
    if entry.state is State.REVERTED:
        raise StateConflict(
            f"Lineage entry '{entry_id}' is REVERTED; there is nothing to check.",
            remedy="Start a new replacement.",
            entry=entry_id,
        )
    report, _ = _run(ctx, config, entry, _plan_of(config))
    declared = declared_rows(entry)
    counted = _count(ctx, table, entry.segments_to, declared)[0] if declared is not None else []
    report = replace(report, actor=actor.name, preview=True, outcomes=(*counted, *report.outcomes))
    if entry.state is State.IN_PROGRESS:
        _store(ctx, table, report)
    audit.record(actor, "runChecks", cluster=ctx.cluster, target=table.typed, entry=entry_id, status=report.status)
    return report


def read_checks(ctx: Context, table: TableName, entry_id: str) -> CheckReport | None:
    """What the checks of an entry found last, None when they never ran. RecordCorrupt when the record
    cannot be read.
    """
    return _REPORTS.read(ctx.store, paths.check_report(table.typed, entry_id))


def status_of(store: Store, typed: str, entry_id: str) -> str:
    """What the checks of an entry of a typed table found: passed, warned or overridden; empty when they never ran, or
    nobody can read it.
    """
    try:
        report = _REPORTS.read(store, paths.check_report(typed, entry_id))
    except PinotAdminError:
        return ""
    return report.status if report is not None and not report.preview else ""


def is_blocked(ctx: Context, table: TableName, entry_id: str) -> bool:
    """Did the checks refuse this entry's last end, so that somebody has to decide? Its lease does not
    count until then.
    """
    report = read_checks(ctx, table, entry_id)
    return report is not None and report.status == "blocked" and not report.preview


def _plan_of(config: TableConfig) -> CheckPlan | InvalidInput:
    try:
        return checks_of(config)
    except InvalidInput as error:  # somebody else may have written it; then nothing is known to be right
        return error


def _run(ctx: Context, config: TableConfig, entry: Entry, plan: CheckPlan | InvalidInput) -> tuple[CheckReport, Files]:
    """All checks on the entry's new side, again when it was uploaded again meanwhile; and what was read."""
    began, ran_at, files = ctx.timer.seconds(), ctx.clock(), Files()
    if isinstance(plan, InvalidInput):
        outcomes = [
            Outcome("document", "document", Level.BLOCK, False, "", "a document that can be read", plan.message)
        ]
    else:
        outcomes, files = _measured(ctx, config, entry, plan, ran_at)
    took = round((ctx.timer.seconds() - began) * 1000)
    return CheckReport(config.table.typed, entry.id, ran_at, took, len(entry.segments_to), tuple(outcomes)), files


def _count(ctx: Context, table: TableName, segments: Sequence[str], declared: int) -> tuple[list[Outcome], Files]:
    """An outcome if the segments' rows are not as many as were declared, and what was counted."""
    nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in segments])
    rows = sum(from_record(n.record).total_docs or 0 for n in nodes if n and n.record)
    files = {s: _crc(n) for s, n in zip(segments, nodes, strict=True)}
    allowed = f"{counted(declared, 'row')}, as declared at the start"
    return [
        Outcome(_DECLARED, _DECLARED, Level.BLOCK, False, counted(rows, "row"), allowed)
    ] if rows != declared else [], files


def _measured(
    ctx: Context, config: TableConfig, entry: Entry, plan: CheckPlan, now_ms: int
) -> tuple[list[Outcome], Files]:
    node = ctx.store.get(paths.schema(config.table.raw))
    if node is None or node.record is None:
        return [_failed(check, f"table '{config.table}' has no schema", now_ms) for check in plan.checks], {}
    snapshot = Snapshot(config, schemas.from_record(node.record), entry.segments_to, entry.segments_from or None)
    for _ in range(_ATTEMPTS):
        before = _crcs(ctx, config.table, entry.segments_to)
        try:
            opened = ctx.engine.snapshots.open(ctx, config.table.typed)
        except Unavailable as error:
            return [_failed(check, str(error), now_ms) for check in plan.checks], {}
        with opened as reader:
            measuring = Measuring(reader, snapshot, plan)
            outcomes = [evaluate(check, measuring.measure(check), now_ms) for check in plan.checks]
        if before == _crcs(ctx, config.table, entry.segments_to):
            return outcomes, before
    return [_failed(check, "the new segments are being uploaded again", now_ms) for check in plan.checks], {}


def _failed(check: TableCheck, why: str, now_ms: int) -> Outcome:
    return evaluate(check, Measured(error=why), now_ms)


def _crcs(ctx: Context, table: TableName, segments: Sequence[str]) -> Files:
    nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in segments])
    return {s: _crc(n) for s, n in zip(segments, nodes, strict=True)}


def _crc(node: Versioned | None) -> str:
    return node.record.simple.get("segment.crc", "") if node and node.record else ""


def _store(ctx: Context, table: TableName, report: CheckReport) -> None:
    """Keep the result; results of entries that are no longer in the lineage go."""
    _REPORTS.write(ctx.store, paths.check_report(table.typed, report.entry), report)
    lineage = read_lineage(ctx, table)
    for stale in (
        set(ctx.store.children(paths.check_reports(table.typed)))
        - set(lineage.entries if lineage else ())
        - {report.entry}
    ):
        with suppress(NotFound, Unavailable):
            ctx.store.delete(paths.check_report(table.typed, stale))


__all__ = [
    "CHECKS",
    "ChecksFailed",
    "FilesChanged",
    "is_blocked",
    "read_checks",
    "require_passed",
    "run_checks",
    "same_files",
]

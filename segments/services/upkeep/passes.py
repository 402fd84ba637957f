"""The periodic passes by Pinot's names: run one over one table or all, record what it said."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from django.utils import timezone

from segments.clusters.pinot import passes as pinot_passes
from segments.domain.upkeep.findings import Found
from segments.errors import NotFound
from segments.models import PassRun
from segments.names import REALTIME, TableName, TableType, split_table_name
from segments.secret_texts import mask_text
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.jobs.table_passes import turn_of_pass
from segments.services.realtime import lag, realtime_validation
from segments.services.replacement import entry_reaper
from segments.services.replacement.ends import end_jobs
from segments.services.upkeep import retention, validation
from segments.services.upkeep.validation import keep_findings
from segments.store import paths

log = logging.getLogger(__name__)

#: Pinot's pass over consumption is two of ours: the first goes on without the deep store, the second needs it. Nobody
#: asks for one.
CONSUMPTION: Final = "consumption"
COPIES: Final = "DeepStoreCopies"
_WHOLE: Final = "RealtimeSegmentValidationManager"
_PARTS: Final[dict[str, Callable[[Context, TableName], list[str]]]] = {
    CONSUMPTION: realtime_validation.repair_consumption,
    COPIES: realtime_validation.keep_copies,
}
PASSES: Final[dict[str, Callable[[Context, TableName], list[str]]]] = {
    "RetentionManager": retention.run,
    "SegmentStatusChecker": validation.run,
    _WHOLE: realtime_validation.run,
    "RealtimeConsumerMonitor": lag.run,
    "LineageReaper": entry_reaper.run,
    "EndJobs": end_jobs.run,
}
#: Passes that look at tables of one type only.
_TYPES: Final[dict[str, TableType]] = dict.fromkeys((_WHOLE, CONSUMPTION, COPIES, "RealtimeConsumerMonitor"), REALTIME)
#: Runs kept per pass and table.
KEPT_RUNS: Final = 50


def check_name(name: str) -> str:
    """Return the pass's name; NotFound lists those that exist."""
    if name not in PASSES:
        raise NotFound(f"Periodic task '{name}' does not exist.", remedy=f"Use one of {', '.join(sorted(PASSES))}.")
    return name


def run_pass(ctx: Context, name: str, table: TableName | None, actor: Actor) -> list[str]:
    """Run a pass now; returns its sentences. A table on which it fails does not stop the others (rule 7).

    On a Pinot cluster what its own controller does is only asked for there.
    """
    if name not in _PARTS:
        check_name(name)
    if ctx.pinot is not None and name in pinot_passes.OF_PINOT:
        asked = pinot_passes.ask_pinot(ctx, name, table)
        audit.record(actor, f"run {name}", cluster=ctx.cluster, target=table.typed if table else "", sentences=asked)
        return asked
    tables = [t for t in ([table] if table else all_tables(ctx)) if _TYPES.get(name) in (None, t.type)]
    sentences: list[str] = []
    for each in tables:
        sentences += _run_over(ctx, name, each)
    if table is None and name == "RetentionManager":
        sentences += retention.remove_aged_of_dropped_tables(ctx)
    if actor.name != "system":
        target = table.typed if table else ""
        audit.record(actor, f"run {name}", cluster=ctx.cluster, target=target, sentences=sentences[:20])
    return sentences


def _run_over(ctx: Context, name: str, table: TableName) -> list[str]:
    """Run it over one table and note what it said. What is at work on that table already is left alone."""
    started, succeeded, said = timezone.now(), True, []
    for part in (CONSUMPTION, COPIES) if name == _WHOLE else (name,):
        with turn_of_pass(ctx, part, table) as is_free:
            if not is_free:
                said.append(f"{name} is at work on {table} already.")
                continue
            try:
                said += (_PARTS.get(part) or PASSES[part])(ctx, table)
            except NotFound as error:
                said.append(error.message)
            except Exception as error:
                log.exception("%s failed on %s", part, table)
                said.append(mask_text(f"{name} failed on {table}: {error}"))
                succeeded = False
    shown = _WHOLE if name == CONSUMPTION else name
    _remember(ctx, shown, table, started, said, succeeded)
    failure = [] if succeeded else [Found("pass-failed", shown, "error", said[-1])]
    keep_findings(ctx.cluster, table.typed, failure, owns=lambda code: code == "pass-failed", subject=shown)
    return said


def all_tables(ctx: Context) -> list[TableName]:
    """Every table of the cluster."""
    found = []
    for typed in ctx.store.children(paths.TABLE_CONFIGS):
        raw, kind = split_table_name(typed)
        if kind:
            found.append(TableName(raw, kind))
    return found


def _remember(ctx: Context, name: str, table: TableName, started: datetime, said: list[str], succeeded: bool) -> None:
    PassRun.objects.create(
        cluster=ctx.cluster, task=name, table_name=table.typed, started_at=started, finished_at=timezone.now(),
        succeeded=succeeded, sentences=said,
    )  # fmt: skip
    runs = PassRun.objects.filter(cluster=ctx.cluster, task=name, table_name=table.typed)
    oldest = runs.values_list("pk", flat=True)[KEPT_RUNS:]
    if oldest:
        PassRun.objects.filter(pk__in=list(oldest)).delete()

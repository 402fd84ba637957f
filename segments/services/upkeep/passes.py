"""The periodic passes by Pinot's names: run one over one table or all, record its sentences."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.utils import timezone

from segments.domain.upkeep.findings import Found
from segments.errors import NotFound
from segments.metrics import upkeep as metrics
from segments.models import PassRun
from segments.names import TableName, split_table_name
from segments.secret_texts import mask_text
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.jobs.table_passes import pass_lock
from segments.services.upkeep.pass_declaration import TablePass
from segments.services.upkeep.periodic_passes import DECLARED, table_passes
from segments.services.upkeep.validation import keep_findings
from segments.store import paths

log = logging.getLogger(__name__)

#: What can be started by name, over one table or all: the passes that go by that name.
PASSES: Final[dict[str, tuple[TablePass, ...]]] = {
    name: tuple(one for one in table_passes() if name in (one.part_of, one.name))
    for name in sorted({one.part_of or one.name for one in table_passes()})
}
#: {name: what it does, for people who choose one}
WORDS: Final[dict[str, str]] = {
    name: "; ".join(
        one.does
        for one in DECLARED
        for scope in (one.scope, one.by_name)
        if isinstance(scope, TablePass) and name in (scope.part_of, scope.name)
    )
    for name in PASSES
}
#: Runs kept per pass and table.
KEPT_RUNS: Final = 50


def check_name(name: str) -> str:
    """Return the pass's name; NotFound lists those that exist."""
    if name not in PASSES:
        raise NotFound(f"Periodic task '{name}' does not exist.", remedy=f"Use one of {', '.join(sorted(PASSES))}.")
    return name


def run_pass(ctx: Context, name: str, table: TableName | None, actor: Actor) -> list[str]:
    """Run a pass now by its name; returns its sentences. A table on which it fails does not stop the others.

    Those that the cluster's own controllers run are only started.
    """
    check_name(name)
    if name in ctx.engine.offers.own_passes:
        with audit.recorded(ctx, actor, f"run {name}", table.typed if table else "") as detail:
            started: list[str] = ctx.engine.instances.start_own_pass(ctx, name, table)
            detail["sentences"] = started
        return started
    sentences = _run(ctx, name, PASSES[name], table)
    if actor.name != "system":
        target = table.typed if table else ""
        audit.record(actor, f"run {name}", cluster=ctx.cluster, target=target, sentences=sentences[:20])
    return sentences


def run_scheduled(ctx: Context, one: TablePass) -> list[str]:
    """Run a declared pass over all tables of the cluster; its sentences are on record with each table."""
    return _run(ctx, one.shown or one.name, (one,), None)


def _run(ctx: Context, name: str, parts: Sequence[TablePass], table: TableName | None) -> list[str]:
    sentences: list[str] = []
    for one in parts:
        metrics.PASS_RUNS.add(one.name)
    for each in [table] if table else all_tables(ctx):
        mine = [one for one in parts if one.table_type in (None, each.type)]
        sentences += _run_over(ctx, name, mine, each) if mine else []
    for one in parts:
        sentences += one.afterwards(ctx) if one.afterwards and table is None else []
    return sentences


def _run_over(ctx: Context, name: str, parts: Sequence[TablePass], table: TableName) -> list[str]:
    """Run these over one table and record their sentences. What is at work on that table already is left alone."""
    started, succeeded, sentences = timezone.now(), True, []
    for one in parts:
        with pass_lock(ctx, one.name, table) as is_free:
            if not is_free:
                sentences.append(f"{name} is at work on {table} already.")
                continue
            metrics.PASS_TABLES.add(one.name)
            try:
                with metrics.PASS_SECONDS.timed(one.name):
                    sentences += one.run(ctx, table)
            except NotFound as error:
                sentences.append(error.message)
            except Exception as error:
                log.exception("%s failed on %s", one.name, table)
                metrics.PASS_ERRORS.add(ctx.cluster, table.typed, one.name)
                sentences.append(mask_text(f"{name} failed on {table}: {error}"))
                succeeded = False
    _remember(ctx, name, table, started, sentences, succeeded)
    failure = [] if succeeded else [Found("pass-failed", name, "error", sentences[-1])]
    keep_findings(ctx.cluster, table.typed, failure, owns=lambda code: code == "pass-failed", subject=name)
    return sentences


def all_tables(ctx: Context) -> list[TableName]:
    """Every table of the cluster."""
    found = []
    for typed in ctx.store.children(paths.TABLE_CONFIGS):
        raw, kind = split_table_name(typed)
        if kind:
            found.append(TableName(raw, kind))
    return found


def _remember(
    ctx: Context, name: str, table: TableName, started: datetime, sentences: list[str], succeeded: bool
) -> None:
    PassRun.objects.create(
        cluster=ctx.cluster, task=name, table_name=table.typed, started_at=started, finished_at=timezone.now(),
        succeeded=succeeded, sentences=sentences,
    )  # fmt: skip
    runs = PassRun.objects.filter(cluster=ctx.cluster, task=name, table_name=table.typed)
    oldest = runs.values_list("pk", flat=True)[KEPT_RUNS:]
    if oldest:
        PassRun.objects.filter(pk__in=list(oldest)).delete()

"""Gives up unfinished replacements whose client is gone: reverts them, so that nothing waits a day for a dead process
(B5).

Entries of our own pushes belong to the push: a worker that died is replaced by ``push.resume_lost``, and only the entry
of a push that is over is reverted here. Entries that a background end is at belong to that end. All others follow the
rules of ``domain.lease``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from segments.clusters.pinot.passes import tables_with_open_entries
from segments.clusters.pinot.replacement import reaper as pinot_reaper
from segments.clusters.pinot.replacement import rollback as pinot_rollback
from segments.domain.replacement import decisions as replacement
from segments.domain.replacement import lease
from segments.domain.replacement.lease import LeaseTerms, Verdict
from segments.domain.replacement.lineage import Entry, State
from segments.errors import NotFound, PinotAdminError
from segments.models import Push
from segments.names import TableName, split_table_name
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.jobs.table_passes import turn_of_pass
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.ends import end_job_record
from segments.services.replacement.entry_lease import lease_terms
from segments.services.replacement.lineage_record import Observed, note_entry, read_lineage
from segments.services.replacement.lineage_switch import Switch, apply_switch
from segments.services.segments.online import serving_rows
from segments.services.tables.table_record import read_table_config
from segments.store import paths

log = logging.getLogger(__name__)


def run(ctx: Context, table: TableName) -> list[str]:
    """Look at every unfinished replacement of a table; one sentence for each that was given up, or is about to be."""
    before = pinot_reaper.tidy(ctx, table) if ctx.pinot is not None else []
    lineage = read_lineage(ctx, table)
    open_entries = [e for e in lineage.in_order() if e.state is State.IN_PROGRESS] if lineage else []
    if not open_entries:
        return before
    terms = lease_terms(ctx, read_table_config(ctx, table))
    pushes = {
        p.entry_id: p
        for p in Push.objects.filter(cluster=ctx.cluster, entry_id__in=[e.id for e in open_entries]).defer("plan")
    }
    with turn_of_pass(ctx, "leases", table) as is_free:
        looked = [_try(ctx, table, e, terms, pushes.get(e.id)) for e in open_entries] if is_free else []
    return [*before, *(said for said in looked if said)]


def _try(ctx: Context, table: TableName, entry: Entry, terms: LeaseTerms, push: Push | None) -> str | None:
    try:
        return _look_at(ctx, table, entry, terms, push)
    except PinotAdminError as error:
        log.warning("Lineage entry %s of %s could not be looked at: %s", entry.id, table, error)
        return f"Lineage entry {entry.id} of {table} could not be given up: {error}"


def run_all(ctx: Context) -> list[str]:
    """The same for every table that has a lineage; one that fails does not stop the others."""
    sentences = pinot_rollback.resume_all(ctx) if ctx.pinot is not None else []
    tables = _tables_of_pinot(ctx) if ctx.pinot is not None else ctx.store.children(paths.LINEAGE)
    for typed in tables:
        raw, kind = split_table_name(typed)
        if kind is None:
            continue
        try:
            sentences += run(ctx, TableName(raw, kind))
        except NotFound:
            continue  # the table is being dropped
        except Exception:
            log.exception("The unfinished replacements of %s could not be looked at.", typed)
    return sentences


def _tables_of_pinot(ctx: Context) -> list[str]:
    return sorted({*tables_with_open_entries(ctx), *ctx.store.children(paths.STARTS)})


def _look_at(ctx: Context, table: TableName, entry: Entry, terms: LeaseTerms, push: Push | None) -> str | None:
    if push is not None:
        return _of_push(ctx, table, entry, push, terms)
    if _is_being_ended(ctx, entry):
        return None
    if lease.is_leased(entry) and snapshot_checks.is_blocked(ctx, table, entry.id):
        terms = replace(terms, lease_ms=terms.period_ms)  # its client was refused; people get the period to decide
    judgement = lease.judge(entry, terms, ctx.clock())
    if judgement.verdict is Verdict.ALIVE:
        return None
    if judgement.watch is not None:
        note_entry(ctx, table, entry.id, {lease.WATCHED: judgement.watch}, states={State.IN_PROGRESS})
    if judgement.verdict is Verdict.SUSPECT:
        return (
            f"The client of lineage entry {entry.id} of {table} is silent; it will be reverted unless it is heard of."
        )
    seconds = max(0, ctx.clock() - lease.last_sign_ms(entry)) / 1000
    why = f"its client sent heartbeats and has been silent for {seconds:.0f} s"

    def is_lapsed(now: Entry) -> bool:
        return not _is_being_ended(ctx, now) and lease.judge(now, terms, ctx.clock()).verdict is Verdict.LAPSED

    return _revert(ctx, table, entry.id, why, is_lapsed)


def _of_push(ctx: Context, table: TableName, entry: Entry, push: Push, terms: LeaseTerms) -> str | None:
    """A push that failed or was cancelled took its entry back itself, unless that could not be done at the time."""
    if push.state not in (Push.State.FAILED, Push.State.CANCELLED):
        return None
    finished_ms = push.finished_at.timestamp() * 1000 if push.finished_at else 0
    if 0 <= ctx.clock() - finished_ms < terms.grace_ms:
        return None
    return _revert(ctx, table, entry.id, f"its push {push.pk} is {push.get_state_display()}", lambda now: True)


def _is_being_ended(ctx: Context, entry: Entry) -> bool:
    job = end_job_record.job_of_entry(ctx, entry)
    return job is not None and job.is_open


def _revert(ctx: Context, table: TableName, entry_id: str, why: str, still: Callable[[Entry], bool]) -> str | None:
    """Revert the entry if it is IN_PROGRESS and ``still`` holds for it at the moment of the write."""
    said = f"Reverted lineage entry {entry_id} of {table}: {why}."
    if ctx.pinot is not None:
        return said if pinot_reaper.revert(ctx, table, entry_id, why, still) else None

    def decide(seen: Observed) -> Switch | None:
        entry = seen.lineage.entries.get(entry_id)
        if entry is None or entry.state is not State.IN_PROGRESS or not still(entry):
            return None
        rows = serving_rows(ctx, table, seen.ideal.maps)
        decision = replacement.revert(seen.lineage, entry_id, force=True, ideal=rows, now_ms=ctx.clock())
        return Switch(decision.lineage, decision.delete, {"entry": entry_id, "why": why})

    done = apply_switch(ctx, table, "reapEntry", Actor(SYSTEM.name, why), decide)
    return said if done else None

"""Gives up unfinished replacements whose client is gone: reverts them, so that nothing waits a day for a dead process
(rule `entry-lease`).

Entries of our own pushes belong to the push: a worker that died is replaced by ``push.resume_lost``, and only the entry
of a push that is over is reverted here. Entries that a background end is at belong to that end. All others follow the
rules of ``domain.lease``.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from segments.domain.replacement import lease
from segments.domain.replacement.lease import LeaseTerms, Verdict
from segments.domain.replacement.lineage import Entry, State
from segments.errors import NotFound, PinotAdminError
from segments.models import Push
from segments.names import TableName, split_table_name
from segments.services.core.context import Context
from segments.services.jobs.table_passes import pass_lock
from segments.services.replacement.abandoned_replacements import give_up
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.ends import end_job_record
from segments.services.replacement.entry_lease import lease_terms
from segments.services.replacement.lineage_record import note_entry, read_lineage
from segments.services.tables.table_record import read_table_config

log = logging.getLogger(__name__)


def run(ctx: Context, table: TableName) -> list[str]:
    """Judge every unfinished replacement of a table; one sentence for each that was given up, or is about to be."""
    before = ctx.engine.lineage.tidy(ctx, table)
    lineage = read_lineage(ctx, table)
    open_entries = [e for e in lineage.in_order() if e.state is State.IN_PROGRESS] if lineage else []
    if not open_entries:
        return before
    terms = lease_terms(ctx, read_table_config(ctx, table))
    pushes = {
        p.entry_id: p
        for p in Push.objects.filter(cluster=ctx.cluster, entry_id__in=[e.id for e in open_entries]).defer("plan")
    }
    with pass_lock(ctx, "leases", table) as is_free:
        found = [_try(ctx, table, e, terms, pushes.get(e.id)) for e in open_entries] if is_free else []
    return [*before, *(sentence for sentence in found if sentence)]


def _try(ctx: Context, table: TableName, entry: Entry, terms: LeaseTerms, push: Push | None) -> str | None:
    try:
        return _judged(ctx, table, entry, terms, push)
    except PinotAdminError as error:
        log.warning("Lineage entry %s of %s could not be judged: %s", entry.id, table, error)
        return f"Lineage entry {entry.id} of {table} could not be given up: {error}"


def run_all(ctx: Context) -> list[str]:
    """The same for every table that has a lineage; one that fails does not stop the others."""
    sentences = ctx.engine.lineage.resume_rollbacks(ctx)
    for typed in ctx.engine.lineage.tables_with_open_entries(ctx):
        raw, kind = split_table_name(typed)
        if kind is None:
            continue
        try:
            sentences += run(ctx, TableName(raw, kind))
        except NotFound:
            continue  # the table is being dropped
        except Exception:
            log.exception("The unfinished replacements of %s could not be judged.", typed)
    return sentences


def _judged(ctx: Context, table: TableName, entry: Entry, terms: LeaseTerms, push: Push | None) -> str | None:
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

    return give_up(ctx, table, entry.id, why, is_lapsed)


def _of_push(ctx: Context, table: TableName, entry: Entry, push: Push, terms: LeaseTerms) -> str | None:
    """A push that failed or was cancelled took its entry back itself, unless that could not be done at the time."""
    if push.state not in (Push.State.FAILED, Push.State.CANCELLED):
        return None
    finished_ms = push.finished_at.timestamp() * 1000 if push.finished_at else 0
    if 0 <= ctx.clock() - finished_ms < terms.grace_ms:
        return None
    return give_up(ctx, table, entry.id, f"its push {push.pk} is {push.get_state_display()}", lambda now: True)


def _is_being_ended(ctx: Context, entry: Entry) -> bool:
    job = end_job_record.job_of_entry(ctx, entry)
    return job is not None and job.is_open

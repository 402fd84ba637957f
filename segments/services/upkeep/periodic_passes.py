"""Every periodic pass, declared once: the Celery task, its schedule, Pinot's name for it, its worker and time limit,
and the table in docs/operations.md all come from here.
"""

from __future__ import annotations

from typing import Final

from segments.domain.jobs.workers.pools import ON_DEMAND, PASSES, REPAIRS, VALIDATION, TaskRule
from segments.names import REALTIME
from segments.services.alerts.scheduled import deliver_alerts, find_alerts
from segments.services.backup import history_copies
from segments.services.core.context import Context
from segments.services.jobs.queue import PREFIX
from segments.services.push import upload_folders
from segments.services.realtime import realtime_validation
from segments.services.realtime.monitor import sampling
from segments.services.rebalance import drain, rebalance
from segments.services.replacement import entry_reaper
from segments.services.replacement.ends import end_jobs
from segments.services.schedules import beat_rows
from segments.services.segments import deletion
from segments.services.upkeep import housekeeping, retention, validation
from segments.services.upkeep.pass_declaration import ClusterPass, Every, OncePass, Periodic, TablePass

#: Pinot's pass over consumption is two of ours: the first goes on without the deep store, the
#: second needs it.
CONSUMPTION: Final = "RealtimeSegmentValidationManager"


def _resume_lost(ctx: Context) -> list[str]:
    # heavy: most processes of workers need nothing of what building segments takes
    from segments.services.push.pushes import resume_lost

    return resume_lost(ctx)


def _resume_sessions(ctx: Context) -> list[str]:
    # heavy, as above
    from segments.services.ingestion.sessions import resume_lost

    return resume_lost(ctx)


def _remove_late_files(ctx: Context) -> list[str]:
    # heavy, as above
    from segments.services.ingestion.files.late_files import remove_late_files

    return remove_late_files(ctx)


def _keep_moves(ctx: Context) -> list[str]:
    return [*drain.keep(ctx), *rebalance.keep(ctx)]


DECLARED: Final = (
    Periodic(
        "run_retention",
        "lineage clean-up, time retention, files of deleted segments",
        Every("Retention", 6, "hours"),
        TablePass("RetentionManager", retention.run, afterwards=retention.remove_aged_of_dropped_tables),
        TaskRule(REPAIRS, 1800),
    ),
    Periodic(
        "drain_deletions",
        "finishes deletions once no server holds the segment",
        Every("Deletions", 3, "seconds"),
        ClusterPass(deletion.drain_all),
        TaskRule(REPAIRS, 600),
    ),
    Periodic(
        "run_validation",
        "finds problems of all tables",
        Every("Validation", 5, "minutes"),
        TablePass("SegmentStatusChecker", validation.run),
        TaskRule(PASSES, 600, is_long=True),
        on_pinot=True,
    ),
    Periodic(
        "run_realtime_validation",
        "repairs consumption, lists what cannot be repaired",
        Every("Realtime validation", 1, "minutes"),
        TablePass(
            "consumption", realtime_validation.repair_consumption, REALTIME, part_of=CONSUMPTION, shown=CONSUMPTION
        ),
        TaskRule(VALIDATION, 300),
    ),
    Periodic(
        "copy_to_deep_store",
        "copies segments that only servers have into the deep store, removes uploads that were left there",
        Every("Copies in the deep store", 1, "minutes"),
        TablePass("DeepStoreCopies", realtime_validation.keep_copies, REALTIME, part_of=CONSUMPTION),
        TaskRule(VALIDATION, 1800),
    ),
    Periodic(
        "sample_lag",
        "records how far each partition is behind its stream",
        Every("Lag", 1, "minutes"),
        TablePass("RealtimeConsumerMonitor", sampling.run, REALTIME),
        TaskRule(PASSES, 120, is_long=True),
        on_pinot=True,
    ),
    Periodic(
        "keep_consumption",
        "sees pauses, planned resumes and force commits through",
        Every("Consumption", 3, "seconds"),
        ClusterPass(realtime_validation.keep_consumption),
        TaskRule(PASSES, 120),
        on_pinot=True,
    ),
    Periodic(
        "reap_entries",
        "reverts replacements whose client went silent",
        Every("Abandoned replacements", 5, "seconds"),
        ClusterPass(entry_reaper.run_all),
        TaskRule(PASSES, 120),
        on_pinot=True,
        warns=True,
        by_name=TablePass("LineageReaper", entry_reaper.run),
    ),
    Periodic(
        "resume_lost_pushes",
        "resumes or reverts pushes whose worker died",
        Every("Lost pushes", 10, "seconds"),
        ClusterPass(_resume_lost),
        TaskRule(PASSES, 120),
        on_pinot=True,
        warns=True,
    ),
    Periodic(
        "resume_lost_sessions",
        "resumes file ingestion sessions whose worker died",
        Every("Lost ingestion sessions", 10, "seconds"),
        ClusterPass(_resume_sessions),
        TaskRule(PASSES, 120),
        on_pinot=True,
        warns=True,
    ),
    Periodic(
        "remove_uploads",
        "removes files of ingestFromFile and ingestFromURI whose push is over",
        Every("Uploads", 1, "minutes"),
        OncePass(lambda _: upload_folders.sweep()),
        TaskRule(PASSES, 120),
        may_overlap=True,
    ),
    Periodic(
        "remove_late_files",
        "removes what was staged for file ingestion sessions after they were over",
        Every("Late ingestion files", 1, "minutes"),
        ClusterPass(_remove_late_files),
        TaskRule(PASSES, 300),
        on_pinot=True,
    ),
    Periodic(
        "advance_ends",
        "switches background ends once all replicas are online",
        Every("Ends in the background", 2, "seconds"),
        ClusterPass(end_jobs.advance_all),
        TaskRule(PASSES, 900, is_long=True),
        on_pinot=True,
        by_name=TablePass("EndJobs", end_jobs.run),
    ),
    Periodic(
        "keep_rebalances",
        "continues rebalances, and drains of servers",
        Every("Rebalances", 3, "seconds"),
        ClusterPass(_keep_moves),
        TaskRule(PASSES, 300, is_long=True),
        on_pinot=True,
        by_name=TablePass("RebalanceChecker", rebalance.keep_one),
    ),
    Periodic(
        "keep_schedules",
        "keeps the schedules of tables' tasks in step with table configs",
        Every("Schedules of tasks", 3, "seconds"),
        OncePass(lambda _: beat_rows.keep_in_step()),
        TaskRule(PASSES, 60),
    ),
    Periodic(
        "find_alerts",
        "findings about pushes, sessions, pauses, workers; messages about what opened and closed",
        Every("Alerts", 10, "seconds"),
        OncePass(find_alerts),
        TaskRule(PASSES, 60),
    ),
    Periodic(
        "deliver_alerts",
        "sends webhooks and mail that are due, ten seconds for each",
        Every("Delivery of alerts", 5, "seconds"),
        OncePass(deliver_alerts),
        TaskRule(PASSES, 120),
        warns=True,
    ),
    Periodic(
        "copy_history",
        "copies audit records and ended pushes into the deep store",
        Every("Copies of the history", 5, "minutes"),
        ClusterPass(history_copies.run),
        TaskRule(REPAIRS, 600),
    ),
    Periodic(
        "keep_house",
        "deletes ended sessions, records older than they are kept, and uploaded files that are pushed or a day old",
        Every("Housekeeping", 1, "hours"),
        OncePass(lambda _: housekeeping.run()),
        TaskRule(PASSES, 600),
        may_overlap=True,
    ),
)


def table_passes() -> list[TablePass]:
    """Every pass that can go over one table."""
    return [found for one in DECLARED for found in (one.scope, one.by_name) if isinstance(found, TablePass)]


def rules() -> dict[str, TaskRule]:
    """The worker and the longest time of every task by its full name, scheduled or not."""
    scheduled = {one.task: one.rule for one in DECLARED}
    return {f"{PREFIX}{task}": rule for task, rule in {**scheduled, **ON_DEMAND}.items()}


_RULES: Final = rules()


def route(name: str, *_: object, **__: object) -> dict[str, str] | None:
    """Celery's router: the queue of a task. None: the default one."""
    return {"queue": _RULES[name].pool.queue} if name in _RULES else None

"""Rebalance on a real Pinot: its controller does it; what its version does not report is read from the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from segments.clusters.pinot.calls import controller, lacks, quoted, read_object, refusals_translated, require
from segments.clusters.pinot.changes import Request, send_change
from segments.domain.pinot import capabilities
from segments.domain.rebalance.answers import BALANCED, Check, Plan, Progress, Result, plan_of, progress_of
from segments.domain.rebalance.data_loss import risks
from segments.domain.rebalance.job import Job, Jobs, Size, Status, Who
from segments.domain.rebalance.options import STALLED_MS, Options
from segments.domain.rebalance.target import Placement, Row
from segments.domain.segments.ideal_state import serving
from segments.errors import NotFound, StateConflict
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.rebalance.job_records import RECORDS, find_job, read_jobs
from segments.services.segments.segments import read_records
from segments.store import paths


def preview(ctx: Context, table: TableName, options: Options, *, has_checks: bool) -> Result:
    """Pinot's dry run, with its pre-checks where it has them."""
    return _dry_run(ctx, table, options, has_checks=has_checks)


def start(ctx: Context, table: TableName, options: Options, actor: Actor) -> Result:
    """Have Pinot begin, once nothing of ours runs on the table and its dry run finds something to move."""
    if options.force_commit:
        require(ctx, capabilities.REBALANCE_COMMIT)
    running = newest(ctx, table)
    if running is not None and running.is_open:
        raise StateConflict(
            f"A rebalance of table '{table}' is running: {running.job_id}.",
            remedy=f"Wait for it, or stop it with DELETE /tables/{table.raw}/rebalance?type={table.type}.",
            job=running.job_id,
        )
    planned = _dry_run(ctx, table, options, has_checks=False)
    if planned.status is not Status.DONE:
        return planned
    refused = _refused(ctx, table, options, planned)
    if refused is not None:
        return refused
    rows, known = _rows(ctx, table), _jobs_of_pinot(ctx, table)
    request = Request("POST", f"/tables/{quoted(table.raw)}/rebalance", _params(ctx, table, options))
    answer = send_change(ctx, request, is_done=lambda: _jobs_of_pinot(ctx, table) - known or _rows(ctx, table) != rows)
    result = _begun(ctx, planned, answer, min(_jobs_of_pinot(ctx, table) - known, default=""))
    if result.status in (Status.IN_PROGRESS, Status.DONE):
        _remember(ctx, _job(ctx, table, options, actor, result))
    return result


def status(ctx: Context, job_id: str) -> Progress:
    """What Pinot says of the job, or where its version keeps none, how much of the table is not where it should be."""
    table, job = find_job(ctx, job_id) or (None, None)
    if job is not None and not job.is_open:
        return progress_of(job, 0, ctx.clock())
    if lacks(ctx, capabilities.REBALANCE_STATUS):
        if table is None or job is None:
            raise NotFound(f"Failed to find controller job id: {job_id}", remedy="The last 10 of each table are kept.")
        return _compared(ctx, table, job)
    try:
        body = read_object(ctx, f"/rebalanceStatus/{quoted(job_id)}")
    except NotFound:
        if table is None or job is None:
            raise
        return _compared(ctx, table, job)  # Pinot forgot it, or its id was in an answer that was lost
    return _reported(ctx, table, job_id, job, body)


def newest(ctx: Context, table: TableName) -> Progress | None:
    """The newest rebalance that was begun through us."""
    job = read_jobs(ctx, table).newest
    return status(ctx, job.id) if job is not None else None


def stop(ctx: Context, table: TableName, actor: Actor) -> list[str]:
    """Have Pinot cancel what runs on the table."""
    require(ctx, capabilities.REBALANCE_STOP)
    running = newest(ctx, table)

    def is_over() -> bool:
        now = newest(ctx, table)
        return now is None or not now.is_open

    request = Request("DELETE", f"/tables/{quoted(table.raw)}/rebalance", {"type": table.type})
    answer = send_change(ctx, request, is_done=is_over)
    if isinstance(answer, list):
        return [str(job) for job in answer]
    return [running.job_id] if running is not None and running.is_open else []


def keep(ctx: Context) -> list[str]:
    """Nothing: Pinot's controllers carry rebalances on."""
    return []


def _begun(ctx: Context, planned: Result, answer: Any, found: str) -> Result:
    """The result of a start; when its answer was lost, of the job that was ``found``, or of one of ours."""
    body: Mapping[str, Any] = answer if isinstance(answer, dict) else {"status": Status.IN_PROGRESS.value}
    job_id = str(body.get("jobId") or found or ctx.new_id())
    text = str(body.get("description", ""))
    return Result(job_id, _status(body), text, planned.plan, {**body, "jobId": job_id})


def _jobs_of_pinot(ctx: Context, table: TableName) -> set[str]:
    """Ids of the table's rebalances that Pinot has on record; none where its version keeps none."""
    node = ctx.store.get(paths.REBALANCE_JOBS)
    rows = node.record.maps if node is not None and node.record is not None else {}
    return {job for job, fields in rows.items() if fields.get("tableName") == table.typed}


def _dry_run(ctx: Context, table: TableName, options: Options, *, has_checks: bool) -> Result:
    params = {**_params(ctx, table, options), "dryRun": "true"}
    if has_checks and not lacks(ctx, capabilities.REBALANCE_CHECKS):
        params["preChecks"] = "true"
    with refusals_translated(is_change=False):
        body = controller(ctx).send("POST", f"/tables/{quoted(table.raw)}/rebalance", params)
    found: Mapping[str, Any] = body if isinstance(body, dict) else {}
    return Result(
        str(found.get("jobId") or ""),
        _status(found),
        str(found.get("description", "")),
        _plan(ctx, table, found),
        found,
    )


def _plan(ctx: Context, table: TableName, body: Mapping[str, Any]) -> Plan:
    rows = _rows(ctx, table)
    wanted: Mapping[str, Row] = body.get("segmentAssignment") or {}
    moved = {s: tuple(sorted(wanted[s])) for s in sorted(wanted) if s in rows and set(wanted[s]) != set(rows[s])}
    plan = plan_of(rows, moved, {})
    summary = (body.get("rebalanceSummaryResult") or {}).get("segmentInfo") or {}
    loaded = int(summary.get("totalEstimatedDataToBeMovedInBytes") or 0)
    checks = tuple(
        Check(name, str(found.get("preCheckStatus", "")), str(found.get("message", "")))
        for name, found in (body.get("preChecksResult") or {}).items()
    )
    return replace(plan, size=replace(plan.size, bytes=max(0, loaded)), checks=checks)


def _refused(ctx: Context, table: TableName, options: Options, planned: Result) -> Result | None:
    """The data-loss rule, for versions that do not keep it themselves."""
    if options.allow_data_loss or not lacks(ctx, capabilities.REBALANCE_GUARD):
        return None
    plan = planned.plan
    replicas = min((len(plan.assignment[s]) for s in plan.segments), default=1)
    if options.needed(replicas) > 0:
        return None
    view = ctx.store.get(paths.external_view(table.typed))
    served = {s: serving(row) for s, row in view.record.maps.items()} if view and view.record else {}
    moved = {s: tuple(plan.assignment[s]) for s in plan.segments}
    lost = risks(moved, served, read_records(ctx, table, list(moved)), may_repair=False)
    if not lost:
        return None
    text = (
        f"The only copy of segment '{min(lost)}' may be lost in a rebalance of a table with peer-download, "
        f"{lost[min(lost)]}. Leave out downtime and minAvailableReplicas=0, or allow it with "
        "allowPeerDownloadDataLoss=true and a reason."
    )
    body = {**planned.body, "status": Status.FAILED.value, "description": text}
    return Result(planned.job_id, Status.FAILED, text, replace(plan, refusal=text, at_risk=tuple(lost)), body)


def _params(ctx: Context, table: TableName, options: Options) -> dict[str, str]:
    """Pinot's parameters; what its version does not know it leaves out of account itself."""
    params = {
        "type": table.type,
        "downtime": str(options.downtime).lower(),
        "includeConsuming": str(options.include_consuming).lower(),
        **options.other,
    }
    if options.min_available is not None:
        params["minAvailableReplicas"] = str(options.min_available)
    if options.batch_per_server != -1:
        params["batchSizePerServer"] = str(options.batch_per_server)
    if options.stalled_ms != STALLED_MS:
        params["externalViewStabilizationTimeoutInMs"] = str(options.stalled_ms)
    if options.force_commit:
        params["forceCommit"] = "true"
    if options.allow_data_loss:
        params["allowPeerDownloadDataLoss"] = "true"
    return params


def _rows(ctx: Context, table: TableName) -> dict[str, dict[str, str]]:
    node = ctx.store.get(paths.ideal_state(table.typed))
    if node is None or node.record is None:
        raise NotFound(f"Table {table} does not exist.", remedy="List the tables with GET /tables.")
    return node.record.maps


def _status(body: Mapping[str, Any]) -> Status:
    try:
        return Status(str(body.get("status")))
    except ValueError:
        return Status.UNKNOWN_ERROR


def _job(ctx: Context, table: TableName, options: Options, actor: Actor, result: Result) -> Job:
    now = ctx.clock()
    who = Who(actor.name, actor.reason, actor.address)
    job = Job(result.job_id, table.typed, who, now, now, options, Placement(table.typed, 0, ()), result.plan.size)
    return job if result.status is Status.IN_PROGRESS else job.finished(result.status, result.description, now)


def _remember(ctx: Context, job: Job) -> None:
    RECORDS.change(ctx.store, paths.rebalances(job.table), lambda before: (before or Jobs(job.table)).having(job))


def _compared(ctx: Context, table: TableName, job: Job) -> Progress:
    """Of a version that keeps no job: what a dry run would still move, and what is not served yet."""
    left = _dry_run(ctx, table, job.options, has_checks=False)
    view = ctx.store.get(paths.external_view(table.typed))
    served = view.record.maps if view is not None and view.record is not None else {}
    waiting = sum(1 for s, row in _rows(ctx, table).items() for i in row if i not in served.get(s, {}))
    size = left.plan.size
    done = Size(
        max(0, job.planned.added - size.added),
        max(0, job.planned.removed - size.removed),
        max(0, job.planned.segments - size.segments),
    )
    now = _judged(job, done, is_over=not left.plan.segments and waiting == 0, now_ms=ctx.clock())
    if now != job:
        _remember(ctx, now)
    return progress_of(now, waiting, ctx.clock())


def _judged(job: Job, done: Size, *, is_over: bool, now_ms: int) -> Job:
    """The job as it is by what moved; one of which nothing moved for too long was given up by Pinot, which restarted,
    say.
    """
    if is_over:
        return replace(job, done=done).finished(Status.DONE, BALANCED, now_ms)
    if done != job.done:
        return replace(job, done=done, progressed_ms=now_ms)
    if now_ms - job.progressed_ms > job.options.stalled_ms:
        why = (
            f"Nothing moved for {job.options.stalled_ms // 1000} s, and this version of Pinot keeps no job to ask for."
        )
        return job.finished(Status.FAILED, why, now_ms)
    return job


def _reported(ctx: Context, table: TableName | None, job_id: str, job: Job | None, body: Mapping[str, Any]) -> Progress:
    stats: Mapping[str, Any] = body.get("tableRebalanceProgressStats") or {}
    overall: Mapping[str, Any] = stats.get("rebalanceProgressStatsOverall") or {}
    planned = job.planned if job is not None else Size(int(overall.get("totalSegmentsToBeAdded") or 0))
    done = Size(
        planned.added - int(overall.get("totalRemainingSegmentsToBeAdded") or 0),
        planned.removed - int(overall.get("totalRemainingSegmentsToBeDeleted") or 0),
    )
    started = int(stats.get("startTimeMs") or 0)
    found, text = _status(stats), str(stats.get("completionStatusMsg") or "")
    ended = started + 1000 * int(stats.get("timeToFinishInSeconds") or 0) if found is not Status.IN_PROGRESS else 0
    if job is not None and found is not Status.IN_PROGRESS:
        _remember(ctx, replace(job, done=done).finished(found, text, ended))
    waiting = overall.get("totalRemainingSegmentsToConverge")
    return Progress(
        job_id, table.typed if table else "", found, text, planned, done if overall else Size(), started, ended,
        int(waiting) if waiting is not None else None, job.who.name if job else "", job.who.reason if job else "", body,
    )  # fmt: skip

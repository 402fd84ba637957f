"""Findings that no pass over a table makes: pushes and sessions that wait or failed, pauses of days and by pressure,
workers that do not work, tasks that fail.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db.models import Q

from segments.domain.formats.plural import counted
from segments.domain.jobs.workers.state import PoolState
from segments.domain.realtime.pause import RESOURCE_UTILIZATION_LIMIT_EXCEEDED, STORAGE_QUOTA_EXCEEDED
from segments.domain.upkeep.findings import Found
from segments.errors import Unavailable
from segments.gateways.worker_status import WorkerStatus
from segments.models import Finding, IngestionSession, Push, Snapshot, Table
from segments.names import OFFLINE, REALTIME, TableName
from segments.services.alerts.failed_sessions import SESSION_BLOCKED, SESSION_FAILED, failed_sessions
from segments.services.upkeep.validation import keep_findings

PUSH_BLOCKED: Final = "push-blocked"
PUSH_FAILED: Final = "push-failed"
PAUSED_LONG: Final = "pause-long"
PAUSED_BY_PRESSURE: Final = "pause-pressure"
WORKER: Final = "worker-stuck"
TASK_ENDED: Final = "task-ended"
TASK_FAILED: Final = "task-failed"
_CODES: Final = (
    PUSH_BLOCKED, PUSH_FAILED, PAUSED_LONG, PAUSED_BY_PRESSURE, SESSION_BLOCKED, SESSION_FAILED, WORKER, TASK_ENDED,
    TASK_FAILED,
)  # fmt: skip
#: A failed push is a finding until rows come in by whatever way, for so long.
_FAILED_SHOWN: Final = timedelta(days=7)
#: A task that was ended because its time was up is a finding for so long after the last time, and one that fails from
#: the third time on.
_ENDED_SHOWN_MS: Final = 3_600_000
_FAILURES: Final = 3
_Where = tuple[str, str]


@dataclass(frozen=True)
class Watched:
    """What is examined: the board of the workers and what it says of the pools, the installation's own cluster, and
    after how long a pause is a finding.
    """

    board: WorkerStatus
    pools: Sequence[PoolState]
    own_cluster: str
    pause_after: timedelta


def find(watched: Watched, now: datetime) -> list[str]:
    """One run: findings are opened, kept and closed. A sentence for each that is open."""
    found: dict[_Where, list[Found]] = defaultdict(list)
    _add_pushes(found, now)
    _add_pauses(found, now, watched.pause_after)
    for where, session in failed_sessions():
        found[where].append(session)
    found[watched.own_cluster, ""] += [
        Found(WORKER, s.pool.name, "error", s.problem) for s in watched.pools if not s.ok
    ]
    with suppress(Unavailable):  # that Redis does not answer is a finding of every pool
        found[watched.own_cluster, ""] += _of_tasks(watched.board, int(now.timestamp() * 1000))
    still_open = Finding.objects.filter(closed_at=None, code__in=_CODES)
    for where in {*found, *still_open.values_list("cluster", "table_name")}:
        keep_findings(*where, found.get(where, []), owns=_CODES.__contains__)
    return [f.message for some in found.values() for f in some]


def _add_pushes(found: dict[_Where, list[Found]], now: datetime) -> None:
    present = set(Table.objects.filter(type=OFFLINE).values_list("cluster__name", "raw_name"))
    waiting = Push.objects.filter(state=Push.State.BLOCKED)
    failed = Push.objects.filter(state=Push.State.FAILED, finished_at__gte=now - _FAILED_SHOWN).order_by("created_at")
    newest = {(p.cluster, p.table_name): p for p in failed.defer("plan", "spec")}
    for push in (*waiting.defer("plan", "spec"), *newest.values()):
        if (push.cluster, push.table_name) not in present or _is_overtaken(push):
            continue
        code = PUSH_BLOCKED if push.state == Push.State.BLOCKED else PUSH_FAILED
        what = "is blocked by the table's checks and waits for a decision" if code == PUSH_BLOCKED else "failed"
        message = f"Push {push.pk} of {push.table_name} {what}: {push.error or 'see its page.'}"
        found[push.cluster, TableName(push.table_name, OFFLINE).typed].append(
            Found(code, str(push.pk), "error", message)
        )


def _is_overtaken(push: Push) -> bool:
    """Did rows come in after the push failed: by a push, by a file ingestion session, or by a replacement that another
    client ended?
    """
    if push.state != Push.State.FAILED or push.finished_at is None:
        return False
    of_table = {"cluster": push.cluster, "table_name": push.table_name}
    typed = TableName(push.table_name, OFFLINE).typed
    done = Q(finished_at__gt=push.finished_at) | Q(created_at__gt=push.created_at)
    return (
        Push.objects.filter(done, **of_table, state=Push.State.DONE).exists()
        or IngestionSession.objects.filter(
            table__cluster__name=push.cluster,
            table__name=typed,
            state=IngestionSession.State.DONE,
            ended_at__gt=push.finished_at,
        ).exists()
        or Snapshot.objects.filter(
            cluster__name=push.cluster, table_name=typed, kind="switch", at__gt=push.finished_at
        ).exists()
    )


def _add_pauses(found: dict[_Where, list[Found]], now: datetime, after: timedelta) -> None:
    paused = Table.objects.filter(type=REALTIME, pause__paused=True, is_disabled=False).select_related("cluster")
    for table in paused:
        if table.pause.get("reasonCode") in (RESOURCE_UTILIZATION_LIMIT_EXCEEDED, STORAGE_QUOTA_EXCEEDED):
            found[table.cluster.name, table.name].append(_by_pressure(table))
        since = _since(table.pause)
        if since is None or now - since < after:
            continue
        hours = (now - since) / timedelta(hours=1)
        planned = "" if table.pause.get("resumeAtMs") else " No end is planned."
        message = (
            f"{table.name} has been paused for {counted(round(hours), 'hour')}, since {since:%Y-%m-%d %H:%M} UTC."
            f"{planned}"
        )
        found[table.cluster.name, table.name].append(Found(PAUSED_LONG, "", "warning", message))


def _by_pressure(table: Table) -> Found:
    why = str(table.pause.get("comment") or "").strip() or "its servers are short of disk or memory."
    return Found(PAUSED_BY_PRESSURE, "", "error", f"{table.name} was paused by the controller: {why}")


def _since(pause: Mapping[str, object]) -> datetime | None:
    """Pinot's ``yyyy-MM-dd HH:mm:ss.S``, UTC."""
    try:
        return datetime.strptime(str(pause.get("timeInMillis")), "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
    except ValueError:
        return None


def _of_tasks(board: WorkerStatus, now_ms: int) -> list[Found]:
    ended = {(task, about): limit for task, about, limit, _ in board.read_ended(now_ms - _ENDED_SHOWN_MS)}
    found = [
        Found(
            TASK_ENDED,
            f"{task} {about}".strip(),
            "warning",
            f"Task {task} {about} was ended: it took longer than {limit:.0f} s.".replace("  ", " "),
        )
        for (task, about), limit in ended.items()
    ]
    for task, times, error in board.read_failing():
        if times >= _FAILURES:
            found.append(
                Found(
                    TASK_FAILED, task, "error", f"Task {task} failed {counted(times, 'time')} in a row, last: {error}"
                )
            )
    return found

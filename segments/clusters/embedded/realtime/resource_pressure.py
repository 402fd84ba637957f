"""Pause a table automatically when its servers' disks or its quota are full, and let it go on when there is room again.

Between "full" and "room again" lies a margin, so that a table at the limit is not paused and resumed by turns. What a
person paused is never touched.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from segments.clusters.embedded.instances.server_calls import ask_servers
from segments.domain.realtime.pause import (
    ADMINISTRATIVE,
    RESOURCE_UTILIZATION_LIMIT_EXCEEDED,
    STORAGE_QUOTA_EXCEEDED,
    PauseState,
)
from segments.domain.realtime.pressure import AMPLE_BYTES, Pressure, decide, utilization_of
from segments.domain.segments.admission import quota_bytes
from segments.domain.tables.table_config import TableConfig
from segments.names import TableName
from segments.services.clusters.cluster_settings import read_settings
from segments.services.core.context import SYSTEM, Context
from segments.services.engine.consumption import PauseChanged
from segments.services.realtime.consumption import pause_table, resume_table
from segments.services.realtime.realtime_servers import tenant_servers
from segments.services.segments.segments import cached_records

log = logging.getLogger(__name__)

#: Pinot's key, and ours for the lower mark. Where one of them is set, the share of the disk alone counts.
THRESHOLD_KEY: Final = "controller.disk.utilization.threshold"
RESUME_KEY: Final = "pinotadmin.disk.utilization.resume.threshold"
#: Pinot's switch for the whole check; on unless it says false.
ENABLED_KEY: Final = "controller.enable.resource.utilization.check"
_DEFAULT_THRESHOLD: Final = 0.95
_MARGIN: Final = 0.05
_ANSWER_S: Final = 5.0


@dataclass(frozen=True)
class Marks:
    """At ``high`` a table is paused, below ``low`` it goes on; shares of a disk from 0 to 1."""

    high: float
    low: float


def relieve(ctx: Context, config: TableConfig, state: PauseState) -> list[str]:
    """One check of a pass; a sentence when the table was paused or resumed."""
    if state.paused and state.reason_code == ADMINISTRATIVE:
        return []
    table = config.table
    verdict = decide(state, disk=_disk(ctx, config), quota=_quota(ctx, config))
    try:
        if verdict.pause_reason is not None:
            reason = verdict.pause_reason
            pause_table(
                ctx, table, comment=verdict.comment, reason_code=reason, expected=lambda now: now == state, actor=SYSTEM
            )
            return [f"{table} is paused: {verdict.comment}"]
        if verdict.resumes:
            resume_table(ctx, table, comment=verdict.comment, expected=lambda now: now == state, actor=SYSTEM)
            return [f"{table} goes on: {verdict.comment}"]
    except PauseChanged:
        log.info("Somebody paused or resumed %s meanwhile; it is left as it is.", table)
    return []


def _disk(ctx: Context, config: TableConfig) -> Pressure:
    settings = read_settings(ctx)
    if settings.get(ENABLED_KEY, "true").lower() == "false":
        return Pressure.none(RESOURCE_UTILIZATION_LIMIT_EXCEEDED)
    marks = _marks(settings)
    answers = ask_servers(
        ctx,
        tenant_servers(ctx, config),
        "/instance/diskUtilization",
        lambda a: isinstance(a, dict),
        timeout_s=_ANSWER_S,
    )
    ample = AMPLE_BYTES if settings.keys().isdisjoint((THRESHOLD_KEY, RESUME_KEY)) else 0
    used = {s: u for s, a in answers.by_server.items() if (u := utilization_of(a, ample)) is not None}
    return Pressure.of_shares(used, high=marks.high, low=marks.low, reason=RESOURCE_UTILIZATION_LIMIT_EXCEEDED)


def _quota(ctx: Context, config: TableConfig) -> Pressure:
    limit = quota_bytes(config)
    if limit is None:
        return Pressure.none(STORAGE_QUOTA_EXCEEDED)
    size = _size(ctx, config.table)
    share = {f"Storage quota of {limit} bytes": size / limit}
    return Pressure.of_shares(share, high=1.0, low=1.0 - _MARGIN, reason=STORAGE_QUOTA_EXCEEDED)


def _size(ctx: Context, table: TableName) -> int:
    return sum(seen.size_bytes for seen in cached_records(ctx, table).values())


def _marks(settings: Mapping[str, str]) -> Marks:
    high = _share(settings.get(THRESHOLD_KEY), _DEFAULT_THRESHOLD)
    return Marks(high, min(high, _share(settings.get(RESUME_KEY), max(0.0, round(high - _MARGIN, 6)))))


def _share(text: str | None, default: float) -> float:
    try:
        value = float(text or "")
    except ValueError:
        return default
    return value if 0 < value <= 1 else default

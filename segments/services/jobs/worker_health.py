"""Which pools of workers do their work, for pages, monitors and findings."""

from __future__ import annotations

from typing import Final

from segments.domain.jobs.workers.pools import POOLS
from segments.domain.jobs.workers.state import PoolState, judge
from segments.errors import Unavailable
from segments.gateways.worker_status import WorkerStatus

_DOWN: Final = "Redis does not answer, so no task reaches the workers."


def pool_states(board: WorkerStatus, now_ms: int) -> list[PoolState]:
    """Every pool, and what is wrong with it."""
    try:
        return [judge(pool, board.read(pool.name), now_ms) for pool in POOLS]
    except Unavailable:
        return [PoolState(pool, _DOWN) for pool in POOLS]

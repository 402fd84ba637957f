"""Segments that live servers are just loading: a revert that would need them waits a little instead of refusing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from segments.domain.segments.ideal_state import ERROR
from segments.errors import PreconditionFailed
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.segments.online import live_instance_names, poll_interval_s, served_by
from segments.store import paths
from segments.store.change_signal import change_signal

T = TypeVar("T")

#: Seconds that an old side which is still being loaded is waited for.
LONGEST_S: Final = 10.0


def once_loaded(ctx: Context, table: TableName, run: Callable[[], T]) -> T:
    """What ``run`` returns; called again while it is refused for segments (``data["segments"]``) that live servers have
    only not loaded yet.
    """
    deadline = ctx.timer.seconds() + min(LONGEST_S, ctx.limits.replicas_online_s)
    while True:
        try:
            return run()
        except PreconditionFailed as error:
            if ctx.timer.seconds() > deadline or not _wait(ctx, table, error.data.get("segments", ()), deadline):
                raise


def _wait(ctx: Context, table: TableName, segments: Sequence[str], deadline: float) -> bool:
    """Until all are served; False when somebody must do something about one of them, or the time is up."""
    signal, reads = change_signal(ctx.store, paths.EXTERNAL_VIEWS), 0
    while True:
        reads += 1
        heard, live = signal.count, live_instance_names(ctx)
        ideal, view = ctx.store.get_many([paths.ideal_state(table.typed), paths.external_view(table.typed)])
        wanted, states = ((n.record.maps if n and n.record else {}) for n in (ideal, view))
        served = served_by(live, view, segments)
        # One that left the ideal state is only still served; it does not come back by waiting.
        left = [s for s in segments if not served[s] or s not in wanted]
        if segments and not left:
            return True
        if (
            not all(any(i in live and states.get(s, {}).get(i) != ERROR for i in wanted.get(s, {})) for s in left)
            or not segments
        ):
            return False
        if ctx.timer.seconds() > deadline:
            return False
        signal.wait(heard, poll_interval_s(ctx, reads))

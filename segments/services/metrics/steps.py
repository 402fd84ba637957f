"""Counts and times the steps of the replacement protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

from segments import traces
from segments.errors import PinotAdminError
from segments.metrics import replacement as metrics
from segments.names import TableName
from segments.services.core.context import Context

Step = Literal["start", "end", "revert"]

_FAILURES: Final = {
    "start": metrics.START_FAILURES,
    "end": metrics.END_FAILURES,
    "revert": metrics.REVERT_FAILURES,
}


@contextmanager
def counted_step(ctx: Context, table: TableName, step: Step) -> Iterator[None]:
    """Count what the block does as done, refused or failed; the time of a step that was done."""
    labels, began = (ctx.cluster, table.typed), ctx.timer.seconds()
    try:
        with traces.span(f"{step} replacement", table=table.typed):
            yield
    except PinotAdminError as error:
        if error.permanent:
            metrics.REFUSALS.add(*labels, step)
        else:
            _FAILURES[step].add(*labels)
        raise
    except Exception:
        _FAILURES[step].add(*labels)
        raise
    metrics.REPLACEMENTS.add(*labels, step)
    metrics.SECONDS.observe(ctx.timer.seconds() - began, *labels, step)

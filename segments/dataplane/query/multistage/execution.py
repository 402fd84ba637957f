"""Run a planned query of several stages over the rows that were read of its tables."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from segments.dataplane.query import engine
from segments.dataplane.query.merge import ResultTable
from segments.dataplane.query.multistage.plan import StagesPlan
from segments.dataplane.query.rows import as_rows
from segments.dataplane.query.time_limit import time_limit


def execute_stages(plan: StagesPlan, tables: Mapping[str, pa.Table], seconds: float) -> ResultTable:
    """``tables`` by the keys of ``plan.scans``, with columns ``c0, c1 ...``; ended after ``seconds``. Raises
    QueryRejected.
    """
    with time_limit(seconds):
        found = engine.run_stages(plan.sql, tables)
    return ResultTable(list(plan.names), [e.result_type for e in plan.select], as_rows(found, plan.select))

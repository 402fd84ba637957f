"""Takes the cost of a process's first query before somebody asks one: imports, DuckDB's start, the kernels of Arrow and
the parser.
"""

from __future__ import annotations

import threading
from typing import Final

import pyarrow as pa

from segments.dataplane.background_thread import run_in_background
from segments.dataplane.query.merge import merge
from segments.dataplane.query.partial import execute_partial
from segments.dataplane.query.plan import plan_query
from segments.dataplane.query.scan import SegmentRows
from segments.dataplane.query.wire import decode_partial, encode_partial
from segments.domain.tables.schema import parse_schema

_SCHEMA: Final = {
    "schemaName": "warm",
    "dimensionFieldSpecs": [{"name": "s", "dataType": "STRING"}, {"name": "n", "dataType": "INT"}],
}
#: The first two take the way through Arrow alone, the others through DuckDB, as aggregation and as selection.
_QUERIES: Final = (
    "SELECT COUNT(*), SUM(n) FROM warm",
    "SELECT s, COUNT(*), MAX(n) FROM warm GROUP BY s ORDER BY 2 DESC",
    "SELECT s, COUNT(*), AVG(n), DISTINCTCOUNT(n) FROM warm WHERE n > 0 AND s LIKE 'a%' GROUP BY s ORDER BY 2 DESC",
    "SELECT s, n FROM warm WHERE n IN (1, 2) ORDER BY n LIMIT 2",
)


def warm_up() -> None:
    """Answer some queries over two rows, from text to rows."""
    schema = parse_schema(_SCHEMA)
    rows = SegmentRows(
        "warm_0",
        "here",
        pa.table({"s": pa.array(["a", "b"]).dictionary_encode(), "n": pa.array([1, 2], pa.int32())}),
        2,
    )
    for sql in _QUERIES:
        plan = plan_query(sql, schema, options={"now": "0"})
        merge(plan, [decode_partial(encode_partial(execute_partial(plan, [rows])))])


def warm_up_soon() -> threading.Thread:
    """The same in the background; a failure is logged, and queries would report it too."""
    return run_in_background("query-warm-up", warm_up, "The query engine could not be warmed up.")

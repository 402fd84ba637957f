"""A server's part of an answer as bytes: one Arrow IPC stream, statistics in the metadata of its schema."""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa

from segments.dataplane.query.partial import PartialResult
from segments.expressions.query_errors import QUERY_EXECUTION, QueryRejected

_STATISTICS: Final = b"statistics"
_FIELDS: Final = ("docs_scanned", "total_docs", "segments", "segments_matched")


def encode_partial(p: PartialResult) -> bytes:
    """The bytes of a partial result."""
    statistics = json.dumps(
        {**{name: getattr(p, name) for name in _FIELDS}, "growing": dict(p.growing), "tails": dict(p.tails)}
    )
    sink = pa.BufferOutputStream()
    schema = p.rows.schema.with_metadata({_STATISTICS: statistics.encode()})
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(p.rows.replace_schema_metadata(schema.metadata))
    return sink.getvalue().to_pybytes()


def decode_partial(b: bytes) -> PartialResult:
    """A partial result from its bytes. Raises QueryRejected (200) for bytes that are none."""
    try:
        rows = pa.ipc.open_stream(b).read_all()
        statistics = json.loads((rows.schema.metadata or {})[_STATISTICS])
        growing, tails = ({str(k): int(v) for k, v in statistics[name].items()} for name in ("growing", "tails"))
        figures = {name: int(statistics[name]) for name in _FIELDS}
        return PartialResult(rows.replace_schema_metadata(None), **figures, growing=growing, tails=tails)
    except (pa.ArrowInvalid, OSError, KeyError, AttributeError, ValueError) as error:
        raise QueryRejected("A server's answer is not a partial result.", error_code=QUERY_EXECUTION) from error

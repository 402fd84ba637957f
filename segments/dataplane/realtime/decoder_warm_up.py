"""Takes the cost of a process's first messages before there are any: Arrow's JSON reader, and pandas, which Arrow
imports itself.
"""

from __future__ import annotations

import threading
from typing import Final

from segments.dataplane.background_thread import run_in_background
from segments.dataplane.realtime.decode import open_decoder
from segments.dataplane.realtime.json_messages import FEW
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.domain.realtime.streams.stream_config import parse_stream_config
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config

_SCHEMA: Final = {
    "schemaName": "warm",
    "dimensionFieldSpecs": [
        {"name": "s", "dataType": "STRING"},
        {"name": "n", "dataType": "INT"},
        {"name": "x", "dataType": "DOUBLE"},
    ],
    "dateTimeFieldSpecs": [
        {"name": "t", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}
    ],
}
_STREAM: Final = {"streamType": "memory", "stream.memory.topic.name": "warm"}
_CONFIG: Final = {
    "tableName": "warm", "tableType": "REALTIME", "tenants": {}, "tableIndexConfig": {}, "metadata": {},
    "segmentsConfig": {"timeColumnName": "t", "replication": "1"},
    "ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [_STREAM]}},
}  # fmt: skip
_MESSAGE: Final = b'{"s": "a", "n": 1, "x": 1.5, "t": 1700000000000}'


def warm_up() -> None:
    """Decode messages as a batch and one by one, a null among them."""
    schema, config = parse_schema(_SCHEMA), parse_table_config(_CONFIG)
    decoder = open_decoder(parse_stream_config(_STREAM), schema, config)
    segment = MutableSegment("warm__0__0__20260101T0000Z", schema, config)
    for values in ([_MESSAGE] * FEW, [_MESSAGE, b'{"s": null}', b"none"]):
        decoded = decoder.decode(values, now_ms=0)
        segment.append(decoded.table, decoded.masks)


def warm_up_soon() -> threading.Thread:
    """The same in the background; a failure is logged; real messages would show it too."""
    return run_in_background("decode-warm-up", warm_up, "Decoding could not be warmed up.")

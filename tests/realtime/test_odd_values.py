"""A value that its column cannot take sets its own message aside: no other one, and no partition stops for it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from segments.dataplane.realtime.decoded import Decoded
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.domain.realtime.streams.stream_offset import parse_offset
from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.table_config import TableConfig
from segments.services.realtime.messages import browsing
from segments.services.realtime.messages.reading import Message
from tests.realtime.test_decode import NOW, decoder
from tests.realtime.test_mutable_segment import NAME, config_of
from tests.realtime.test_nested_messages import nested

VALUES = [
    b"1", b"-1", b"1.5", b"18446744073709551616", b"-9223372036854775809", b"1e400", b"1e-400", b'"1e999999999"',
    b'"9e32767"', b"NaN", b'"NaN"', b'"Infinity"', b'"\\ud800"', b'"\\udc00x"', b'"\xff"', b"[]", b"[null]", b"[[1]]",
    b'[1,"a",null,{}]', b"[1e400]", b"{}", b'{"a":{"b":1}}', b'{"a":1,"a":2}', b'[{"a":[{"b":[1,2]}]}]', b"true",
    b"[true,1]", b"null", b'""', b'" "', b'"0x1"', b'"1_0"', b'"\xd9\xa3"', b'"2020-13-45"', b'"99999-01-01 00:00:00"',
    b'"-0001-01-01T00:00:00Z"', b"253402300800000", b"-62135596800001", b"9223372036854775807", b'"zz"', b'"00"',
    b'"' + b"x" * 70_000 + b'"', b"1" + b"0" * 400, b"0." + b"1" * 400, b'"1' + b"0" * 20_000 + b'"',
]  # fmt: skip
TYPES = ["INT", "LONG", "FLOAT", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP", "BYTES", "JSON", "BIG_DECIMAL", "UUID"]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("single", [True, False])
def test_an_odd_value_concerns_its_own_message_alone(kind: str, single: bool) -> None:
    if not single and kind in ("JSON", "BIG_DECIMAL", "UUID"):
        pytest.skip("there are no lists of this type")
    fields = [{"name": "a", "dataType": kind, "singleValueField": single}, {"name": "b", "dataType": "INT"}]
    schema = parse_schema({"schemaName": "t", "dimensionFieldSpecs": fields})
    for decoding in (decoder(schema), nested(schema, complex_type={"fieldsToUnnest": ["x"]})):
        for value in VALUES:
            message = b'{"b":1,"a":' + value + b"}"
            for times in (1, 20):
                check(decoding.decode([b'{"b":2}', message, b'{"b":3}'] * times, now_ms=NOW), times, value)
            alone = decoding.decode([message], now_ms=NOW)
            assert alone.table.num_rows + len(alone.set_aside) == 1, value


def check(found: Decoded, times: int, value: bytes) -> None:
    kept = found.table.column("b").to_pylist()
    assert (kept.count(2), kept.count(3)) == (times, times), value
    assert kept.count(1) + len(found.set_aside) == times, value
    assert {s.position % 3 for s in found.set_aside} <= {1}, value


@pytest.mark.parametrize("kind", ["STRING", "DOUBLE", "FLOAT", "LONG", "INT", "TIMESTAMP"])
def test_a_segment_of_odd_times_is_built(kind: str, tmp_path: Path) -> None:
    unit = "DAYS" if kind in ("INT", "FLOAT") else "MILLISECONDS"
    form = "TIMESTAMP" if kind == "TIMESTAMP" else f"1:{unit}:EPOCH"
    time = {"name": "ts", "dataType": kind, "format": form, "granularity": "1:DAYS"}
    fields = [{"name": "b", "dataType": "INT"}]
    schema = parse_schema({"schemaName": "t", "dateTimeFieldSpecs": [time], "dimensionFieldSpecs": fields})
    built(schema, config_of(), b"ts", tmp_path)


@pytest.mark.parametrize("kind", TYPES)
def test_a_segment_of_odd_values_is_built(kind: str, tmp_path: Path) -> None:
    fields = [{"name": "a", "dataType": kind}, {"name": "b", "dataType": "INT"}]
    schema = parse_schema({"schemaName": "t", "dimensionFieldSpecs": fields})
    built(schema, config_of(segmentsConfig={}), b"a", tmp_path)


def built(schema: Schema, config: TableConfig, column: bytes, folder: Path) -> None:
    """All that was not set aside, and the segment that it becomes."""
    decoding, segment, kept = decoder(schema), MutableSegment(NAME, schema, config), 0
    for value in VALUES:
        found = decoding.decode([b'{"b":2}', b'{"b":1,"' + column + b'":' + value + b"}", b'{"b":3}'], now_ms=NOW)
        segment.append(found.table, found.masks)
        kept += found.table.num_rows
    assert segment.build(folder, creation_time_ms=NOW).total_docs == kept > len(VALUES)


@pytest.mark.parametrize("stored_ms", [1, NOW, 1 << 62])
def test_a_message_of_any_time_is_shown(stored_ms: int) -> None:
    shown = browsing._shown(Message(parse_offset("kafka", "7"), b"{}", None, stored_ms), orjson.loads)
    assert shown.stored_at is not None
    assert shown.stored_at.timestamp() * 1000 == pytest.approx(min(stored_ms, 253_000_000_000_000), abs=1)

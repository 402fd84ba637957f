"""Decoders: what each message becomes, that a bad one never stops the others, and that both ways of
reading JSON agree.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.dataplane.realtime.avro_messages import FramedAvroMessages
from segments.dataplane.realtime.decode import Decoded, Decoder, open_decoder
from segments.dataplane.realtime.json_messages import FEW
from segments.domain.realtime.streams.stream_config import parse_stream_config
from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput, Unavailable

NOW = 1_700_000_000_000


def schema_of(**columns: str) -> Schema:
    """Dimensions by name and type; ``INT[]`` is multi-valued; ``ts`` is the time column."""
    fields = [
        {"name": n, "dataType": t.removesuffix("[]"), "singleValueField": not t.endswith("[]")}
        for n, t in columns.items()
    ]
    times = [{"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}]
    return parse_schema({"schemaName": "t", "dimensionFieldSpecs": fields, "dateTimeFieldSpecs": times})


def decoder(schema: Schema, kind: str = "json", properties: dict[str, str] | None = None, **body: Any) -> Decoder:
    props = {f"stream.redis.decoder.prop.{k}": v for k, v in (properties or {}).items()}
    stream = parse_stream_config(
        {"streamType": "redis", "stream.redis.topic.name": "x", "stream.redis.decoder.class.name": kind, **props}
    )
    config = parse_table_config(
        {"tableName": "t", "tableType": "REALTIME", "segmentsConfig": {"timeColumnName": "ts"}, **body}
    )
    return open_decoder(stream, schema, config)


def rows(decoded: Decoded) -> list[dict[str, Any]]:
    return decoded.table.to_pylist()


def test_values_are_stored_as_a_batch_push_stores_them() -> None:
    schema = schema_of(
        i="INT", l="LONG", f="FLOAT", d="DOUBLE", b="BOOLEAN", t="TIMESTAMP", s="STRING", j="JSON", m="INT[]"
    )
    row = {
        "i": "7",
        "l": 5.9,
        "f": 0.5,
        "d": 3,
        "b": "true",
        "t": "2020-01-01 00:00:00",
        "s": 12,
        "j": {"b": 1, "a": [2]},
        "m": [1, 2],
        "ts": 5,
    }
    found = decoder(schema).decode([json.dumps(row).encode()], now_ms=NOW)
    assert rows(found) == [
        {
            "i": 7,
            "l": 5,
            "f": 0.5,
            "d": 3.0,
            "b": 1,
            "t": 1577836800000,
            "s": "12",
            "j": '{"b":1,"a":[2]}',
            "m": [1, 2],
            "ts": 5,
        }
    ]
    assert not found.masks
    assert found.bad == 0


def test_what_is_missing_or_null_gets_its_default_and_a_mask() -> None:
    found = decoder(schema_of(i="INT", s="STRING")).decode([b'{"s":"x","ts":1}', b'{"i":1,"s":null}'], now_ms=NOW)
    assert rows(found) == [{"i": -(2**31), "s": "x", "ts": 1}, {"i": 1, "s": "null", "ts": NOW}]
    assert {n: m.tolist() for n, m in found.masks.items()} == {
        "i": [True, False],
        "s": [False, True],
        "ts": [False, True],
    }


@pytest.mark.parametrize("filler", [0, 2 * FEW])
def test_bad_messages_are_set_aside_with_their_place_and_reason(filler: int) -> None:
    good = [b'{"i":%d,"s":"x","ts":1}' % n for n in range(filler)]
    bad = [b"", b"no json", b"[1]", b"null", b'{"i":1', b'{"i":"x","ts":1}', b'{"s":"\xff"}', b'{"i":1}{"i":2}', b"  "]
    found = decoder(schema_of(i="INT", s="STRING")).decode([*good, *bad, b'{"i":99,"s":"last","ts":1}'], now_ms=NOW)
    assert [r["i"] for r in rows(found)] == [*range(filler), 99]
    assert found.bad == len(bad)
    assert [s.position for s in found.set_aside] == list(range(filler, filler + len(bad)))
    assert "INT" in found.set_aside[5].reason


def test_every_bad_message_among_good_ones_is_named_with_its_column_and_its_own_value() -> None:
    values = [b'{"i":%s,"ts":1}' % (b'"x%d"' % n if n % 2 else b"1") for n in range(400)]
    found = decoder(schema_of(i="INT")).decode(values, now_ms=NOW)
    assert (found.table.num_rows, found.bad, len(found.set_aside)) == (200, 200, 200)
    assert [s.position for s in found.set_aside] == list(range(1, 400, 2))
    assert {s.column for s in found.set_aside} == {"i"}
    assert found.set_aside[1].reason == "Column 'i': value 'x3' does not convert to INT."


def test_a_batch_of_nothing_but_bad_messages_gives_an_empty_table_of_all_columns() -> None:
    found = decoder(schema_of(i="INT")).decode([b"x"] * (2 * FEW), now_ms=NOW)
    assert (found.table.num_rows, found.table.column_names, found.bad) == (0, ["i", "ts"], 2 * FEW)
    assert decoder(schema_of(i="INT")).decode([], now_ms=NOW).table.num_rows == 0


def test_transforms_and_filter_of_the_table_apply() -> None:
    ingestion = {
        "transformConfigs": [{"columnName": "s", "transformFunction": "upper(city)"}],
        "filterConfig": {"filterFunction": "i = 2"},
    }
    values = [b'{"i":%d,"city":"rome","ts":1}' % (n % 3) for n in range(300)]
    found = decoder(schema_of(i="INT", s="STRING"), ingestionConfig=ingestion).decode(values, now_ms=NOW)
    assert (found.table.num_rows, found.filtered, found.bad) == (200, 100, 0)
    assert set(found.table.column("s").to_pylist()) == {"ROME"}


def test_a_text_that_is_no_time_is_a_bad_message_because_it_would_stop_the_build() -> None:
    body = {
        "schemaName": "t",
        "dateTimeFieldSpecs": [
            {
                "name": "ts",
                "dataType": "STRING",
                "format": "1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd",
                "granularity": "1:DAYS",
            }
        ],
    }
    found = decoder(parse_schema(body)).decode(
        [b'{"ts":"2020-01-02"}', b'{"ts":"tomorrow"}', b'{"ts":"2020-01-03"}'], now_ms=NOW
    )
    assert found.table.column("ts").to_pylist() == ["2020-01-02", "2020-01-03"]
    assert [s.position for s in found.set_aside] == [1]


def test_messages_with_line_breaks_between_their_tokens_are_read() -> None:
    values = [b'{\n "i": %d,\n "ts": 1\n}\n' % n for n in range(2 * FEW)]
    found = decoder(schema_of(i="INT")).decode(values, now_ms=NOW)
    assert found.table.column("i").to_pylist() == list(range(2 * FEW))


_ODD = [
    b'{"i":1,"s":"a\nb","ts":1}',
    b'{"i":1,"d":NaN,"ts":1}',
    b'{"i":1,"ts":1,"other":[1, -Infinity]}',
    b'{"i":1,"s":"is NaN: yes","ts":1}',
    b'{"i":1,"ts":1,}',
    b'{"i":1,"ts":1} x',
    b'{"i":01,"ts":1}',
    b'{"i":1,"i":2,"ts":1}',
    b'{"i":1,"s":"\\ud800","ts":1}',
    b'{"i":1e2,"ts":1}',
    b'{"i":1,"d":1e999,"ts":1}',
    b'{"i":99999999999,"ts":1}',
    b'{"i":1,"ts":18446744073709551617}',
    b'{"i":1,"s":1.10,"ts":1}',
    b'\n{"i":1,"ts":1}',
]


@pytest.mark.parametrize("odd", [*([m] for m in _ODD), [b"  ", b'{"i":1,"ts":1}{"i":2,"ts":1}']])
def test_odd_messages_are_the_same_in_a_large_batch_and_alone(odd: list[bytes]) -> None:
    """Batches differ from replica to replica, rows must not."""
    schema = schema_of(i="INT", d="DOUBLE", s="STRING")
    alone, large = decoder(schema).decode(odd, now_ms=NOW), decoder(schema)
    good = [b'{"i":7,"d":0.5,"s":"x","ts":1}'] * (2 * FEW)
    among = large.decode([*good, *odd], now_ms=NOW)
    assert rows(among)[len(good) :] == rows(alone)
    assert among.bad == alone.bad


def test_types_that_change_in_the_middle_of_a_stream_are_followed() -> None:
    reading = decoder(schema_of(i="INT", s="STRING"))
    for number, spell in enumerate(
        [b'{"i":%d,"s":"x","ts":1}', b'{"i":"%d","s":5,"ts":1}', b'{"i":%d,"s":true,"ts":1}'] * 3
    ):
        found = reading.decode([spell % n for n in range(2 * FEW)], now_ms=NOW)
        assert found.table.column("i").to_pylist() == list(range(2 * FEW)), number
        assert found.bad == 0


_VALUES = {
    "i": st.one_of(st.integers(-(2**31), 2**31 - 1), st.none(), st.just("12")),
    "d": st.one_of(st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(-1000, 1000), st.none()),
    "s": st.one_of(st.text(st.characters(codec="utf-8"), max_size=8), st.integers(-5, 5), st.booleans()),
    "m": st.one_of(st.lists(st.integers(-5, 5), max_size=3), st.none()),
    "j": st.one_of(
        st.none(),
        st.text(st.characters(codec="utf-8"), max_size=4),
        st.dictionaries(st.sampled_from("ab"), st.integers(0, 3)),
    ),
    "ts": st.integers(0, 2**40),
}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.fixed_dictionaries({}, optional=_VALUES), min_size=1, max_size=6))
def test_a_large_batch_and_single_messages_give_the_same_rows(some: list[dict[str, Any]]) -> None:
    schema = schema_of(i="INT", d="DOUBLE", s="STRING", m="INT[]", j="JSON")
    values = [json.dumps(r).encode() for r in some]
    many = values * (FEW // len(values) + 1)
    one = decoder(schema)
    single = [rows(one.decode([v], now_ms=NOW))[0] for v in values]
    found = decoder(schema).decode(many, now_ms=NOW)
    assert rows(found) == single * (FEW // len(values) + 1)


TIME = {"type": "long", "logicalType": "timestamp-millis"}
FIELDS = [{"name": "i", "type": ["null", "int"]}, {"name": "s", "type": "string"}, {"name": "ts", "type": TIME}]
AVRO: dict[str, Any] = {"type": "record", "name": "r", "fields": FIELDS}


def avro(row: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    plain = {**AVRO, "fields": [*AVRO["fields"][:2], {"name": "ts", "type": "long"}]}
    fastavro.schemaless_writer(out, fastavro.parse_schema(plain), row)
    return out.getvalue()


def test_avro_of_one_schema() -> None:
    reading = decoder(schema_of(i="INT", s="STRING"), "avro", {"schema": json.dumps(AVRO)})
    found = reading.decode(
        [avro({"i": 5, "s": "x", "ts": 7}), b"\x02", avro({"i": None, "s": "y", "ts": 8}) + b"!"], now_ms=NOW
    )
    assert rows(found) == [{"i": 5, "s": "x", "ts": 7}]
    assert [s.position for s in found.set_aside] == [1, 2]
    with pytest.raises(InvalidInput, match="Avro schema"):
        decoder(schema_of(), "avro", {"schema": '{"type":"nothing"}'})


def test_avro_framed_with_a_schema_id_asks_the_registry_once() -> None:
    asked: list[int] = []

    def schema_text(number: int) -> str:
        asked.append(number)
        if number != 7:
            raise InvalidInput(f"no schema {number}")
        return json.dumps(AVRO)

    reading = FramedAvroMessages(schema_of(i="INT", s="STRING"), schema_text)
    message = avro({"i": 5, "s": "x", "ts": 7})
    found = reading.read([b"\0\0\0\0\x07" + message] * 3 + [b"\0\0\0\0\x08" + message, message, b"\0\0\0\0\x08"])
    assert found.table.num_rows == 3
    assert [b.position for b in found.bad] == [3, 4, 5]
    assert asked == [7, 8]


def test_a_registry_that_is_down_is_unavailable_and_no_message_is_lost_for_it() -> None:
    def schema_text(_: int) -> str:
        raise Unavailable("down")

    with pytest.raises(Unavailable, match="down"):
        FramedAvroMessages(schema_of(), schema_text).read([b"\0\0\0\0\x07x"])


def test_csv_by_its_header() -> None:
    properties = {"header": "i|s|m|ts", "delimiter": "|", "multiValueDelimiter": ",", "nullStringValue": "-"}
    reading = decoder(schema_of(i="INT", s="STRING", m="INT[]"), "csv", properties)
    found = reading.decode([b'1|"a|b"|1,2|5', b"-|x\r\n", b"1|2|3|4|5", b"x|s||1", b""], now_ms=NOW)
    assert rows(found) == [
        {"i": 1, "s": "a|b", "m": [1, 2], "ts": 5}, {"i": -(2**31), "s": "x", "m": [-(2**31)], "ts": NOW},
    ]  # fmt: skip
    assert [s.position for s in found.set_aside] == [2, 3, 4]
    with pytest.raises(InvalidInput, match="header"):
        decoder(schema_of(i="INT"), "csv", {"header": "x,y"})


def test_a_process_decodes_its_first_messages_without_delay_after_the_warm_up() -> None:
    """Half a second otherwise, in which the first rows of a table are not there."""
    script = (
        "import sys, time; from segments.dataplane.realtime import decoder_warm_up as warm;"
        "warm.warm_up(); before = set(sys.modules);"
        "warm.warm_up(); assert set(sys.modules) == before; warm.warm_up_soon().join()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

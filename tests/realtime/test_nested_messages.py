"""Messages with nested values: ``complexTypeConfig`` makes of them what it makes of files, whole messages at a time."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import fastavro
import pytest

from segments.dataplane.realtime import raw_columns
from segments.dataplane.realtime.avro_messages import FramedAvroMessages
from segments.dataplane.realtime.decode import Decoder
from segments.dataplane.realtime.json_messages import FEW
from segments.dataplane.realtime.raw_columns import MOST_BYTES, MOST_ROWS
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput
from segments.segmentfile.columns.complex_type import read_complex_type
from tests.push.reading.test_complex_type import EVENTS, FLAT, SCHEMA
from tests.realtime.test_decode import NOW, decoder, rows, schema_of

#: What the schema of FLAT stores for what is not there.
STORED = [
    {"id": 1, "commits.sha": "a", "commits.by.name": "X", "labels": ["p", "q"]},
    {"id": 1, "commits.sha": "b", "commits.by.name": "Y", "labels": ["p", "q"]},
    {"id": 2, "commits.sha": "null", "commits.by.name": "null", "labels": ["null"]},
    {"id": 3, "commits.sha": "c", "commits.by.name": "null", "labels": ["r"]},
]
AVRO = {
    "type": "record", "name": "e", "fields": [
        {"name": "id", "type": "int"},
        {"name": "commits", "type": {"type": "array", "items": {"type": "record", "name": "c", "fields": [
            {"name": "sha", "type": "string"},
            {"name": "by", "type": {"type": "record", "name": "b", "fields": [
                {"name": "name", "type": ["null", "string"]},
            ]}},
        ]}}},
        {"name": "labels", "type": {"type": "array", "items": "string"}},
    ],
}  # fmt: skip
UNNESTS = {"fieldsToUnnest": ["commits"]}


def nested(schema: Any = SCHEMA, kind: str = "json", properties: Any = None, **keys: Any) -> Decoder:
    ingestion = {"complexTypeConfig": keys.pop("complex_type", UNNESTS), **keys}
    config = {"segmentsConfig": {}, "ingestionConfig": ingestion}
    return decoder(schema, kind, properties, **config)


def json_of(*messages: Any) -> list[bytes]:
    return [json.dumps(m).encode() for m in messages]


def avro_of(row: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(AVRO), row)
    return out.getvalue()


def test_messages_become_the_rows_that_files_become() -> None:
    assert [{k: v for k, v in row.items() if v} for row in FLAT] == [
        {k: v for k, v in row.items() if v not in ("null", ["null"])} for row in STORED
    ]
    by_json = nested().decode(json_of(*EVENTS), now_ms=NOW)
    by_avro = nested(kind="avro", properties={"schema": json.dumps(AVRO)}).decode(
        [avro_of(e) for e in EVENTS], now_ms=NOW
    )
    for found in (by_json, by_avro):
        assert (rows(found), found.bad, found.filtered) == (STORED, 0, 0)
        assert found.masks["commits.sha"].tolist() == [False, False, True, False]


def test_framed_avro_is_unnested_too() -> None:
    config = parse_table_config(
        {"tableName": "t", "ingestionConfig": {"complexTypeConfig": UNNESTS}, "tableType": "OFFLINE"}
    )
    reader = FramedAvroMessages(SCHEMA, lambda _: json.dumps(AVRO), read_complex_type(config))
    found = reader.read([b"\x00\x00\x00\x00\x07" + avro_of(e) for e in EVENTS])
    assert found.table.column("id").to_pylist() == [1, 1, 2, 3]
    assert found.positions is not None
    assert found.positions.tolist() == [0, 0, 1, 2]


def test_a_large_batch_and_single_messages_give_the_same_rows() -> None:
    many = json_of(*EVENTS) * FEW
    assert rows(nested().decode(many, now_ms=NOW)) == STORED * FEW


def test_flattening_alone_and_renamed_prefixes() -> None:
    schema = schema_of(**{"user.id": "INT", "kind": "STRING", "raw": "JSON"})
    message = {"payload": {"user": {"id": 7}, "kind": "x"}, "raw": [{"a": 1}], "ts": 5}
    found = nested(schema, complex_type={"prefixesToRename": {"payload.": ""}}).decode(json_of(message), now_ms=NOW)
    assert rows(found) == [{"user.id": 7, "kind": "x", "raw": '[{"a":1}]', "ts": 5}]


def test_transforms_and_filter_see_the_unnested_rows() -> None:
    schema = schema_of(id="INT", **{"commits.sha": "STRING", "big": "STRING"})
    keys = {
        "transformConfigs": [{"columnName": "big", "transformFunction": 'upper("commits.sha")'}],
        "filterConfig": {"filterFunction": "\"commits.sha\" = 'b'"},
    }
    found = nested(schema, **keys).decode(json_of(*EVENTS), now_ms=NOW)
    assert [r["big"] for r in rows(found)] == ["A", "null", "C"]
    assert found.filtered == 1


@pytest.mark.parametrize("repeats", [1, 100])
def test_a_message_is_stored_whole_or_set_aside_whole(repeats: int) -> None:
    schema = schema_of(id="INT", **{"c.n": "INT"})
    good = {"id": 1, "c": [{"n": 1}, {"n": 2}]}
    bad = {"id": 2, "c": [{"n": 3}, {"n": "three"}, {"n": "four"}]}
    values = [*json_of(good, bad), b"no json", *json_of(good)] * repeats
    found = nested(schema, complex_type={"fieldsToUnnest": ["c"]}).decode(values, now_ms=NOW)
    assert [(r["id"], r["c.n"]) for r in rows(found)] == [(1, 1), (1, 2)] * (2 * repeats)
    assert [b.position for b in found.set_aside] == [p for at in range(repeats) for p in (4 * at + 1, 4 * at + 2)]
    assert (found.bad, found.filtered) == (2 * repeats, 0)
    assert (found.set_aside[0].column, "three" in found.set_aside[0].reason) == ("c.n", True)


def test_a_message_that_would_become_endless_rows_or_cannot_be_renamed_is_set_aside() -> None:
    schema = schema_of(a="INT", b="INT")
    endless = {"a": list(range(200)), "b": list(range(200))}
    keys = {"fieldsToUnnest": ["a", "b"], "prefixesToRename": {"x.": ""}}
    values = json_of(endless, {"a": [1, 2], "b": [3]}, {"x": {"a": 1}, "a": 2})
    found = nested(schema, complex_type=keys).decode(values, now_ms=NOW)
    assert [(r["a"], r["b"]) for r in rows(found)] == [(1, 3), (2, 3)]
    assert [b.position for b in found.set_aside] == [0, 2]
    assert f"more than {MOST_ROWS:,} rows" in found.set_aside[0].reason
    assert "cannot be renamed" in found.set_aside[1].reason


def test_a_message_whose_rows_would_each_repeat_a_long_text_is_set_aside() -> None:
    schema = schema_of(a="INT", b="STRING")
    keys = {"fieldsToUnnest": ["a"]}
    values = json_of({"a": list(range(5_000)), "b": "x" * 500_000}, {"a": list(range(50)), "b": "x" * 500_000})
    found = nested(schema, complex_type=keys).decode(values, now_ms=NOW)
    assert (len(rows(found)), [b.position for b in found.set_aside]) == (50, [0])
    assert f"more than {MOST_BYTES:,} bytes" in found.set_aside[0].reason


@pytest.mark.parametrize("kind", ["STRING", "JSON", "INT"])
@pytest.mark.parametrize("beside", [0, 200])
def test_a_message_that_is_too_deep_to_become_text_is_set_aside_alone(kind: str, beside: int) -> None:
    deep = [b'{"b":2,"a":' + open * n + b"1" + close * n + b"}" for open, close, n in (
        (b"[", b"]", 1_010), (b'{"a":', b"}", 1_010), (b"[", b"]", 100_000))]  # fmt: skip
    values = [*json_of({"b": 1, "a": "1"}), *deep, *json_of({"b": 3, "a": "3"}), *json_of({"b": 4, "a": "4"}) * beside]
    for complex_type in (None, {"fieldsToUnnest": ["x"]}):
        schema = schema_of(b="INT", a=kind)
        decoding = decoder(schema) if complex_type is None else nested(schema, complex_type=complex_type)
        found = decoding.decode(values, now_ms=NOW)
        assert [r["b"] for r in rows(found)][:2] == [1, 3]
        assert [b.position for b in found.set_aside] == [1, 2, 3]
        assert "500 deep" in found.set_aside[0].reason


def test_without_the_config_nested_values_are_json_as_before() -> None:
    schema = schema_of(id="INT", commits="JSON")
    found = decoder(schema).decode(json_of({"id": 1, "commits": [{"sha": "a"}]}), now_ms=NOW)
    assert rows(found)[0]["commits"] == '[{"sha":"a"}]'


def test_csv_messages_have_nothing_to_unnest() -> None:
    properties = {"header": "id"}
    with pytest.raises(InvalidInput, match="CSV messages have no nested values"):
        nested(kind="csv", properties=properties)
    with pytest.raises(InvalidInput, match=r"complexTypeConfig\.fieldsToUnest"):
        nested(complex_type={"fieldsToUnest": ["a"]})
    assert nested(kind="csv", properties=properties, complex_type={}).decode([b"1"], now_ms=NOW).table.num_rows == 1


def test_a_message_whose_many_short_fields_would_be_repeated_is_set_aside_before_its_rows_are_made() -> None:
    keys = {"fieldsToUnnest": ["a"]}
    wide = {f"k{n}": 1 for n in range(20_000)}
    began = time.process_time()
    found = nested(schema_of(a="INT"), complex_type=keys).decode(
        json_of({"a": list(range(9_000)), **wide}, {"a": [1]}), now_ms=NOW
    )
    assert ([r["a"] for r in rows(found)], [b.position for b in found.set_aside]) == ([1], [0])
    assert f"more than {MOST_BYTES:,} bytes" in found.set_aside[0].reason
    assert time.process_time() - began < 2, "180 million values take ten gigabytes and as many seconds"


def test_items_without_fields_give_rows_of_their_own() -> None:
    found = nested(schema_of(b="INT"), complex_type={"fieldsToUnnest": ["a"], "prefixesToRename": {"x.": ""}}).decode(
        json_of({"a": [{}, {}], "x": {"b": 2}}), now_ms=NOW
    )
    assert ([r["b"] for r in rows(found)], found.bad) == ([2, 2], 0)


@pytest.mark.parametrize("bound", [{"MOST_ROWS_AT_ONCE": 10}, {"MOST_BYTES_AT_ONCE": 2_000}])
def test_a_batch_that_would_become_too_many_rows_is_taken_in_parts(
    monkeypatch: pytest.MonkeyPatch, bound: dict[str, int]
) -> None:
    for name, value in bound.items():
        monkeypatch.setattr(raw_columns, name, value)
    values = [*json_of(*({"id": n, "c": [{"n": i} for i in range(4)]} for n in range(7))), b"no json"]
    values.insert(3, *json_of({"id": 90, "c": [{"n": i} for i in range(40)]}))
    values.insert(4, b"none either")
    reader = nested(schema_of(id="INT", **{"c.n": "INT"}), complex_type={"fieldsToUnnest": ["c"]})
    ids, bad, parts, at = [], [], 0, 0
    while at < len(values):
        found = reader.decode(values[at:], now_ms=NOW)
        assert found.taken > 0
        assert found.table.num_rows <= 24 or found.table.num_rows == 40, "one message alone is taken in any case"
        ids += [r["id"] for r in rows(found)]
        bad += [at + b.position for b in found.set_aside]
        at, parts = at + found.taken, parts + 1
    assert ids == [n for n in (0, 1, 2) for _ in range(4)] + [90] * 40 + [n for n in (3, 4, 5, 6) for _ in range(4)]
    assert bad == [4, 9]
    assert parts >= 3

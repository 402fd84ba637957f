"""Avro that claims more than it holds: refused, where it would end the process that reads it or take all its memory."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import fastavro
import pytest

from segments.dataplane.realtime.avro_messages import AvroMessages, parse_avro_schema
from segments.datatypes.avro_schema import check_bounded
from segments.domain.push.push_plan import InputFile, parts_by_rows
from segments.domain.tables.schema import parse_schema
from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE
from segments.spark.reading.avro_rows import AvroFile

SCHEMA = parse_schema({"schemaName": "t", "dimensionFieldSpecs": [{"name": "a", "dataType": "STRING"}]})
_SYNC = b"0123456789abcdef"


def record(*types: Any, name: str = "r") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": f"f{i}", "type": t} for i, t in enumerate(types)]}


def nested(depth: int) -> Any:
    found: Any = "int"
    for _ in range(depth):
        found = {"type": "array", "items": found}
    return record(found)


def doubled(levels: int) -> Any:
    """Each record holds the one before twice, and the first holds nothing: two to the power of ``levels`` values."""
    inner: Any = record("null", name="r0")
    for level in range(1, levels):
        inner = record(inner, f"r{level - 1}", name=f"r{level}")
    return record("int", inner)


#: Each of these made the compiled reader overflow the stack, or fill the memory from a few bytes.
HOSTILE = {
    "a record that is its own field": record("r"),
    "a list of itself": record(["null", "r"]),
    "itself in the items of another": record({"type": "array", "items": record(["null", "r"], name="s")}),
    "a list of nulls": record({"type": "array", "items": "null"}),
    "a list of empty records": record({"type": "array", "items": record(name="e")}),
    "a list of fixed of no size": record({"type": "array", "items": {"type": "fixed", "name": "z", "size": 0}}),
    "a map of many nulls": record({"type": "map", "values": record(*["null"] * 50, name="m")}),
    "records in records that take no bytes": doubled(40),
    "rows that take no bytes": record("null", "null"),
    "very deep types": nested(500),
    "decimals of a gigabyte": record(
        {"type": "bytes", "logicalType": "decimal", "precision": 1_000_000_000, "scale": 1_000_000_000}
    ),
}


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_schema_whose_data_may_be_without_bounds_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidInput, match="not an Avro schema that can be read"):
        AvroMessages(SCHEMA, {"schema": json.dumps(schema)})


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_of_such_a_schema_is_refused(tmp_path: Path, schema: Any) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        AvroFile(container(tmp_path, schema, 1 << 60, b""), ANYWHERE).first_rows(10)


@pytest.mark.parametrize(
    "schema",
    [
        record("int", ["null", "string"], "null"),
        record({"type": "array", "items": ["null", record("int", "null", name="item")]}),
        record({"type": "map", "values": {"type": "array", "items": "int"}}, name="a.b.r"),
        record({"type": "enum", "name": "e", "symbols": ["X"]}, "ns.e", name="ns.r"),
        {**record({"type": "fixed", "name": "f", "size": 4}, "f"), "namespace": "n"},
        {"type": "int"},
    ],
)
def test_usual_schemas_are_read(schema: Any) -> None:
    check_bounded(schema)
    assert parse_avro_schema(json.dumps(schema))


def test_a_block_that_claims_more_rows_than_bytes_is_refused(tmp_path: Path) -> None:
    file = AvroFile(container(tmp_path, record("int"), 1 << 60, b"\x02"), ANYWHERE)
    for read in (file.count, lambda: file.first_rows(10)):
        with pytest.raises(InvalidInput, match="impossible length"):
            read()


def test_only_the_rows_of_a_block_that_are_wanted_are_made(tmp_path: Path) -> None:
    rows = AvroFile(container(tmp_path, record("int"), 3_000_000, b"\x02" * 3_000_000), ANYWHERE)
    began = time.process_time()
    assert rows.first_rows(3) == [{"f0": 1}] * 3
    assert time.process_time() - began < 1, "all of them take seconds"


def test_a_decimal_of_very_many_digits_is_refused() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    reader = AvroMessages(SCHEMA, {"schema": json.dumps(record(decimal))})
    assert str(reader.row(message(b"\x01\x00"))["f0"]) == "2.56"
    began = time.process_time()
    with pytest.raises(ValueError, match="at most 512"):
        reader.row(message(b"\x7f" * 100_000))
    assert time.process_time() - began < 1, "it took seconds, and minutes for a megabyte"


def test_a_push_has_no_more_segments_than_its_plan_can_name() -> None:
    file = InputFile("/in/a.parquet", 100, 0)
    assert len(parts_by_rows([file], {file.path: 100_000}, 1)) == 100_000
    with pytest.raises(InvalidInput, match="more than 100,000 segments"):
        parts_by_rows([file], {file.path: 1 << 62}, 1_000_000)


def message(data: bytes) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema("bytes"), data)
    return out.getvalue()


def container(folder: Path, schema: Any, rows: int, data: bytes) -> str:
    """A file with one block of ``data`` that claims so many rows."""
    out = io.BytesIO()
    out.write(b"Obj\x01")
    meta = {"avro.schema": json.dumps(schema).encode(), "avro.codec": b"null"}
    fastavro.schemaless_writer(out, fastavro.parse_schema({"type": "map", "values": "bytes"}), meta)
    out.write(_SYNC)
    for number in (rows, len(data)):
        fastavro.schemaless_writer(out, fastavro.parse_schema("long"), number)
    out.write(data + _SYNC)
    (folder / "f.avro").write_bytes(out.getvalue())
    return str(folder / "f.avro")

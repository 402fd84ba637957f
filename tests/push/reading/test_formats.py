"""Every format, encoding and compression gives the same rows; what is not a file of its format is named,
never a crash.
"""

from __future__ import annotations

import bz2
import gzip
import json
import random
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
import zstandard

from segments.domain.push.push_model import RecordReader
from segments.domain.push.push_plan import Piece
from segments.domain.push.reader_spec import FORMATS, ReaderSpec, from_json, parse_reader
from segments.domain.tables.schema import parse_schema
from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE
from segments.spark.reading import text as reading_text
from segments.spark.reading.cuts import find_cuts
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.rows import count_rows, read_rows
from segments.spark.reading.sample.formats import format_of
from segments.spark.reading.sample.reading_process import first_rows

SCHEMA = parse_schema(
    {
        "schemaName": "t",
        "dimensionFieldSpecs": [
            {"name": "s", "dataType": "STRING"},
            {"name": "n", "dataType": "LONG"},
            {"name": "tags", "dataType": "STRING", "singleValueField": False},
            {"name": "doc", "dataType": "JSON"},
        ],
    }
)
ROWS: list[dict[str, Any]] = [
    {"s": "Zażółć \U0001f600", "n": 1, "tags": ["a", "b"], "doc": {"k": [1, {"x": None}]}},
    {"s": None, "n": None, "tags": ["c"], "doc": {"k": []}},
    {"s": 'quote " \\ and, comma', "n": 2**40, "tags": ["d"], "doc": {"k": [3]}},
] * 40


def reader(data_format: str, **configs: Any) -> ReaderSpec:
    made = parse_reader(RecordReader(data_format=data_format, configs=configs))
    assert from_json(json.loads(json.dumps(made.to_json()))) == made
    return made


def piece(path: Path) -> Piece:
    return Piece(ANYWHERE.stat(str(path)))


def read(path: Path, spec: ReaderSpec, notes: FileNotes | None = None) -> list[dict[str, Any]]:
    rows = read_rows(piece(path), spec, SCHEMA, notes).to_pylist()
    for row in rows:
        row["doc"] = json.loads(row["doc"]) if isinstance(row.get("doc"), str) else row.get("doc")
    return rows


def json_bytes() -> bytes:
    return "\n".join(json.dumps(r, ensure_ascii=False) for r in ROWS).encode()


def table() -> pa.Table:
    kinds = pa.schema(
        [
            ("s", pa.string()),
            ("n", pa.int64()),
            ("tags", pa.list_(pa.string())),
            ("doc", pa.struct([("k", pa.list_(pa.int64()))])),
            ("more", pa.int32()),
        ]
    )
    return pa.Table.from_pylist([{**r, "doc": {"k": [7]}, "more": 1} for r in ROWS], kinds)


AVRO = fastavro.parse_schema(
    {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "s", "type": ["null", "string"]},
            {"name": "n", "type": ["null", "long"]},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "doc", "type": {"type": "map", "values": {"type": "array", "items": "int"}}},
            {"name": "more", "type": "int"},
        ],
    }
)


def write_avro(path: Path, codec: str, rows: list[dict[str, Any]]) -> None:
    with path.open("wb") as out:
        fastavro.writer(out, AVRO, rows, codec=codec, sync_interval=200)


def packed_by(path: Path, codec: str, pack: Callable[[bytes], bytes]) -> None:
    """Write the container again with blocks that fastavro cannot pack here."""
    with path.open("rb") as file:
        blocks = [(b.num_records, b.bytes_.getvalue()) for b in fastavro.block_reader(file)]
    path.write_bytes(b"")
    with path.open("wb") as out:
        sync = b"0123456789abcdef"
        out.write(b"Obj\x01")
        meta = {"avro.schema": json.dumps(AVRO).encode(), "avro.codec": codec.encode()}
        fastavro.schemaless_writer(out, fastavro.parse_schema({"type": "map", "values": "bytes"}), meta)
        out.write(sync)
        for count, data in blocks:
            packed = pack(data)
            for number in (count, len(packed)):
                fastavro.schemaless_writer(out, fastavro.parse_schema("long"), number)
            out.write(packed + sync)


@pytest.mark.parametrize("form", ["lines", "array", "pretty array", "pretty values", "one after the other"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_json_in_every_form_and_encoding(tmp_path: Path, form: str, encoding: str) -> None:
    texts = {
        "lines": json_bytes().decode(),
        "array": json.dumps(ROWS),
        "pretty array": json.dumps(ROWS, indent=2),
        "pretty values": "\n".join(json.dumps(r, indent=2) for r in ROWS),
        "one after the other": "{}".format("".join(json.dumps(r) for r in ROWS)),
    }
    (tmp_path / "f").write_bytes(texts[form].encode(encoding))
    spec = reader("json", encoding=encoding) if encoding == "utf-16-le" else reader("json")
    assert read(tmp_path / "f", spec) == ROWS
    assert count_rows(str(tmp_path / "f"), spec) == len(ROWS)


@pytest.mark.parametrize(
    ("given", "encoding"),
    [("utf-8", "utf-8"), ("ISO-8859-1", "latin-1"), ("windows-1250", "cp1250"), ("UTF-16", "utf-16"), (None, "utf-16")],
)
def test_csv_in_every_encoding(tmp_path: Path, given: str | None, encoding: str) -> None:
    word = "Ż" if encoding in ("cp1250", "utf-8") else "é"
    (tmp_path / "f").write_bytes(f's,n,tags\n"{word},\n{word}",1,a;b\n{word},,\n'.encode(encoding))
    rows = read_rows(piece(tmp_path / "f"), reader("csv", **({"encoding": given} if given else {})), SCHEMA).to_pylist()
    assert rows == [{"s": f"{word},\n{word}", "n": 1, "tags": ["a", "b"]}, {"s": word, "n": None, "tags": None}]


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "gzip members": lambda data: gzip.compress(data[:99]) + gzip.compress(data[99:]),
    "zstd": zstandard.ZstdCompressor().compress,
    "bz2": bz2.compress,
}


@pytest.mark.parametrize("packing", PACK)
def test_compression_is_known_by_the_first_bytes(tmp_path: Path, packing: str) -> None:
    (tmp_path / "f").write_bytes(PACK[packing](json_bytes()))
    assert read(tmp_path / "f", reader("json")) == ROWS
    (tmp_path / "g").write_bytes(PACK[packing](b"s,n\na,1\n"))
    assert read_rows(piece(tmp_path / "g"), reader("csv"), SCHEMA).to_pylist() == [{"s": "a", "n": 1}]


@pytest.mark.parametrize("packing", PACK)
def test_a_compressed_file_that_is_cut_off_is_named(tmp_path: Path, packing: str) -> None:
    packed = PACK[packing](json_bytes())
    (tmp_path / "f").write_bytes(packed[: len(packed) - 9])
    with pytest.raises(InvalidInput, match="f' cannot be read"):
        read(tmp_path / "f", reader("json"), FileNotes())


def test_a_file_that_unpacks_to_more_than_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_text, "MOST_AT_ONCE", 8 << 20)
    (tmp_path / "f.csv").write_bytes(gzip.compress(b"s,n\n" + b"a,1\n" * (4 << 20)))
    assert (tmp_path / "f.csv").stat().st_size < 100_000
    with pytest.raises(InvalidInput, match=r"f\.csv' holds more than 8 MB of text, unpacked"):
        read(tmp_path / "f.csv", reader("csv"))


def test_parquet_and_orc_with_nested_values(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "p", row_group_size=50)
    orc.write_table(table(), tmp_path / "o")
    expected = [{**r, "doc": {"k": [7]}} for r in ROWS]
    for name, spec in (("p", reader("parquet")), ("o", reader("orc"))):
        notes = FileNotes()
        assert read(tmp_path / name, spec, notes) == expected
        assert count_rows(str(tmp_path / name), spec) == len(ROWS)
        assert notes.ignored == ["more"]


OTHERS: dict[str, Callable[[bytes], bytes]] = {
    "snappy": lambda data: pa.compress(data, "snappy", asbytes=True) + zlib.crc32(data).to_bytes(4, "big"),
    "zstandard": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("codec", ["null", "deflate", "zstandard", "bzip2", "xz", "snappy"])
def test_avro_of_every_codec(tmp_path: Path, codec: str) -> None:
    path, notes = tmp_path / "f", FileNotes()
    write_avro(path, "null" if codec in OTHERS else codec, [{**r, "doc": {"k": [7]}, "more": 1} for r in ROWS])
    if codec in OTHERS:
        packed_by(path, codec, OTHERS[codec])
    assert read(path, reader("avro"), notes) == [{**r, "doc": {"k": [7]}} for r in ROWS]
    assert count_rows(str(path), reader("gzipped_avro")) == len(ROWS)
    assert notes.ignored == ["more"]


def test_times_of_avro_are_times_unless_their_numbers_are_wanted(tmp_path: Path) -> None:
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "n", "type": {"type": "long", "logicalType": "timestamp-micros"}}],
    }
    with (tmp_path / "f").open("wb") as out:
        fastavro.writer(out, fastavro.parse_schema(schema), [{"n": 1_700_000_000_000_000}])
    (row,) = read_rows(piece(tmp_path / "f"), reader("avro"), SCHEMA).to_pylist()
    assert row["n"].isoformat() == "2023-11-14T22:13:20+00:00"
    raw = read_rows(piece(tmp_path / "f"), reader("avro", extractRawTimeValues="true"), SCHEMA).to_pylist()
    assert raw == [{"n": 1_700_000_000_000_000}]


@pytest.mark.parametrize("packing", PACK)
def test_an_avro_file_may_be_compressed_as_a_whole(tmp_path: Path, packing: str) -> None:
    path, spec = tmp_path / "f", reader("gzipped_avro")
    write_avro(path, "deflate", [{**r, "doc": {"k": [7]}, "more": 1} for r in ROWS])
    path.write_bytes(PACK[packing](path.read_bytes()))
    assert read(path, spec) == [{**r, "doc": {"k": [7]}} for r in ROWS]
    assert count_rows(str(path), spec) == len(ROWS)
    assert format_of(str(path), ANYWHERE) == "avro"
    cut = find_cuts([ANYWHERE.stat(str(path))], spec, 500, {}, lambda items, work: [work(i) for i in items])
    pieces = [read_rows(p, spec, SCHEMA).num_rows for p in cut[str(path)]]
    assert len(pieces) > 1
    assert sum(pieces) == len(ROWS)


def test_times_of_parquet_are_times_unless_their_numbers_are_wanted(tmp_path: Path) -> None:
    at = datetime(2023, 11, 14, 22, 13, 20, 5, tzinfo=UTC)
    kinds = pa.schema([("n", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.date32()))])
    pq.write_table(pa.table({"n": [at], "tags": [[at.date()]]}, kinds), tmp_path / "f")
    (row,) = read_rows(piece(tmp_path / "f"), reader("parquet"), SCHEMA).to_pylist()
    assert row["n"] == at
    raw = reader("parquet", extractRawTimeValues="true")
    assert read_rows(piece(tmp_path / "f"), raw, SCHEMA).to_pylist() == [{"n": 1_700_000_000_000_005, "tags": [19675]}]
    table, _ = first_rows(ANYWHERE, str(tmp_path / "f"), "parquet", raw_times=True)
    assert table.column("n").to_pylist() == [1_700_000_000_000_005]


def good_file(path: Path, data_format: str) -> None:
    match data_format:
        case "csv":
            path.write_text("s,n\n" + "a,1\n" * 100)
        case "json":
            path.write_text(json.dumps(ROWS))
        case "parquet":
            pq.write_table(table(), path)
        case "orc":
            orc.write_table(table(), path)
        case "avro":
            write_avro(path, "deflate", [{**r, "doc": {}, "more": 1} for r in ROWS])


@pytest.mark.parametrize("data_format", [f for f in FORMATS if f != "csv"])
@pytest.mark.parametrize("damage", ["truncated", "another format", "zeros", "text"])
def test_what_is_no_file_of_its_format_is_named(tmp_path: Path, data_format: str, damage: str) -> None:
    path = tmp_path / "f"
    good_file(path, data_format)
    data = path.read_bytes()
    good_file(path, "parquet" if data_format == "orc" else "orc")
    damaged = {"truncated": data[: len(data) // 2], "zeros": bytes(500), "text": b"what is this"}
    path.write_bytes(damaged.get(damage, path.read_bytes()))
    with pytest.raises(InvalidInput, match=r"'.*/f'"):
        read(path, reader(data_format))


@pytest.mark.parametrize("data_format", FORMATS)
def test_empty_files_have_no_rows_or_are_refused(tmp_path: Path, data_format: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"")
    if data_format == "json":
        assert read(path, reader("json")) == []
        return
    with pytest.raises(InvalidInput, match="f'"):
        read(path, reader(data_format))


def test_files_of_no_rows_are_read(tmp_path: Path) -> None:
    none = table().slice(0, 0)
    pq.write_table(none, tmp_path / "parquet")
    orc.write_table(none, tmp_path / "orc")
    write_avro(tmp_path / "avro", "null", [])
    (tmp_path / "csv").write_text("s,n\n")
    (tmp_path / "json").write_text("[ ]\n")
    for name in FORMATS:
        assert read(tmp_path / name, reader(name)) == []
        assert count_rows(str(tmp_path / name), reader(name)) == 0


# Arrow's reader cannot give a row that is not UTF-8 to the handler of odd rows; it refuses the file then.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_random_damage_never_raises_anything_else(tmp_path: Path) -> None:
    rng = random.Random(7)
    for data_format in FORMATS:
        path = tmp_path / data_format
        good_file(path, data_format)
        data = path.read_bytes()
        for _ in range(60):
            broken = bytearray(data)
            for _ in range(rng.randint(1, 8)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            path.write_bytes(broken)
            with suppress(InvalidInput):
                read(path, reader(data_format), FileNotes())


@pytest.mark.parametrize(
    ("data_format", "key", "value"),
    [
        ("json", "delimiter", ","),
        ("orc", "encoding", "utf-8"),
        ("json", "encoding", "utf-99"),
        ("csv", "encoding", "base64"),
        ("avro", "header", "a"),
    ],
)
def test_settings_that_a_reader_has_not_are_named(data_format: str, key: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=rf"recordReaderSpec\.configs\.{key}'"):
        reader(data_format, **{key: value})

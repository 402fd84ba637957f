"""A file that is cut gives the rows of the whole file, each once and in order, and its errors name the same lines."""

from __future__ import annotations

import csv as plain_csv
import gzip
import io
import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from segments.domain.push.push_plan import Piece, Unit
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.tables.schema import parse_schema
from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE
from segments.spark.reading.cuts import by_rows, describe, pieces_of, pieces_of_windows, places, scan
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.rows import lines_of, read_rows

SCHEMA = parse_schema(
    {
        "schemaName": "t",
        "dimensionFieldSpecs": [{"name": "s", "dataType": "STRING"}, {"name": "n", "dataType": "LONG"}],
    }
)


def cut(path: Path, reader: ReaderSpec, target: int) -> list[Piece]:
    file = ANYWHERE.stat(str(path))
    answer = describe(file, reader, target, ANYWHERE)
    if "windows" not in answer:
        return pieces_of(file, answer)
    windows = [scan(file, reader, start, stop, ANYWHERE) for start, stop in answer["windows"]]
    pieces = pieces_of_windows(file, windows)
    return pieces_of(file, by_rows(file, reader, target, ANYWHERE)) if pieces is None else pieces


def rows_of(pieces: list[Piece], reader: ReaderSpec) -> list[dict[str, Any]]:
    return [row for piece in pieces for row in read_rows(piece, reader, SCHEMA, FileNotes()).to_pylist()]


def values(rng: random.Random, count: int) -> list[dict[str, Any]]:
    words = ["plain", 'quote " in', "comma, in", "line\nin", "\r\n", '"', "é" * 9, "", "x" * 200]
    return [{"s": rng.choice(words) or None, "n": i} for i in range(count)]


def csv_text(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = plain_csv.DictWriter(out, ["s", "n"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("seed", range(8))
def test_csv_with_line_ends_in_quotes_is_cut_between_records(tmp_path: Path, seed: int) -> None:
    rng, path = random.Random(seed), tmp_path / "f"
    rows = values(rng, 300)
    path.write_text(csv_text(rows), newline="")
    reader = ReaderSpec("csv", trim=False)
    pieces = cut(path, reader, rng.randint(300, 3000))
    assert len(pieces) > 2
    assert {p.unit for p in pieces} == {Unit.BYTES}
    assert rows_of(pieces, reader) == rows
    assert sum(p.size for p in pieces) == path.stat().st_size


def test_a_csv_file_whose_quotes_are_not_around_values_is_cut_by_rows(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("s,n\n" + "".join(f'{i}" pipe,{i}\n' for i in range(1, 302)))
    pieces = cut(path, ReaderSpec("csv"), 500)
    assert {p.unit for p in pieces} == {Unit.ROWS}
    assert [r["n"] for r in rows_of(pieces, ReaderSpec("csv"))] == list(range(1, 302))


def test_lines_of_a_cut_file_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("s,n\n" + "".join(f"a,{i}\n" if i != 180 else "a\n" for i in range(300)))
    pieces = cut(path, ReaderSpec("csv"), 500)
    bad = []
    for piece in pieces:
        notes = FileNotes()
        read_rows(piece, ReaderSpec("csv"), SCHEMA, notes)
        bad += notes.listed
        assert notes.bad == len(notes.listed)
    assert [line for line, _, _ in bad] == [182]
    last = read_rows(pieces[-1], ReaderSpec("csv"), SCHEMA).to_pylist()
    assert lines_of(pieces[-1], ReaderSpec("csv"), [0], 2) == {0: last[0]["n"] + 2}
    with pytest.raises(InvalidInput, match="line 182"):
        rows = [read_rows(p, ReaderSpec("csv"), SCHEMA) for p in pieces]
        assert rows


@pytest.mark.parametrize("form", ["lines", "array", "gzip", "csv.gz", "utf-16"])
def test_json_and_compressed_text_are_cut(tmp_path: Path, form: str) -> None:
    path, rows = tmp_path / "f", values(random.Random(3), 200)
    lines = "\n".join(map(json.dumps, rows))
    reader = ReaderSpec("json")
    match form:
        case "lines":
            path.write_text(lines)
        case "array":
            path.write_text(json.dumps(rows, indent=1))
        case "gzip":
            path.write_bytes(gzip.compress(lines.encode()))
        case "csv.gz":
            path.write_bytes(gzip.compress(csv_text(rows).encode()))
            reader = ReaderSpec("csv", trim=False)
        case "utf-16":
            path.write_bytes(lines.encode("utf-16"))
    pieces = cut(path, reader, 700)
    assert len(pieces) > 3
    assert {p.unit for p in pieces} == {Unit.BYTES if form == "lines" else Unit.ROWS}
    assert rows_of(pieces, reader) == rows


def test_a_bad_line_of_cut_json_keeps_its_line(tmp_path: Path) -> None:
    objects = [f'{{"n": {i}}}' if i != 150 else '{"n": }' for i in range(200)]
    for name, text in {"lines": "\n".join(objects), "array": "[\n" + ",\n".join(objects) + "\n]"}.items():
        (tmp_path / name).write_text(text)
        listed = []
        for piece in cut(tmp_path / name, ReaderSpec("json"), 500):
            notes = FileNotes()
            read_rows(piece, ReaderSpec("json"), SCHEMA, notes)
            listed += notes.listed
        assert [line for line, _, _ in listed] == [151 if name == "lines" else 152]


@pytest.mark.parametrize("data_format", ["parquet", "orc", "avro"])
def test_files_of_groups_and_blocks_are_cut(tmp_path: Path, data_format: str) -> None:
    path, rows = tmp_path / "f", [{"s": f"{i:>40}", "n": i} for i in range(20_000)]
    table = pa.Table.from_pylist(rows)
    match data_format:
        case "parquet":
            pq.write_table(table, path, row_group_size=1500, compression="none", use_dictionary=False)
        case "orc":
            orc.write_table(table, path, stripe_size=1 << 16, compression="uncompressed")
        case "avro":
            kinds = [{"name": "s", "type": "string"}, {"name": "n", "type": "long"}]
            schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": kinds})
            with path.open("wb") as out:
                fastavro.writer(out, schema, rows, sync_interval=4000)
    pieces = cut(path, ReaderSpec(data_format), 200_000)
    assert len(pieces) > 3
    assert Unit.ROWS not in {p.unit for p in pieces}
    assert rows_of(pieces, ReaderSpec(data_format)) == rows
    by_row = [Piece(pieces[0].file, 0, 3000), Piece(pieces[0].file, 3000, 17_001), Piece(pieces[0].file, 17_001)]
    assert rows_of(by_row, ReaderSpec(data_format)) == rows


def test_a_number_of_rows_in_a_cut_parquet_file_counts_from_its_beginning(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": list(range(100))}), tmp_path / "f", row_group_size=30)
    notes = FileNotes()
    read_rows(Piece(ANYWHERE.stat(str(tmp_path / "f")), 2, 3, Unit.GROUPS), ReaderSpec("parquet"), SCHEMA, notes)
    assert notes.first_row == 60


@pytest.mark.parametrize("size", [1, 99, 100, 113, 900, 1_000, 1_600, 123_456])
def test_pieces_are_even_and_of_many_the_last_are_halves(size: int) -> None:
    near = places(size, 100)
    assert near == sorted(set(near))
    assert all(0 < at < size for at in near)
    sizes = [b - a for a, b in pairwise([0, *near, size])]
    assert max(sizes) <= 113 or size < 226
    is_halved = len(sizes) >= 12 and sizes[-3] <= -(-sizes[0] // 2)
    assert is_halved == (size > 450)


@pytest.mark.parametrize(
    ("size", "largest"), [(201, 51), (1600, 50), (2400, 75), (3200, 100), (3300, 100), (100_000, 100)]
)
def test_a_file_of_fewer_than_32_pieces_has_smaller_ones_but_not_less_than_half(size: int, largest: int) -> None:
    sizes = [b - a for a, b in pairwise([0, *places(size, 100), size])]
    assert largest * 8 // 9 - 1 <= sizes[0] <= largest * 8 // 7

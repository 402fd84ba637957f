"""Reading CSV, JSON lines and Parquet as Pinot's readers do, and naming the line of what cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.domain.push.push_model import RecordReader
from segments.domain.push.push_plan import Piece
from segments.domain.push.reader_spec import ReaderSpec, parse_reader
from segments.domain.tables.schema import Schema, parse_schema
from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE
from segments.spark.reading import rows as reading
from segments.spark.reading.rows import count_rows, lines_of

SCHEMA = parse_schema(
    {
        "schemaName": "t",
        "dimensionFieldSpecs": [
            {"name": "s", "dataType": "STRING"},
            {"name": "n", "dataType": "INT"},
            {"name": "tags", "dataType": "STRING", "singleValueField": False},
        ],
        "dateTimeFieldSpecs": [{"name": "at", "dataType": "TIMESTAMP", "format": "TIMESTAMP"}],
    }
)


def whole(path: Path) -> Piece:
    return Piece(ANYWHERE.stat(str(path)))


def read_rows(path: str, reader: ReaderSpec, schema: Schema) -> pa.Table:
    return reading.read_rows(whole(Path(path)), reader, schema)


def csv(**configs: Any) -> ReaderSpec:
    return parse_reader(RecordReader(data_format="csv", configs=configs))


def read(tmp_path: Path, text: str, reader: ReaderSpec) -> dict[str, list[Any]]:
    path = tmp_path / "f"
    path.write_text(text)
    assert count_rows(str(path), reader) == read_rows(str(path), reader, SCHEMA).num_rows
    return read_rows(str(path), reader, SCHEMA).to_pydict()


@pytest.mark.parametrize(
    ("text", "reader", "rows"),
    [
        ("s,n\na,1\n,\n", csv(), {"s": ["a", None], "n": [1, None]}),
        ("s,n\n a , 1 \n", csv(), {"s": ["a"], "n": [1]}),
        ("s,n\n a ,1\n", csv(ignoreSurroundingSpaces=False), {"s": [" a "], "n": [1]}),
        ("s,n\nNA,NA\n", csv(nullStringValue="NA"), {"s": [None], "n": [None]}),
        ("s,n\nNA,1\n", csv(), {"s": ["NA"], "n": [1]}),
        ('s,n\n"x,\ny",1\n', csv(), {"s": ["x,\ny"], "n": [1]}),
        ("s|n\na|1\n", csv(delimiter="|"), {"s": ["a"], "n": [1]}),
        ("a,1\nb,2\n", csv(header="s,n"), {"s": ["a", "b"], "n": [1, 2]}),
        ("x,y\nb,2\n", csv(header="s,n", skipHeader=True), {"s": ["b"], "n": [2]}),
        ("s,tags\na,x;y\nb,\n", csv(), {"s": ["a", "b"], "tags": [["x", "y"], None]}),
        ("s,tags\na,x;y\n", csv(multiValueDelimiterEnabled=False), {"s": ["a"], "tags": ["x;y"]}),
        ("s,other\na,1\n", csv(), {"s": ["a"]}),
        ("\ufeffs,n\r\na,1\r\n", csv(), {"s": ["a"], "n": [1]}),
        ("s,n\na,+1\n", csv(), {"s": ["a"], "n": ["+1"]}),
    ],
)
def test_csv_is_read_as_configured(tmp_path: Path, text: str, reader: ReaderSpec, rows: dict[str, list[Any]]) -> None:
    assert read(tmp_path, text, reader) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: there is no header"),
        ("s,s\n", "line 1: column 's' is there twice"),
        ("x,y\n1,2\n", "line 1: no column of its header"),
        ("s,n\na,1\nb\n", "line 3:"),
    ],
)
def test_csv_that_cannot_be_read_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=f"bad.csv' {message}"):
        read_rows(str(path), csv(), SCHEMA)


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(b"s,n\na,1\n\xff\xfe,1\n")
    with pytest.raises(InvalidInput, match=r"bad\.csv' line 3:"):
        read_rows(str(path), csv(), SCHEMA)


def test_timestamps_are_read_with_and_without_zone(tmp_path: Path) -> None:
    for text in ("2013-01-01T10:00:00Z", "2013-01-01 10:00:00"):
        table_of = read(tmp_path, f"s,at\na,{text}\n", csv())
        assert table_of["at"][0].isoformat()[:19] == "2013-01-01T10:00:00"


def test_json_lines_keep_their_values_whatever_their_kinds_and_a_column_that_none_has_is_left_out(
    tmp_path: Path,
) -> None:
    text = '{"s": "2013-01-01", "n": 1, "tags": ["x"], "more": 1}\n\n{"s": 5, "n": "2", "tags": "y"}\n'
    assert read(tmp_path, text, ReaderSpec("json")) == {
        "s": ["2013-01-01", "5"],
        "n": ["1", "2"],
        "tags": [["x"], ["y"]],
    }


@pytest.mark.parametrize(("line", "message"), [("{", "no valid JSON"), ("[1]", "no JSON object")])
def test_a_bad_json_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"s": "a"}\n' + line + "\n")
    with pytest.raises(InvalidInput, match=f"line 2: {message}"):
        read_rows(str(path), ReaderSpec("json"), SCHEMA)


def test_parquet_is_read_by_column_names(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1, 2], "zzz": [0, 0]}), tmp_path / "f")
    assert read_rows(str(tmp_path / "f"), ReaderSpec("parquet"), SCHEMA).to_pydict() == {"n": [1, 2]}
    assert count_rows(str(tmp_path / "f"), ReaderSpec("parquet")) == 2
    (tmp_path / "g").write_text("no parquet")
    with pytest.raises(InvalidInput, match="g' cannot be read"):
        read_rows(str(tmp_path / "g"), ReaderSpec("parquet"), SCHEMA)


def test_lines_count_the_header_quoted_line_ends_and_empty_lines(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b's,n\n"a\nb",1\n\nc,2\n')
    assert lines_of(whole(tmp_path / "f"), csv(), range(3), 2) == {0: 2, 1: 5}

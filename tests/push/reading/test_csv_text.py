"""CSV as people write it: spaces before quotes, empty items of lists, a header and nothing else."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.domain.push.push_model import RecordReader
from segments.domain.push.push_plan import Piece
from segments.domain.push.reader_spec import ReaderSpec, parse_reader
from segments.domain.tables.schema import parse_schema
from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE
from segments.spark.reading.csv_text import csv_text
from segments.spark.reading.cuts import find_cuts
from segments.spark.reading.rows import count_rows, lines_of, read_rows
from segments.spark.reading.text import CHUNK, Text

SCHEMA = parse_schema(
    {
        "schemaName": "t",
        "dimensionFieldSpecs": [
            {"name": "s", "dataType": "STRING"},
            {"name": "n", "dataType": "INT"},
            {"name": "ns", "dataType": "INT", "singleValueField": False},
        ],
    }
)


def reader(**configs: Any) -> ReaderSpec:
    return parse_reader(RecordReader(data_format="csv", configs=configs))


def read(path: Path, spec: ReaderSpec, data: bytes) -> list[dict[str, Any]]:
    path.write_bytes(data)
    found = read_rows(Piece(ANYWHERE.stat(str(path))), spec, SCHEMA).to_pylist()
    assert count_rows(str(path), spec) == len(found)
    return found


SPACED = b'"s", "n"\n"Smith, J.", 1\n  "a ""b"", c" , 2\n"x, ", 3\n5" pipe,4\n'


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_quoted_value_may_have_spaces_before_its_quote(tmp_path: Path, pack: Any) -> None:
    assert read(tmp_path / "f", reader(), pack(SPACED)) == [
        {"s": "Smith, J.", "n": 1},
        {"s": 'a "b", c', "n": 2},
        {"s": "x,", "n": 3},
        {"s": '5" pipe', "n": 4},
    ]


def test_lines_of_rows_with_spaces_before_quotes_are_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b's, n\n"a\nb", 1\n "c, d", 2\n')
    piece = Piece(ANYWHERE.stat(str(tmp_path / "f")))
    assert lines_of(piece, reader(), range(2), 2) == {0: 2, 1: 4}


def test_spaces_before_quotes_are_kept_where_they_count(tmp_path: Path) -> None:
    assert read(tmp_path / "f", reader(ignoreSurroundingSpaces="false"), b's,n\n "a",1\n') == [{"s": ' "a"', "n": 1}]


def test_a_file_with_spaces_before_quotes_is_cut_and_gives_the_same_rows(tmp_path: Path) -> None:
    path, spec = tmp_path / "f", reader()
    whole = read(path, spec, b's, n\n"Smith,\n J.", 1\n' + b'"a", 2\n' * 500)
    cut = find_cuts([ANYWHERE.stat(str(path))], spec, 1000, {}, lambda items, work: [work(i) for i in items])
    pieces = cut[str(path)]
    assert len(pieces) > 1
    assert [row for piece in pieces for row in read_rows(piece, spec, SCHEMA).to_pylist()] == whole


@dataclass(frozen=True)
class _Chunks(Text):
    """``data`` in chunks of ``size``."""

    data: bytes
    step: int

    def chunks(self, start: int = 0, stop: int | None = None, size: int = CHUNK) -> Iterator[bytes]:
        for at in range(0, len(self.data), self.step):
            yield self.data[at : at + self.step]


@given(
    st.lists(st.lists(st.text('a ",\n', max_size=5), min_size=2, max_size=2), min_size=1, max_size=6),
    st.integers(0, 3),
    st.integers(1, 9),
)
def test_values_are_the_same_whatever_the_spaces_before_them_and_the_size_of_chunks(
    rows: list[list[str]], spaces: int, size: int
) -> None:
    """Python's reader is the judge, of the text as it was given."""
    gap = " " * spaces
    lines = (gap + f",{gap}".join('"' + v.replace('"', '""') + '"' for v in row) + "\n" for row in rows)
    text = "".join(lines)
    moved = b"".join(csv_text(_Chunks("f", "utf-8", ANYWHERE, text.encode(), size), reader()).chunks()).decode()
    assert list(csv.reader(io.StringIO(moved, newline=""))) == rows
    assert moved.count("\n") == text.count("\n")


@pytest.mark.parametrize("delimiter", [";", "|", "^"])
def test_empty_items_of_a_list_are_none(tmp_path: Path, delimiter: str) -> None:
    text = "s,ns\na,1;;2\nb,;3;\nc,;\nd,4\n".replace(";", delimiter)
    rows = read(tmp_path / "f", reader(multiValueDelimiter=delimiter), text.encode())
    assert [row["ns"] for row in rows] == [["1", "2"], ["3"], None, ["4"]]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_header_without_a_line_end_is_a_file_without_rows(tmp_path: Path, pack: Any) -> None:
    assert read(tmp_path / "f", reader(), pack(b"s,n")) == []


def test_settings_about_writing_are_taken_without_effect_and_others_refused_with_what_to_do(tmp_path: Path) -> None:
    assert reader(recordSeparator="\n", quoteMode="MINIMAL") == reader()
    with pytest.raises(InvalidInput, match="stopOnError' is not supported") as refused:
        reader(stopOnError="false")
    assert "errorRate" in refused.value.remedy

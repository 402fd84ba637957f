"""Parquet, ORC and Avro files of which a few bytes stand for gigabytes: the process that asks for their first rows is
answered with a refusal, or with as many rows as it can hold.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from segments.errors import InvalidInput, NotFound, TooManyRequests
from segments.gateways.input_files.access import FileAccess
from segments.gateways.input_files.source import ANYWHERE
from segments.spark.reading.sample.binary_rows import BinaryRows
from segments.spark.reading.sample.objects import MOST_ROWS
from segments.spark.reading.sample.reading_process import MOST_BYTES
from segments.spark.reading.sample.weight import weight

MB = 1 << 20
SMALL = 200 * MB
OPEN = FileAccess(is_open=True)


def repeated(size: int, rows: int) -> pa.Table:
    """One text of so many bytes, in every row."""
    return pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * size])})


def one_text_in_every_row(path: Path) -> str:
    pq.write_table(repeated(4 * MB, 10_000), path, store_schema=False)
    return "parquet"


def many_values_in_one_row(path: Path) -> str:
    values = pa.ListArray.from_arrays(pa.array([0, 8_000_000], pa.int32()), pa.nulls(8_000_000, pa.int32()))
    pq.write_table(pa.table({"a": values}), path)
    return "parquet"


def a_stripe_of_a_gigabyte(path: Path) -> str:
    with orc.ORCWriter(str(path), stripe_size=2 << 30, compression="zstd", dictionary_key_size_threshold=0) as file:
        for _ in range(4):
            file.write(pa.table({"a": ["x" * MB] * 100}))
    return "orc"


def blocks_of_zeros(path: Path) -> str:
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}
    with path.open("wb") as file:
        fastavro.writer(file, schema, ({"a": "x" * MB} for _ in range(250)), codec="deflate")
    return "avro"


@pytest.mark.parametrize(
    "bomb", [one_text_in_every_row, many_values_in_one_row, a_stripe_of_a_gigabyte, blocks_of_zeros]
)
def test_a_file_that_becomes_gigabytes_is_refused_with_the_limit(tmp_path: Path, bomb: Any) -> None:
    path = tmp_path / "bomb"
    data_format = bomb(path)
    assert path.stat().st_size < 5 * MB
    with pytest.raises(InvalidInput, match=rf"'{path}' .* 200 MB") as refused:
        BinaryRows(SMALL).read(ANYWHERE.stat(str(path)), data_format, OPEN)
    assert "POST /schemas" in refused.value.remedy


def test_values_that_are_stored_once_and_stand_in_every_row_count_in_each(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(repeated(MB, 10_000), path)
    table, is_whole = BinaryRows(SMALL).read(ANYWHERE.stat(str(path)), "parquet", OPEN)
    assert (0 < table.num_rows < 32, is_whole) == (True, False)


def test_a_first_row_that_is_too_large_alone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": ["x" * (MOST_BYTES + 1)]}), path)
    with pytest.raises(InvalidInput, match=r"The first row of input file '.*a\.parquet' has more than 32 MB"):
        BinaryRows().read(ANYWHERE.stat(str(path)), "parquet", OPEN)


def test_a_file_that_takes_too_long_is_refused_with_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(InvalidInput, match=r"a\.parquet' take more than 0\.01 s to read"):
        BinaryRows(seconds=0.01).read(ANYWHERE.stat(str(path)), "parquet", OPEN)


def test_a_file_that_ends_the_process_which_reads_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(InvalidInput, match=r"a\.parquet' cannot be read: it ended the process"):
        BinaryRows().read(ANYWHERE.stat(str(path)), "parquet", OPEN)


def test_what_opening_a_file_raises_is_raised_here_too(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    file = ANYWHERE.stat(str(path))
    with pytest.raises(InvalidInput, match="Check that it is an ORC file"):
        BinaryRows().read(file, "orc", OPEN)
    path.unlink()
    with pytest.raises(NotFound, match="is gone"):
        BinaryRows().read(file, "parquet", OPEN)


def test_text_that_is_none_is_refused_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": pa.array([b"good", b"\xff\xfe"])}), path)
    text = pa.table({"a": pa.array([b"good", b"\xff\xfe"]).view(pa.string())})
    pq.write_table(text, path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        BinaryRows().read(ANYWHERE.stat(str(path)), "parquet", OPEN)


def test_few_processes_read_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    rows = BinaryRows(seconds=0.01)
    with rows._room, rows._room, pytest.raises(TooManyRequests):
        rows.read(ANYWHERE.stat(str(path)), "parquet", OPEN)


def test_a_file_is_read_once_while_it_stays_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(MOST_ROWS + 1)}), path)
    rows = BinaryRows()
    table, is_whole = rows.read(ANYWHERE.stat(str(path)), "parquet", OPEN)
    assert (table.num_rows, is_whole) == (MOST_ROWS, False)
    monkeypatch.setattr("sys.executable", "/bin/false")
    assert rows.read(ANYWHERE.stat(str(path)), "parquet", OPEN)[0] is table
    pq.write_table(pa.table({"a": [1, 2]}), path)
    with pytest.raises(InvalidInput):
        rows.read(ANYWHERE.stat(str(path)), "parquet", OPEN)


@pytest.mark.parametrize(
    ("array", "least"),
    [
        (pa.array([None] * 1_000), 8_000),
        (pa.array([[None] * 1_000, []]), 8_000),
        (pa.array([[True] * 1_000], pa.list_(pa.bool_(), 1_000)), 8_000),
        (pa.array([[("k", [1] * 1_000)]], pa.map_(pa.string(), pa.list_(pa.int8()))), 9_000),
        (pa.array([{"s": "x" * 1_000}]), 1_000),
        (pa.array([{"d": "x" * 1_000}] * 100).field(0).dictionary_encode(), 100_000),
        (pa.array(["x" * 1_000] * 100, pa.string_view()), 100_000),
        (pa.array([b"x" * 1_000] * 100).dictionary_encode(), 100_000),
        (pa.array([["x" * 1_000] * 100]).slice(1), 0),
    ],
)
def test_values_weigh_what_they_are_as_plain_values(array: Any, least: int) -> None:
    assert least <= weight(array) <= least * 2.2

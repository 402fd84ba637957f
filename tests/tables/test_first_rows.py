"""What is found out about a file of which nothing is known: format, dialect, names, types."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from segments.datatypes.inference.columns import find_columns
from segments.domain.tables.design.found_column import FoundColumn
from segments.domain.tables.design.given_names import plain_names, table_name_of
from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE
from segments.spark.reading.sample import head
from segments.spark.reading.sample.first_rows import FirstRows, read_first_rows


def read(folder: Path, content: bytes, name: str = "x.csv", **more: Any) -> FirstRows:
    path = folder / name
    path.write_bytes(content)
    return read_first_rows(ANYWHERE.stat(str(path)), ANYWHERE, **more)


def columns(rows: FirstRows) -> dict[str, FoundColumn]:
    found = find_columns(rows.table, rows.names, is_text=rows.is_text, multi_value=rows.reader.multi_value)
    return {c.name: c for c in found}


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_csv_file_is_found(tmp_path: Path, mark: str) -> None:
    rows = read(tmp_path, f"a{mark}b{mark}c\n1{mark}x, y{mark}2.5\n2{mark}z; w{mark}3\n".replace(", y", " y").encode())
    assert rows.reader.delimiter == mark
    assert {n: c.data_type for n, c in columns(rows).items()} == {"a": "INT", "b": "STRING", "c": "DOUBLE"}


def test_names_that_queries_cannot_use_are_replaced_while_reading(tmp_path: Path) -> None:
    rows = read(tmp_path, b"First Name,Order,first name,\nAnn,1,Bob,2\n")
    assert list(rows.names) == ["First_Name", "Order_", "first_name_2", "column_4"]
    assert rows.reader.skip_header
    assert rows.table.to_pylist() == [{"First_Name": "Ann", "Order_": "1", "first_name_2": "Bob", "column_4": "2"}]


def test_a_first_line_of_values_is_no_header(tmp_path: Path) -> None:
    rows = read(tmp_path, b"1,ann,2024-01-01\n2,bob,2024-01-02\n")
    assert list(rows.names) == ["column_1", "column_2", "column_3"]
    assert rows.table.num_rows == 2
    assert columns(rows)["column_3"].format == "SIMPLE_DATE_FORMAT|yyyy-MM-dd"


def test_a_first_line_with_a_name_twice_is_a_header_where_other_values_are_no_names(tmp_path: Path) -> None:
    rows = read(tmp_path, b"id,name,name\n1,x,y\n2,x,x\n")
    assert rows.table.column_names == ["id", "name", "name_2"]
    assert rows.table.num_rows == 2
    rows = read(tmp_path, b"red,blue,red\nblue,red,red\nred,blue,blue\n")
    assert rows.table.column_names == ["column_1", "column_2", "column_3"]
    assert rows.table.num_rows == 3


def test_texts_for_null_nulls_lists_and_codes_are_distinguished(tmp_path: Path) -> None:
    rows = read(tmp_path, b"id,delay,tags,zip\n1,NA,a;b,01234\n2,5,c,99999\n3,7,a;c,00001\n")
    found = columns(rows)
    assert rows.reader.null_string == "NA"
    assert (found["delay"].data_type, found["delay"].nulls) == ("INT", 1)
    assert (found["tags"].data_type, found["tags"].multi_value) == ("STRING", True)
    assert found["zip"].data_type == "STRING"
    assert found["id"].is_unique


def test_values_that_do_not_fit_are_counted_and_named(tmp_path: Path) -> None:
    lines = "".join(f"{i}\n" for i in range(9))
    found = columns(read(tmp_path, f"n\n{lines}soon\n".encode()))["n"]
    assert (found.data_type, found.nearly, found.misfits, found.misfit_examples) == ("STRING", "LONG", 1, ("soon",))


@pytest.mark.parametrize(
    ("name", "value", "data_type", "form", "moment"),
    [
        ("day", "2024-03-01", "STRING", "SIMPLE_DATE_FORMAT|yyyy-MM-dd", "2024-03-01T00:00:00Z"),
        ("d", "31/12/2024", "STRING", "SIMPLE_DATE_FORMAT|dd/MM/yyyy", "2024-12-31T00:00:00Z"),
        ("d", "12/31/2024", "STRING", "SIMPLE_DATE_FORMAT|MM/dd/yyyy", "2024-12-31T00:00:00Z"),
        ("seen", "2024-03-01T12:30:00Z", "TIMESTAMP", "TIMESTAMP", "2024-03-01T12:30:00Z"),
        ("seen", "2024-03-01 12:30:00.250", "TIMESTAMP", "TIMESTAMP", "2024-03-01T12:30:00.250Z"),
        ("created_at", "1709294400", "LONG", "1:SECONDS:EPOCH", "2024-03-01T12:00:00Z"),
        ("event_time", "1709294400000", "LONG", "1:MILLISECONDS:EPOCH", "2024-03-01T12:00:00Z"),
        ("days_since_epoch", "19783", "INT", "1:DAYS:EPOCH", "2024-03-01T00:00:00Z"),
        ("flight_date", "20240301", "INT", "SIMPLE_DATE_FORMAT|yyyyMMdd", "2024-03-01T00:00:00Z"),
    ],
)
def test_dates_are_found_with_what_they_mean(
    tmp_path: Path, name: str, value: str, data_type: str, form: str, moment: str
) -> None:
    found = columns(read(tmp_path, f"{name},x\n{value},1\n".encode()))[name]
    assert (found.data_type, found.format, found.parsed) == (data_type, form, moment)


def test_a_large_number_is_no_time_unless_its_name_says_so(tmp_path: Path) -> None:
    assert columns(read(tmp_path, b"order_id,x\n1709294400000,1\n"))["order_id"].format == ""


ROWS = [{"n": 1, "t": "x", "tags": ["a", "b"], "more": {"k": 1}}, {"n": 2, "t": None, "tags": [], "more": {"k": 2}}]


@pytest.mark.parametrize(
    "content",
    [
        "\n".join(map(json.dumps, ROWS)).encode(),
        json.dumps(ROWS, indent=1).encode(),
        gzip.compress(json.dumps(ROWS).encode()),
    ],
    ids=["lines", "array", "gzip"],
)
def test_json_in_every_form(tmp_path: Path, content: bytes) -> None:
    rows = read(tmp_path, content, "x.json")
    found = columns(rows)
    assert {n: (c.data_type, c.multi_value, c.nulls) for n, c in found.items()} == {
        "n": ("INT", False, 0), "t": ("STRING", False, 1), "tags": ("STRING", True, 0), "more": ("JSON", False, 0)
    }  # fmt: skip
    assert rows.is_whole


def test_typed_formats_keep_their_types(tmp_path: Path) -> None:
    table = pa.table({
        "i": pa.array([1, 2], pa.int32()), "f": pa.array([1.5, None], pa.float32()),
        "at": pa.array([datetime(2024, 3, 1), None], pa.timestamp("ms")), "s": ["007", "x"], "l": [[1], [2, 3]],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    orc.write_table(table, tmp_path / "a.orc")
    expected = {"i": "INT", "f": "FLOAT", "at": "TIMESTAMP", "s": "STRING", "l": "INT"}
    for name in ("a.parquet", "a.orc"):
        rows = read_first_rows(ANYWHERE.stat(str(tmp_path / name)), ANYWHERE)
        found = columns(rows)
        assert {**{n: c.data_type for n, c in found.items()}, "l": "INT"} == expected, name
        assert found["l"].multi_value
        assert found["at"].parsed == "2024-03-01T00:00:00Z"
    schema = {"type": "record", "name": "r", "fields": [
        {"name": "i", "type": "int"}, {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ]}  # fmt: skip
    with (tmp_path / "a.avro").open("wb") as out:
        fastavro.writer(out, schema, [{"i": 1, "at": datetime(2024, 3, 1, tzinfo=UTC)}])
    found = columns(read_first_rows(ANYWHERE.stat(str(tmp_path / "a.avro")), ANYWHERE))
    assert {n: c.data_type for n, c in found.items()} == {"i": "INT", "at": "TIMESTAMP"}


def test_a_line_that_is_too_deep_is_none_of_a_table(tmp_path: Path) -> None:
    deep = '{"a": ' + "[" * 1_010 + "]" * 1_010 + "}\n"
    (tmp_path / "f.json").write_text(f'{{"a": 1}}\n{deep}{{"a": 2}}\n')
    found = read_first_rows(ANYWHERE.stat(str(tmp_path / "f.json")), ANYWHERE)
    assert (found.table.to_pylist(), found.bad) == ([{"a": 1}, {"a": 2}], 1)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04\x00\x00binary", b"\n\n\n", b"{not json\n"])
def test_what_is_no_table_is_refused_with_what_to_do(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InvalidInput) as error:
        read(tmp_path, content)
    assert error.value.remedy


def test_only_the_beginning_of_a_large_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    real = head.first_bytes
    monkeypatch.setattr(
        "segments.spark.reading.sample.first_rows.first_bytes", lambda t: opened.append(t) or real(t, 4000)
    )
    quoted = b'1,"two\nlines"\n'
    rows = read(tmp_path, b"a,b\n" + quoted * 10_000)
    assert not rows.is_whole
    assert 200 < rows.table.num_rows < 320
    assert rows.bad == 0
    assert set(rows.table.column("b").to_pylist()) == {"two\nlines"}


def test_names_of_tables_and_columns() -> None:
    assert table_name_of("/x/My Flights (2).csv.gz") == "my_flights_2"
    assert table_name_of("über.json") == "uber"
    assert table_name_of("...") == ""
    assert table_name_of("2013-flights.csv") == "t_2013_flights"
    assert table_name_of("Order.csv") == "t_order"
    assert plain_names(["a", "a", "select", "9 lives", "", "A"]) == [
        "a",
        "a_2",
        "select_",
        "_9_lives",
        "column_5",
        "A_3",
    ]

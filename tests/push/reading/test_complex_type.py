"""``complexTypeConfig`` as Pinot documents it: flattening, unnesting, lists as JSON, renamed prefixes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from segments.domain.push.push_plan import Piece
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE
from segments.segmentfile.columns.complex_type import ComplexType, read_complex_type
from segments.spark.reading import unnested
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.rows import read_rows


def complex_type(**keys: Any) -> ComplexType | None:
    body = {"tableName": "t", "tableType": "OFFLINE", "segmentsConfig": {}}
    return read_complex_type(parse_table_config({**body, "ingestionConfig": {"complexTypeConfig": keys}}))


def rows(row: dict[str, Any], **keys: Any) -> list[dict[str, Any]]:
    found = complex_type(**keys)
    assert found is not None
    return found.rows(row, 1_000, 1 << 20)[0]


def test_objects_become_columns_with_the_delimiter() -> None:
    row = {"a": {"b": {"c": 1}, "d": "x"}, "e": None, "f": {}}
    assert rows(row) == [{"a.b.c": 1, "a.d": "x", "e": None}]
    assert rows(row, delimiter="_") == [{"a_b_c": 1, "a_d": "x", "e": None}]


def test_a_list_of_a_named_field_becomes_rows_and_its_objects_columns() -> None:
    row = {"id": 1, "t1": {"array": [{"t2": {"a": "v1"}}, {"t2": {"a": "v2"}}, 5]}}
    assert rows(row, fieldsToUnnest=["t1.array"]) == [
        {"id": 1, "t1.array.t2.a": "v1"},
        {"id": 1, "t1.array.t2.a": "v2"},
        {"id": 1, "t1.array": 5},
    ]


def test_lists_within_lists_are_unnested_parents_first() -> None:
    row = {"a": [{"b": [{"c": 1}, {"c": 2}]}, {"b": []}]}
    assert rows(row, fieldsToUnnest=["a.b", "a"]) == [{"a.b.c": 1}, {"a.b.c": 2}, {}]


def test_an_empty_or_missing_list_leaves_one_row() -> None:
    assert rows({"id": 1, "a": []}, fieldsToUnnest=["a"]) == [{"id": 1}]
    assert rows({"id": 1}, fieldsToUnnest=["a"]) == [{"id": 1}]
    assert rows({"id": 1, "a": "text"}, fieldsToUnnest=["a"]) == [{"id": 1, "a": "text"}]


@pytest.mark.parametrize(
    ("mode", "plain", "deep"),
    [("NONE", [1, 2], [{"x": 1}]), (None, [1, 2], '[{"x":1}]'), ("ALL", "[1,2]", '[{"x":1}]')],
)
def test_lists_that_are_not_unnested_become_json_by_mode(mode: str | None, plain: Any, deep: Any) -> None:
    keys = {"collectionNotUnnestedToJson": mode} if mode else {}
    assert rows({"p": [1, 2], "d": [{"x": 1}]}, **keys) == [{"p": plain, "d": deep}]


def test_prefixes_are_renamed_and_a_name_that_is_taken_is_refused() -> None:
    row = {"payload": {"id": 1, "user": {"id": 2}}, "kind": "x"}
    assert rows(row, prefixesToRename={"payload.": ""}) == [{"kind": "x", "id": 1, "user.id": 2}]
    with pytest.raises(ValueError, match=r"'payload\.id' cannot be renamed to 'id'"):
        rows({**row, "id": 7}, prefixesToRename={"payload.": ""})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fieldsToUnnest", "a"),
        ("collectionNotUnnestedToJson", "SOME"),
        ("prefixesToRename", ["a"]),
        ("delimiter", 5),
        ("unnest", True),
    ],
)
def test_a_wrong_key_is_named(key: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"complexTypeConfig\.{key}'"):
        complex_type(**{key: value})


SCHEMA = parse_schema(
    {
        "schemaName": "t",
        "dimensionFieldSpecs": [
            {"name": "id", "dataType": "INT"},
            {"name": "commits.sha", "dataType": "STRING"},
            {"name": "commits.by.name", "dataType": "STRING"},
            {"name": "labels", "dataType": "STRING", "singleValueField": False},
        ],
    }
)
EVENTS = [
    {"id": 1, "commits": [{"sha": "a", "by": {"name": "X"}}, {"sha": "b", "by": {"name": "Y"}}], "labels": ["p", "q"]},
    {"id": 2, "commits": [], "labels": []},
    {"id": 3, "commits": [{"sha": "c", "by": {"name": None}}], "labels": ["r"]},
]
FLAT = [
    {"id": 1, "commits.sha": "a", "commits.by.name": "X", "labels": ["p", "q"]},
    {"id": 1, "commits.sha": "b", "commits.by.name": "Y", "labels": ["p", "q"]},
    {"id": 2, "commits.sha": None, "commits.by.name": None, "labels": []},
    {"id": 3, "commits.sha": "c", "commits.by.name": None, "labels": ["r"]},
]


@pytest.mark.parametrize("data_format", ["json", "parquet", "orc"])
def test_nested_files_of_every_format_give_the_same_rows(tmp_path: Path, data_format: str) -> None:
    path = tmp_path / "f"
    table = pa.Table.from_pylist(EVENTS)
    match data_format:
        case "json":
            path.write_text("\n".join(map(json.dumps, EVENTS)))
        case "parquet":
            pq.write_table(table, path, row_group_size=2)
        case "orc":
            orc.write_table(table, path)
    notes = FileNotes()
    found = read_rows(
        Piece(ANYWHERE.stat(str(path))),
        ReaderSpec(data_format),
        SCHEMA,
        notes,
        complex_type=complex_type(fieldsToUnnest=["commits"]),
    )
    assert found.select(SCHEMA.by_name).to_pylist() == FLAT
    assert notes.origin.tolist() == [0, 0, 1, 2]


def test_csv_files_cannot_be_unnested(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("id\n1\n")
    file = Piece(ANYWHERE.stat(str(tmp_path / "f")))
    assert read_rows(file, ReaderSpec("csv"), SCHEMA, complex_type=complex_type()).to_pylist() == [{"id": 1}]
    with pytest.raises(InvalidInput, match="no nested values"):
        read_rows(file, ReaderSpec("csv"), SCHEMA, complex_type=complex_type(fieldsToUnnest=["a"]))


def test_a_row_of_a_file_that_would_become_endless_rows_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unnested, "_MOST_ROWS", 1_000)
    (tmp_path / "f").write_text(json.dumps({"id": 1, "a": list(range(40)), "b": list(range(40))}))
    file = Piece(ANYWHERE.stat(str(tmp_path / "f")))
    with pytest.raises(InvalidInput, match="row 1: unnesting it gives more than 1,000 rows"):
        read_rows(file, ReaderSpec("json"), SCHEMA, complex_type=complex_type(fieldsToUnnest=["a", "b"]))

"""What is suggested for a file is what its rows are built with: all of them, under the names that were given."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.datatypes.inference.columns import find_columns
from segments.domain.push.push_plan import InputFile, Piece
from segments.domain.push.push_spec import parse_spec
from segments.domain.tables.design.new_documents import new_config_body, new_schema_body
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.gateways.input_files.source import ANYWHERE
from segments.segmentfile.columns.transform import transform_table
from segments.spark.reading.rows import read_rows
from segments.spark.reading.sample.first_rows import read_first_rows
from segments.spark.reading.sample.formats import reader_configs

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (
            b"Flight Id;carrier;delay;day;tags\n1;AA;NA;01/02/2024;a|b\n2;UA;-7;13/02/2024;c|d\n",
            {
                "Flight_Id": [1, 2], "carrier": ["AA", "UA"], "delay": [-(2**31), -7],
                "day": ["01/02/2024", "13/02/2024"], "tags": [["a", "b"], ["c", "d"]],
            },
        ),
        (
            b"1,2024-03-01T00:00:00Z\n2,2024-03-02T00:00:00Z\n",
            {"column_1": [1, 2], "column_2": [1709251200000, 1709337600000]},
        ),
        (b'[{"a": 1.5, "b": {"c": 1}, "d": true}]', {"a": [1.5], "b": ['{"c":1}'], "d": [1]}),
    ],
)  # fmt: skip
def test_rows_are_built_as_suggested(tmp_path: Path, content: bytes, columns: dict[str, list[object]]) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    file: InputFile = ANYWHERE.stat(str(path))
    first = read_first_rows(file, ANYWHERE)
    found = find_columns(first.table, first.names, is_text=first.is_text, multi_value=first.reader.multi_value)
    job = {
        "jobType": "SegmentCreationAndMetadataPush", "inputDirURI": str(tmp_path), "tableSpec": {"tableName": "t"},
        "recordReaderSpec": reader_configs(first.reader),
    }  # fmt: skip
    reader = parse_spec(job).reader
    schema, config = parse_schema(new_schema_body("t", found)), parse_table_config(new_config_body("t", found))
    built, _ = transform_table(read_rows(Piece(file), reader, schema), schema, config, now_ms=NOW)
    assert {name: values for name, values in built.to_pydict().items() if name != "delay"} == {
        name: values for name, values in columns.items() if name != "delay"
    }
    assert "delay" not in columns or built.column("delay").to_pylist()[1] == -7

"""Reads an input file as an Arrow table of the schema's columns: CSV, JSON lines or Parquet, gzip by its
magic bytes.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.json as pajson
import pyarrow.parquet as pq

from segments.domain.push.push_report import MOST_OF_PART
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.tables.schema import FieldSpec, Schema
from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE, InputSource
from segments.spark.locate import csv_header, first_record, json_object, misfit, places_of, undecodable

_GZIP: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
#: Types that are parsed while reading; all others arrive as text and are converted when the segment is built.
_FAST: Final[dict[str, Any]] = {"INT": pa.int32(), "LONG": pa.int64(), "FLOAT": pa.float32(), "DOUBLE": pa.float64()}
_MAX_BLOCK: Final = 1 << 30
#: Bytes and lines at either end of a JSON file in which unknown keys are searched for.
_SAMPLE: Final = 1 << 16
_SAMPLED: Final = 100
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?$")


def read_bytes(path: str, source: InputSource = ANYWHERE) -> bytes:
    """The file's content, unpacked. InvalidInput when it can not be read."""
    try:
        with source.open(path) as file:
            data = file.read()
        data = gzip.decompress(data) if data.startswith(_GZIP) else data
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(
            f"Input file '{path}' can not be read: {error}.", remedy="Check that it is whole and readable."
        ) from error
    return data.removeprefix(_BOM)


@dataclass
class FileNotes:
    """What reading a file found: columns that the schema has not, and rows that are left out because they are none
    (``bad`` of them).

    ``listed`` are the first of those: (line, text, why).
    """

    ignored: list[str] = field(default_factory=list)
    bad: int = 0
    listed: list[tuple[int, str, str]] = field(default_factory=list)
    #: Columns of a CSV file, for a search of its lines.
    width: int = 0


def read_rows(
    path: str, reader: ReaderSpec, schema: Schema, notes: FileNotes | None = None, source: InputSource = ANYWHERE
) -> pa.Table:
    """All rows of a file, columns of the schema that it has. Raises InvalidInput naming file and, where known, line and
    column.

    With ``notes``, lines that hold no row are left out and noted; without, the first is refused. Values may still be
    text that does not fit: the conversion finds that, and ``segments.spark.locate`` the line.
    """
    if reader.format == "parquet":
        return _parquet(path, schema, notes, source)
    data = read_bytes(path, source)
    return (
        _csv(path, data, reader, schema, notes)
        if reader.format == "csv"
        else _mentioned(_json(path, data, schema, notes), data)
    )


def count_rows(path: str, reader: ReaderSpec, source: InputSource = ANYWHERE) -> int:
    """How many rows a file has. Raises InvalidInput naming the file."""
    try:
        if reader.format == "parquet":
            with source.open(path) as file:
                return int(pq.read_metadata(file).num_rows)
        data = read_bytes(path, source)
        if reader.format == "json":
            return sum(1 for line in data.splitlines() if line.strip())
        header = csv_header(path, data, reader)
        convert = pacsv.ConvertOptions(include_columns=[header[0]], column_types={header[0]: pa.string()})
        return int(_parse_csv(data, reader, convert, header, FileNotes()).num_rows)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(
            f"Input file '{path}' can not be read: {_brief(error)}.", remedy="Check its format."
        ) from error


def _csv(path: str, data: bytes, reader: ReaderSpec, schema: Schema, notes: FileNotes | None) -> pa.Table:
    header = csv_header(path, data, reader)
    wanted = [c for c in header if c in schema.by_name]
    if not wanted:
        raise InvalidInput(
            f"Input file '{path}' line 1: no column of its header ({', '.join(header[:8])}) is in schema "
            f"'{schema.name}'.",
            remedy="Check the delimiter and the header.",
        )
    if notes is not None:
        notes.ignored, notes.width = [c for c in header if c not in schema.by_name], len(header)
    sample = dict(zip(header, first_record(data, reader), strict=False))
    for types in (_FAST, {}):
        kinds = {c: _csv_type(schema.by_name[c], types, sample.get(c, "")) for c in wanted}
        options = _csv_convert(reader, wanted, kinds)
        try:
            rows = _parse_csv(data, reader, options, header, notes)
            _list_misfits(data, reader, notes)
            return _split_multi_values(_trimmed(rows, data, reader), reader, schema)
        except pa.ArrowInvalid as error:
            if "conversion error" in str(error) and types:
                continue  # read all as text: the conversion accepts more spellings, or names the row
            place = misfit(data, reader, len(header)) or undecodable(data) or ""
            raise InvalidInput(f"Input file '{path}'{place}: {_brief(error)}.", remedy="Correct the line.") from error
    raise AssertionError("text columns always convert")


def _csv_convert(reader: ReaderSpec, columns: list[str], kinds: dict[str, Any]) -> pacsv.ConvertOptions:
    nulls = [""] if reader.null_string is None else ["", reader.null_string]
    return pacsv.ConvertOptions(
        include_columns=columns,
        column_types=kinds,
        null_values=nulls,
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )


def _csv_type(field: FieldSpec, types: dict[str, Any], sample: str) -> Any:
    """The Arrow type to parse a column as; a TIMESTAMP's spelling is taken from its first value, ``sample``."""
    if not field.single_value:
        return pa.string()
    if field.data_type == "TIMESTAMP" and types and _ISO.match(sample):
        return pa.timestamp("ms", "UTC" if sample.endswith("Z") else None)
    return types.get(field.data_type, pa.string())


def _list_misfits(data: bytes, reader: ReaderSpec, notes: FileNotes | None) -> None:
    if notes is not None and notes.bad:
        for line, values in places_of(data, reader, (), notes.width, most=MOST_OF_PART).misfits:
            why = f"has {len(values)} column{'' if len(values) == 1 else 's'} instead of {notes.width}."
            notes.listed.append((line, reader.delimiter.join(values), why))


def _parse_csv(
    data: bytes, reader: ReaderSpec, convert: pacsv.ConvertOptions, header: list[str], notes: FileNotes | None = None
) -> pa.Table:
    if notes is not None:
        notes.bad = 0

    def leave_out(_: object) -> Literal["skip"]:
        assert notes is not None
        notes.bad += 1
        return "skip"

    skip = 0 if reader.header is not None and not reader.skip_header else 1
    return pacsv.read_csv(
        io.BytesIO(data),
        pacsv.ReadOptions(
            use_threads=False, block_size=min(max(len(data), 1 << 16), _MAX_BLOCK), column_names=header, skip_rows=skip
        ),
        pacsv.ParseOptions(
            delimiter=reader.delimiter,
            quote_char=reader.quote or False,
            escape_char=reader.escape or False,
            newlines_in_values=bool(reader.quote) and str(reader.quote).encode() in data,
            ignore_empty_lines=reader.skip_empty_lines,
            invalid_row_handler=leave_out if notes is not None else None,
        ),
        convert,
    )


def _trimmed(table: pa.Table, data: bytes, reader: ReaderSpec) -> pa.Table:
    """Spaces around values removed, if any delimiter or line end has a space next to it."""
    mark = reader.delimiter.encode()
    spaced = (mark + b" ", b" " + mark, b"\n ", b" \n", b" \r")
    if not reader.trim or b" " not in data or not any(b in data for b in spaced):
        return table
    for at, column in enumerate(table.schema):
        if pa.types.is_string(column.type):
            text = pc.utf8_trim_whitespace(table.column(at))
            missing = pc.is_in(text, pa.array([v for v in ("", reader.null_string) if v is not None]))
            table = table.set_column(at, column.name, pc.if_else(missing, pa.scalar(None, pa.string()), text))
    return table


def _split_multi_values(table: pa.Table, reader: ReaderSpec, schema: Schema) -> pa.Table:
    for at, name in enumerate(table.column_names):
        if not schema.by_name[name].single_value and reader.multi_value is not None:
            table = table.set_column(at, name, pc.split_pattern(table.column(at), reader.multi_value))
    return table


def _json(path: str, data: bytes, schema: Schema, notes: FileNotes | None) -> pa.Table:
    if notes is not None:
        notes.ignored = _unknown_keys(data, schema)
    fields = [(f.name, _FAST.get(f.data_type, pa.string())) for f in schema.fields if f.single_value]
    if len(fields) == len(schema.fields) and data.strip():
        options = pajson.ParseOptions(
            explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore", newlines_in_values=False
        )
        block = pajson.ReadOptions(use_threads=False, block_size=min(max(len(data), 1 << 16), _MAX_BLOCK))
        try:
            return pajson.read_json(io.BytesIO(data), block, options)
        except pa.ArrowInvalid:
            pass  # a value is not of its column's type, or the text is no JSON: check each line
    return _json_slowly(path, data, schema, notes)


def _unknown_keys(data: bytes, schema: Schema) -> list[str]:
    """Keys that the schema has not, as far as the first and last lines show; reading each would take longer than
    reading them.
    """
    lines = [*data[:_SAMPLE].splitlines()[:_SAMPLED], *data[-_SAMPLE:].splitlines()[-_SAMPLED:]]
    return list(dict.fromkeys(k for line in lines for k in json_object(line) or () if k not in schema.by_name))


def _mentioned(table: pa.Table, data: bytes) -> pa.Table:
    """Without the columns whose names occur nowhere in the text: those the file has not, the others are null in every
    row.
    """
    absent = [
        f
        for f in table.column_names
        if table.column(f).null_count == table.num_rows and json.dumps(f).encode() not in data
    ]
    return table.drop_columns(absent)


def _json_slowly(path: str, data: bytes, schema: Schema, notes: FileNotes | None) -> pa.Table:
    columns: dict[str, list[Any]] = {f.name: [] for f in schema.fields}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        row, fault = _json_row(line)
        if fault and notes is None:
            raise InvalidInput(f"Input file '{path}' line {number}: {fault}.", remedy="Write one object per line.")
        if fault and notes is not None:
            notes.bad += 1
            notes.listed += (
                [(number, line.decode(errors="replace"), f"{fault}.")] if len(notes.listed) < MOST_OF_PART else []
            )
            continue
        for name, values in columns.items():
            values.append(row.get(name))
    return pa.table({name: _array(values, schema.by_name[name]) for name, values in columns.items()})


def _json_row(line: bytes) -> tuple[dict[str, Any], str]:
    """(the object of a line, "") or ({}, what is wrong with it)."""
    try:
        row = json.loads(line)
    except ValueError as error:
        return {}, f"no valid JSON: {error}"
    return (row, "") if isinstance(row, dict) else ({}, "no JSON object")


def _array(values: list[Any], field: FieldSpec) -> Any:
    """Values of any JSON kind as one Arrow array; of mixed kinds, as text."""
    if field.data_type == "JSON":
        return pa.array([v if v is None or isinstance(v, str) else json.dumps(v) for v in values], pa.string())
    if field.single_value:
        try:
            return pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return pa.array([_text(v) for v in values], pa.string())
    lists = [v if v is None or isinstance(v, list) else [v] for v in values]
    try:
        return pa.array(lists)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if v is None else [_text(i) for i in v] for v in lists], pa.list_(pa.string()))


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _parquet(path: str, schema: Schema, notes: FileNotes | None, source: InputSource) -> pa.Table:
    try:
        with source.open(path) as opened:
            file = pq.ParquetFile(opened)
            columns = [c for c in file.schema_arrow.names if c in schema.by_name]
            if not columns:
                raise InvalidInput(
                    f"Input file '{path}' has no column of schema '{schema.name}'.", remedy="Check the columns' names."
                )
            if notes is not None:
                notes.ignored = [c for c in file.schema_arrow.names if c not in schema.by_name]
            return file.read(columns=columns, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(
            f"Input file '{path}' can not be read: {_brief(error)}.", remedy="Check that it is a Parquet file."
        ) from error


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:300].rstrip(".")

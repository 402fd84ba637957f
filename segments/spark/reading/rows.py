"""The one way to the rows of an input file, whatever its format: a piece's rows as an Arrow table, and their number."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from segments.domain.push.push_plan import Piece
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.tables.schema import Schema
from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE, InputSource
from segments.segmentfile.columns.complex_type import ComplexType
from segments.spark.reading.avro_rows import AvroFile
from segments.spark.reading.columnar import Columnar
from segments.spark.reading.csv_rows import count_csv, csv_rows
from segments.spark.reading.csv_text import csv_text
from segments.spark.reading.json_rows import count_json, json_lines_of, json_rows
from segments.spark.reading.locate import places_of
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.text import Text, brief


def read_rows(
    piece: Piece,
    reader: ReaderSpec,
    schema: Schema,
    notes: FileNotes | None = None,
    source: InputSource = ANYWHERE,
    complex_type: ComplexType | None = None,
) -> pa.Table:
    """All rows of a piece, columns of the schema that its file has. Raises InvalidInput naming the file and, where
    known, line and column.

    With ``notes``, lines that hold no row are left out and noted; without, the first is refused. Values may still be
    text that does not fit: the conversion finds that, and ``lines_of`` the line.
    """
    path = piece.file.path
    if reader.format in ("parquet", "orc"):
        return Columnar(path, reader.format, source, reader.raw_times).rows(piece, schema, notes, complex_type)
    if reader.format == "avro":
        return AvroFile(path, source, reader.raw_times).rows(piece, schema, notes, complex_type)
    text = Text(path, reader.encoding, source)
    if reader.format == "json":
        return json_rows(text, piece, schema, notes, complex_type)
    if complex_type is not None and complex_type.concerns_flat_rows:
        raise InvalidInput(
            "CSV files have no nested values: 'ingestionConfig.complexTypeConfig' cannot be applied to them.",
            remedy="Leave fieldsToUnnest and prefixesToRename out.",
        )
    return csv_rows(text, piece, reader, schema, notes)


def count_rows(path: str, reader: ReaderSpec, source: InputSource = ANYWHERE) -> int:
    """How many rows a file has; memory does not grow with it. Raises InvalidInput naming the file."""
    if reader.format in ("parquet", "orc"):
        return Columnar(path, reader.format, source).count()
    if reader.format == "avro":
        return AvroFile(path, source).count()
    text = Text(path, reader.encoding, source)
    if reader.format == "json":
        return count_json(text)
    try:
        return count_csv(text, Piece(source.stat(path)), reader)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(
            f"Input file '{path}' cannot be read: {brief(error)}.", remedy="Check its format."
        ) from error


def lines_of(
    piece: Piece, reader: ReaderSpec, rows: Collection[int], width: int, source: InputSource = ANYWHERE
) -> dict[int, int]:
    """{row of the piece, from 0: its line} in a text file; {} for other formats. One slow walk. ``width``: columns of
    a CSV file.
    """
    text = Text(piece.file.path, reader.encoding, source)
    if reader.format == "json":
        return json_lines_of(text, piece, rows)
    if reader.format != "csv":
        return {}
    text = csv_text(text, reader)
    first = 0 if piece.unit == "bytes" else piece.start
    has_header = piece.start == 0 or piece.unit != "bytes"
    with text.lines(piece) as lines:
        found = places_of(lines, reader, {row + first for row in rows}, width, has_header=has_header)
    before = text.lines_before(piece)
    return {row - first: line + before for row, line in found.items()}

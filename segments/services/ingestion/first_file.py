"""Reads the first rows of a file before a task is saved: a wrong format, separator or name of a column is found then,
not by a run that fails all files.
"""

from __future__ import annotations

from typing import Final

from segments.domain.ingestion.task_config import IngestionTask
from segments.domain.push.push_plan import InputFile
from segments.domain.tables import schema as schemas
from segments.domain.tables.table_config import TableConfig
from segments.errors import PinotAdminError
from segments.gateways.input_files.source import input_source
from segments.segmentfile.columns.complex_type import read_complex_type
from segments.segmentfile.columns.ingest import read_ingestion, reading_schema
from segments.services.core.context import Context
from segments.services.ingestion.situation import input_access
from segments.spark.reading.sample.first_rows import read_first_rows
from segments.store import paths

#: Names that a sentence holds.
_MOST: Final = 8


def what_does_not_fit(ctx: Context, config: TableConfig, task: IngestionTask, file: InputFile) -> str:
    """A sentence about the first rows of a file that the table's schema has no place for, or that cannot be read; ""
    when they fit, as far as their columns show, and where there is no schema or nested fields become columns.
    """
    node = ctx.store.get(paths.schema(config.table.raw))
    if node is None or node.record is None or read_complex_type(config) is not None:
        return ""
    schema = schemas.from_record(node.record)
    ingestion = read_ingestion(schema, config)
    try:
        rows = read_first_rows(file, input_source(input_access(ctx, config.table, task)), task.reader)
    except PinotAdminError as error:
        return f"{error.message} {error.remedy}"
    there = {*rows.table.column_names, *ingestion.made_columns}
    missing = [
        f.name
        for f in reading_schema(schema, ingestion).fields
        if f.name not in there and f.raw.get("defaultNullValue") is None
    ]
    if not missing or not rows.table.num_rows:
        return ""
    return (
        f"The first rows of '{file.path}' have no column {_named(missing)} of the schema. Their columns are "
        f"{_named(rows.table.column_names)}."
        + (" Is the separator another one?" if task.reader.format == "csv" and rows.table.num_columns == 1 else "")
    )


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(map(repr, names[:_MOST])) + more

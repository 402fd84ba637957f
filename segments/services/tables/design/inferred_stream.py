"""What the first messages of a stream would be as a table: columns, schema and config. Reads some messages, leaves no
trace in the stream, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from segments.dataplane.realtime.decoded import CONTENT_ERRORS
from segments.datatypes.inference.columns import find_columns
from segments.domain.formats.plural import counted
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.realtime.streams.stream_config import StreamConfig, parse_stream_config
from segments.domain.tables.design.given_names import table_name_of
from segments.domain.tables.design.new_documents import new_schema_body
from segments.domain.tables.design.stream_documents import new_stream_config_body
from segments.errors import InvalidInput
from segments.gateways.streams import Stream
from segments.gateways.streams.base import UnknownTopic
from segments.names import check_raw_table_name
from segments.services.core.context import Context
from segments.services.realtime.messages.decoding import message_reader
from segments.services.realtime.messages.reading import Bounds, read_messages
from segments.services.tables.design.inferred_table import InferredTable
from segments.services.tables.table_secrets import secrets_masked_in_errors
from segments.spark.reading.sample.first_rows import FirstRows
from segments.spark.reading.sample.objects import objects_table

#: Messages, bytes and seconds of a sample, and partitions that are read from.
_MOST: Final = 1_000
_BYTES: Final = 4 << 20
_SECONDS: Final = 6.0
_PARTITIONS: Final = 8
#: As long a server may take to answer at all.
_PATIENCE_MS: Final = 10_000
_DELIMITER: Final = ";"


@dataclass(frozen=True)
class StreamWish:
    """``stream``: the map of ``streamConfigMaps``. ``columns``: those that an earlier sample found, by which this one
    is shown too; empty: found out.
    """

    stream: Mapping[str, Any]
    table: str = ""
    columns: Sequence[str] = ()


@dataclass(frozen=True)
class _Sample:
    values: list[bytes]
    partitions: int
    is_whole: bool


def infer_stream_table(ctx: Context, wish: StreamWish) -> InferredTable:
    """Read the first messages, and say what the table could be.

    Raises InvalidInput naming the key that is wrong, for a topic that is not there or has no messages, and for an
    address that may not be read from; Unavailable when the stream does not answer.
    """
    if not ctx.engine.offers.reads_streams:
        raise InvalidInput(
            "Streams of this cluster are read by its own servers only, not from here.",
            remedy="Create the schema with POST /schemas and the table with POST /tables.",
        )
    with secrets_masked_in_errors(dict(wish.stream)):
        return _infer(ctx, wish)


def _infer(ctx: Context, wish: StreamWish) -> InferredTable:
    config = parse_stream_config(wish.stream)
    ctx.check_stream(config)
    name = check_raw_table_name(wish.table or table_name_of(config.topic) or "new_table")
    try:
        with closing(ctx.streams(_brief(config))) as stream:
            sample = _first_messages(ctx, stream)
    except UnknownTopic as error:
        raise InvalidInput(error.message, remedy=error.remedy) from error
    if not sample.values:
        raise InvalidInput(
            f"Topic '{config.topic}' has no message yet, so its columns are not known.",
            remedy="Send a message and try again, or create the table with POST /schemas and POST /tables.",
        )
    rows, bad = _rows(sample.values, message_reader(ctx, config))
    table = _table(rows, config, wish.columns)
    is_text = config.decoder.kind == "csv"
    names = {n: n for n in table.column_names}
    first = FirstRows(table, ReaderSpec("json"), names, is_text=is_text, is_whole=sample.is_whole, bad=bad)
    columns = find_columns(table, names, is_text=is_text, multi_value=_DELIMITER if is_text else None)
    return InferredTable(
        name, config.topic, 0, 0, first, columns, new_schema_body(name, columns),
        new_stream_config_body(name, columns, config.raw), {}, _notes(first, sample.partitions), config.raw,
    )  # fmt: skip


def _brief(config: StreamConfig) -> StreamConfig:
    """Somebody waits for the answer, who may have mistyped the address."""
    return replace(config, connection_timeout_ms=min(config.connection_timeout_ms, _PATIENCE_MS))


def _first_messages(ctx: Context, stream: Stream) -> _Sample:
    partitions = stream.partitions()
    values: list[bytes] = []
    is_whole = len(partitions) <= _PARTITIONS
    shared = max(1, min(len(partitions), _PARTITIONS))
    bounds = Bounds(_MOST // shared, _BYTES // shared, _SECONDS / shared)
    for partition in partitions[:_PARTITIONS]:
        start, end = stream.earliest(partition), stream.latest(partition)
        read = list(read_messages(ctx, stream, partition, start, end, bounds))
        values += [message.value for message, _ in read]
        is_whole = is_whole and (read[-1][1] if read else start) >= end
    return _Sample(values, len(partitions), is_whole)


def _rows(values: Sequence[bytes], read: Callable[[bytes], Any]) -> tuple[list[Mapping[str, Any]], int]:
    rows: list[Mapping[str, Any]] = []
    for value in values:
        try:
            row = read(value)
        except CONTENT_ERRORS:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows, len(values) - len(rows)


def _table(rows: Sequence[Mapping[str, Any]], config: StreamConfig, columns: Sequence[str]) -> pa.Table:
    if not rows:
        raise InvalidInput(
            f"None of the first messages of topic '{config.topic}' is a row in the format {config.decoder.kind}.",
            remedy="Choose the format that the messages have.",
        )
    if columns:  # a page goes on with the columns that it shows, whatever came since
        rows = [{name: row.get(name) for name in columns} for row in rows]
    return objects_table(rows, f"Topic '{config.topic}'")


def _notes(first: FirstRows, partitions: int) -> list[str]:
    of = f" of {counted(partitions, 'partition')}" if partitions > 1 else ""
    notes = [f"Types and counts are those of the first {counted(first.table.num_rows, 'message')}{of}."]
    if first.bad:
        notes.append(
            f"{counted(first.bad, 'message')} of the sample cannot be read as rows: such messages are set aside, and "
            "the table goes on."
        )
    return notes

"""Turns message bytes into stored columns: parsed, nested values unnested, the table's transforms and filter applied,
converted, bad messages set aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.dataplane.realtime.avro_messages import AvroMessages, FramedAvroMessages
from segments.dataplane.realtime.csv_messages import CsvMessages
from segments.dataplane.realtime.decoded import CONTENT_ERRORS, BadMessage, Decoded, MessageReader, bad_message
from segments.dataplane.realtime.json_messages import JsonMessages
from segments.dataplane.realtime.ready_columns import ready_column
from segments.datatypes.compute import pc
from segments.datatypes.convert import RefusedRows
from segments.datatypes.timecolumn import to_millis
from segments.domain.access.outgoing import Kind, Rules
from segments.domain.realtime.streams.stream_config import DecoderConfig, StreamConfig
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.gateways.streams.schema_registry import SchemaRegistry
from segments.segmentfile.columns.complex_type import ComplexType, complex_type_of_messages
from segments.segmentfile.columns.ingest import apply_ingestion, read_ingestion, reading_schema
from segments.segmentfile.columns.transform import Mask, Prepared, stored_fields

__all__ = ["BadMessage", "Decoded", "Decoder", "open_decoder"]
#: So many different texts of a time column are remembered as readable.
_MOST_TIMES: Final = 100_000
_REFUSALS: Final = (InvalidInput, *CONTENT_ERRORS)
_Part = tuple[pa.Table, dict[str, Mask]]
#: Which message, what is wrong with it, and the column at fault, if one is known.
_Misfit = tuple[int, object, str]


class Decoder:
    """Decodes the batches of one stream for one table. It remembers what it learned about the messages: use one per
    consumer.

    Not for use by several threads at once.
    """

    def __init__(self, reader: MessageReader, schema: Schema, config: TableConfig) -> None:
        self._reader, self._schema, self._config = reader, schema, config
        self._plan = read_ingestion(schema, config)
        self._fields = stored_fields(schema)
        time = schema.by_name.get(config.time_column or "")
        parsed = time.datetime_format if time is not None else None
        self._text_time = (
            (time, parsed) if time is not None and parsed is not None and parsed.kind == "SIMPLE_DATE_FORMAT" else None
        )
        is_number = time is not None and time.stored_type in ("INT", "LONG")
        self._counted_time = "" if time is None or self._text_time is not None or is_number else time.name
        self._checked_time = (config.time_column if self._plan.row_time_check else None) or ""
        self._good_times: set[Any] = set()

    def decode(self, values: Sequence[bytes], *, now_ms: int) -> Decoded:
        """Rows in the order of the messages; never raises for a message's content. ``now_ms`` stands for null times.
        Of a message that gives several rows all are stored, or none; where the messages would give too many together,
        the first ones are ``taken``, at least one, and the others are for another call.

        Raises Unavailable when something outside is needed and does not answer (a schema registry).
        """
        raw = self._reader.read(values)
        rows, places = raw.table, np.arange(raw.table.num_rows) if raw.positions is None else raw.positions
        parts, misfits = self._stored(rows, places, now_ms)
        refused = {place: bad_message(place, error, column) for place, error, column in reversed(misfits)}
        stays = ~np.isin(places, list(refused)) if refused else np.ones(rows.num_rows, bool)
        if np.count_nonzero(~stays) > len(misfits):  # some have rows that fit
            parts, _ = self._stored(rows.filter(pa.array(stays)).combine_chunks(), places[stays], now_ms)
        bad = sorted([*raw.bad, *refused.values()], key=lambda b: b.position)
        table, masks = parts[0] if len(parts) == 1 else _joined(parts)
        taken = len(values) if raw.taken is None else raw.taken
        return Decoded(table, masks, taken, len(bad), tuple(bad), int(np.count_nonzero(stays)) - table.num_rows)

    def _stored(self, rows: pa.Table, places: NDArray[np.int64], now_ms: int) -> tuple[list[_Part], list[_Misfit]]:
        """The rows in stored columns, and those that cannot be. ``places``: which message each row is.

        What one column or transform refuses is taken out together, so that a flood of bad messages costs no conversion
        for each.
        """
        misfits: list[_Misfit] = []
        for _ in range(len(self._fields) + len(self._plan.transforms) + 1):
            try:
                return [self._convert(rows, now_ms)], misfits
            except _REFUSALS as error:
                column = str(error.data.get("column", "")) if isinstance(error, InvalidInput) else ""
                found = error.__cause__.rows if isinstance(error.__cause__, RefusedRows) else ()
            if not found:
                break
            misfits += [(int(places[row]), reason, column) for row, reason in found]
            stays = np.ones(rows.num_rows, bool)
            stays[[row for row, _ in found]] = False
            # One chunk for each column, as a reader gives them: columns that need no conversion are recognised by that.
            rows, places = rows.filter(pa.array(stays)).combine_chunks(), places[stays]
        parts: list[_Part] = []
        self._halved(rows, places, now_ms, parts, misfits)
        return parts or [self._convert(rows.slice(0, 0), now_ms)], misfits

    def _halved(
        self, rows: pa.Table, places: NDArray[np.int64], now_ms: int, parts: list[_Part], misfits: list[_Misfit]
    ) -> None:
        """Halve what does not convert until the bad row is alone; rows whose types do not agree become parts of their
        own.
        """
        try:
            parts.append(self._convert(rows, now_ms))
        except _REFUSALS as error:
            if rows.num_rows <= 1:
                misfits.append((int(places[0]), error, ""))
                return
            middle = rows.num_rows // 2
            self._halved(rows.slice(0, middle), places[:middle], now_ms, parts, misfits)
            self._halved(rows.slice(middle), places[middle:], now_ms, parts, misfits)

    def _prepared(self, raw: pa.Table, now_ms: int) -> Prepared:
        return Prepared(*apply_ingestion(raw, self._plan, self._schema), self._plan, self._schema, self._config, now_ms)

    def _convert(self, raw: pa.Table, now_ms: int) -> _Part:
        prepared = self._prepared(raw, now_ms)
        rows = prepared.table
        columns: dict[str, Any] = {}
        masks: dict[str, Mask] = {}
        given = dict(zip(rows.column_names, rows.columns, strict=True))
        given.pop(self._checked_time, None)
        for field in self._fields:
            name = field.name
            ready = ready_column(given[name], field) if name in given else None
            if ready is not None:
                columns[name] = ready
                continue
            columns[name], mask = prepared.column(name)
            if mask.any():
                masks[name] = mask
        self._check_times(columns)
        return pa.table(columns), masks

    def _check_times(self, columns: dict[str, Any]) -> None:
        """A text or fraction that is not a time would stop the build of the whole segment; raises ValueError."""
        if self._counted_time:
            columns[self._counted_time].cast(pa.int64())
        if self._text_time is None:
            return
        field, parsed = self._text_time
        for value in pc.unique(columns[field.name]).to_pylist():
            if value not in self._good_times:
                to_millis(value, parsed)
                if len(self._good_times) >= _MOST_TIMES:
                    self._good_times.clear()
                self._good_times.add(value)


def open_decoder(stream: StreamConfig, schema: Schema, config: TableConfig, registries: Rules | None = None) -> Decoder:
    """The decoder of a stream for a table; ``registries`` says which schema registries it may ask, without it none.

    Raises InvalidInput for settings that cannot work or are not allowed.
    """
    reading = reading_schema(schema, read_ingestion(schema, config))
    nested = complex_type_of_messages(config, stream.decoder.kind)
    return Decoder(_reader(stream.decoder, reading, registries or Rules(Kind.REGISTRY), nested), schema, config)


def _reader(
    decoder: DecoderConfig, schema: Schema, registries: Rules, complex_type: ComplexType | None
) -> MessageReader:
    match decoder.kind:
        case "json":
            return JsonMessages(schema, complex_type)
        case "csv":
            return CsvMessages(schema, decoder.properties)
        case "avro":
            return AvroMessages(schema, decoder.properties, complex_type)
    return FramedAvroMessages(schema, SchemaRegistry(decoder.properties, registries).schema_text, complex_type)


def _joined(parts: Sequence[_Part]) -> _Part:
    table = pa.concat_tables([t for t, _ in parts]).combine_chunks()
    names = sorted({name for _, masks in parts for name in masks})
    return table, {n: np.concatenate([_mask(t, m, n) for t, m in parts]) for n in names}


def _mask(table: pa.Table, masks: dict[str, Mask], name: str) -> NDArray[np.bool_]:
    return masks[name] if name in masks else np.zeros(table.num_rows, bool)

"""Avro messages: of one schema given in the table config, or framed with the id of a schema in Confluent's registry."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import fastavro

from segments.dataplane.realtime.decoded import CONTENT_ERRORS, RawRows
from segments.dataplane.realtime.raw_columns import parsed_rows
from segments.datatypes.avro_schema import check_bounded, numbers_as_stored
from segments.domain.tables.schema import Schema
from segments.errors import InvalidInput
from segments.segmentfile.columns.complex_type import ComplexType

_MAGIC: Final = 0
_FRAME: Final = 5
#: Seconds for which an unknown id stays unknown, and how many of them are remembered.
_UNKNOWN_S: Final = 10.0
_MOST_UNKNOWN: Final = 1_000


class AvroMessages:
    """Reader of bare Avro records, all of one writer's schema (property ``schema``). Raises InvalidInput when that is
    no Avro schema.
    """

    def __init__(self, schema: Schema, properties: Mapping[str, str], complex_type: ComplexType | None = None) -> None:
        self._schema, self._complex_type = schema, complex_type
        try:
            self._writer = parse_avro_schema(properties["schema"])
        except (*CONTENT_ERRORS, fastavro.schema.SchemaParseException) as error:
            raise InvalidInput(
                f"The decoder's 'schema' is not an Avro schema that can be read: {error}.",
                remedy="Give the schema's JSON.",
            ) from error

    def read(self, values: Sequence[bytes]) -> RawRows:
        """See :class:`segments.dataplane.realtime.decoded.MessageReader`."""
        return parsed_rows(values, self.row, self._schema, self._complex_type)

    def row(self, value: bytes) -> Any:
        """One message as it was written. Raises one of ``CONTENT_ERRORS``."""
        return _record(value, self._writer)


class FramedAvroMessages:
    """Reader of records framed with a zero byte and the 4-byte id of their schema. ``schema_text(id)`` asks the
    registry.

    It raises InvalidInput for an id that the registry does not know (the message is bad), Unavailable when it does not
    answer.
    """

    def __init__(
        self, schema: Schema, schema_text: Callable[[int], str], complex_type: ComplexType | None = None
    ) -> None:
        self._schema, self._complex_type = schema, complex_type
        self._schema_text = schema_text
        self._known: dict[int, Any] = {}
        self._unknown: dict[int, tuple[float, str]] = {}

    def read(self, values: Sequence[bytes]) -> RawRows:
        """See :class:`segments.dataplane.realtime.decoded.MessageReader`."""
        return parsed_rows(values, self.row, self._schema, self._complex_type)

    def row(self, value: bytes) -> Any:
        """One message as it was written. Raises one of ``CONTENT_ERRORS``, and Unavailable."""
        if len(value) < _FRAME or value[0] != _MAGIC:
            raise ValueError("The message does not begin with a zero byte and a schema id.")
        number = int.from_bytes(value[1:_FRAME], "big")
        if number not in self._known:
            self._known[number] = self._asked(number)
        return _record(value[_FRAME:], self._known[number])

    def _asked(self, number: int) -> Any:
        """The schema of an id; one that does not exist is not requested again with every message."""
        until, why = self._unknown.get(number, (0.0, ""))
        if time.monotonic() < until:
            raise ValueError(why)
        try:
            return parse_avro_schema(self._schema_text(number))
        except (InvalidInput, fastavro.schema.SchemaParseException, *CONTENT_ERRORS) as error:
            if len(self._unknown) >= _MOST_UNKNOWN:
                self._unknown.clear()
            self._unknown[number] = time.monotonic() + _UNKNOWN_S, f"Schema {number}: {error}"
            raise ValueError(f"Schema {number}: {error}") from error


def parse_avro_schema(text: str) -> Any:
    """A writer's schema in which times and dates stay the numbers they are stored as; decimals are decoded."""
    schema = json.loads(text)
    check_bounded(schema)
    return fastavro.parse_schema(numbers_as_stored(schema, ("decimal",)))


def _record(value: bytes, writer: Any) -> Any:
    stream = io.BytesIO(value)
    row = fastavro.schemaless_reader(stream, writer, None)
    if stream.tell() != len(value):
        raise ValueError(f"{len(value) - stream.tell()} bytes are left after the record.")
    return row

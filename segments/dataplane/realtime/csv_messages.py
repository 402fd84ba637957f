"""CSV messages: one record each, columns named by the decoder's ``header`` property, as Pinot's CSVMessageDecoder takes
them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from segments.dataplane.realtime.decoded import RawRows
from segments.dataplane.realtime.raw_columns import parsed_rows
from segments.domain.tables.schema import Schema
from segments.errors import InvalidInput

#: ``fileFormat`` -> delimiter, quote, escape, text that is null.
_FORMATS: Final[dict[str, tuple[str, str | None, str | None, str | None]]] = {
    "DEFAULT": (",", '"', None, None), "EXCEL": (",", '"', None, None), "RFC4180": (",", '"', None, None),
    "TDF": ("\t", '"', None, None), "MYSQL": ("\t", None, "\\", "\\N"),
}  # fmt: skip
_MULTI_VALUE: Final = ";"


class CsvMessages:
    """Reader of one CSV record per message; a field that is empty or missing is null. Raises InvalidInput for the
    properties.
    """

    def __init__(self, schema: Schema, properties: Mapping[str, str]) -> None:
        delimiter, quote, escape, null = _FORMATS.get(
            properties.get("fileFormat", "DEFAULT").upper(), _FORMATS["DEFAULT"]
        )
        self._delimiter = _one(properties, "delimiter") or delimiter
        self._quote, self._escape = quote, _one(properties, "escapeCharacter") or escape
        self._null = properties.get("nullStringValue", null)
        self._comment = _one(properties, "commentMarker")
        self._multi = _one(properties, "multiValueDelimiter") or _MULTI_VALUE
        self._header = [h.strip() for h in properties.get("header", "").split(self._delimiter)]
        self._schema = schema
        self._lists = {f.name for f in schema.fields if not f.single_value}
        if not set(self._header) & schema.by_name.keys():
            raise InvalidInput(
                f"No column of the CSV header {self._header} is in schema '{schema.name}'.",
                remedy="Check header and delimiter.",
            )

    def read(self, values: Sequence[bytes]) -> RawRows:
        """See :class:`segments.dataplane.realtime.decoded.MessageReader`."""
        return parsed_rows(values, self.row, self._schema)

    def row(self, value: bytes) -> dict[str, Any]:
        """One message by the names of the header. ValueError when it is no such record."""
        text = value.decode()
        if self._comment and text.startswith(self._comment):
            raise ValueError("The message is a comment.")
        lines = io.StringIO(text, newline="")
        quoting: Any = csv.QUOTE_MINIMAL if self._quote else csv.QUOTE_NONE
        reader = csv.reader(
            lines,
            delimiter=self._delimiter,
            quotechar=self._quote,
            escapechar=self._escape,
            quoting=quoting,
            strict=True,
        )
        try:
            record = next(reader)
        except (csv.Error, StopIteration) as error:
            raise ValueError(f"no CSV record: {error}") from error
        if len(record) > len(self._header):
            raise ValueError(f"The record has {len(record)} fields, the header {len(self._header)}.")
        return {name: self._value(name, field) for name, field in zip(self._header, record, strict=False)}

    def _value(self, name: str, field: str) -> Any:
        if not field or field == self._null:
            return None
        return [item for item in field.split(self._multi) if item] or None if name in self._lists else field


def _one(properties: Mapping[str, str], key: str) -> str | None:
    given = properties.get(key)
    if given is None:
        return None
    text = {"\\t": "\t"}.get(given, given)
    if len(text) != 1:
        raise InvalidInput(f"The decoder's '{key}' must be one character, not {given!r}.")
    return text

"""``ingestionConfig.complexTypeConfig``: nested objects become columns, lists of the named fields become rows.

Works on rows as dictionaries, for files and messages alike, before transforms and filter do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from segments.datatypes.value_texts import leaf_text
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.names import shown

_WHERE: Final = "ingestionConfig.complexTypeConfig"
#: Bytes that a value takes in a row, next to those of its text.
_EACH: Final = 40
_KEYS: Final = ("fieldsToUnnest", "delimiter", "collectionNotUnnestedToJson", "prefixesToRename")


class ToJson(StrEnum):
    """Which lists that are not unnested become JSON text: none, those of objects and lists, all."""

    NONE = "NONE"
    NON_PRIMITIVE = "NON_PRIMITIVE"
    ALL = "ALL"


@dataclass(frozen=True)
class ComplexType:
    """``unnest``: fields whose lists become rows, parents first. ``prefixes``: {beginning of a name: what stands there
    instead}.
    """

    unnest: tuple[str, ...] = ()
    delimiter: str = "."
    to_json: ToJson = ToJson.NON_PRIMITIVE
    prefixes: tuple[tuple[str, str], ...] = ()

    @property
    def concerns_flat_rows(self) -> bool:
        """Does it change rows without nested values?"""
        return bool(self.unnest or self.prefixes)

    def rows(self, row: Mapping[str, Any], most: int, most_bytes: int) -> tuple[list[dict[str, Any]], int]:
        """(what one row of the input becomes, bytes of that if these are several rows: each repeats what stands next to
        the lists).

        Raises ValueError for more than ``most`` rows, or ``most_bytes`` in them, before they are made; and when a
        renamed field meets another one.
        """
        found, size = [self._flat(dict(row), "")], 0
        for name in self.unnest:
            found, size = self._unnested(found, name, most, most_bytes)
        return [self._renamed(one) for one in found], size if len(found) > 1 else 0

    def _flat(self, row: dict[str, Any], path: str) -> dict[str, Any]:
        """The row without objects; ``path`` is the list's name within which it stands."""
        out: dict[str, Any] = {}
        for key, value in row.items():
            self._put(out, key, value, path)
        return out

    def _put(self, out: dict[str, Any], key: str, value: Any, path: str) -> None:
        if isinstance(value, dict):
            for inner, nested in value.items():
                self._put(out, f"{key}{self.delimiter}{inner}", nested, path)
        elif isinstance(value, list):
            out[key] = self._list(value, f"{path}{self.delimiter}{key}" if path else key)
        else:
            out[key] = value

    def _list(self, value: list[Any], name: str) -> Any:
        if name in self.unnest:
            return [self._flat(item, name) if isinstance(item, dict) else item for item in value]
        is_deep = bool(value) and isinstance(value[0], dict | list)
        if self.to_json is ToJson.ALL or (self.to_json is ToJson.NON_PRIMITIVE and is_deep):
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=leaf_text)
        return value

    def _unnested(
        self, rows: Sequence[dict[str, Any]], name: str, most: int, most_bytes: int
    ) -> tuple[list[dict[str, Any]], int]:
        """The rows with a row for each item of the list ``name``, and their bytes."""
        found: list[dict[str, Any]] = []
        size = 0
        for row in rows:
            items = row.get(name)
            rest = {k: v for k, v in row.items() if k != name} if isinstance(items, list) else row
            others = _size(rest)
            for more in self._items(items, name):
                size += others + _size(more)
                if len(found) >= most:
                    raise ValueError(f"unnesting it gives more than {most:,} rows")
                if found and size > most_bytes:
                    raise ValueError(f"unnesting it gives rows of more than {most_bytes:,} bytes")
                found.append({**rest, **more})
        return found, size

    def _items(self, items: Any, name: str) -> Iterator[dict[str, Any]]:
        """What each item of a list adds to a row: nothing, once, where there is none."""
        if not isinstance(items, list) or not items:
            yield {}
            return
        for item in items:
            is_object = isinstance(item, dict)
            yield {f"{name}{self.delimiter}{k}": v for k, v in item.items()} if is_object else {name: item}

    def _renamed(self, row: dict[str, Any]) -> dict[str, Any]:
        for prefix, instead in self.prefixes:
            for name in [n for n in row if n.startswith(prefix)]:
                value = row.pop(name)
                renamed = instead + name[len(prefix) :]
                if not renamed or row.get(renamed) is not None:
                    raise ValueError(f"field '{name}' cannot be renamed to '{renamed}'")
                row[renamed] = value
        return row


def _size(value: Any) -> int:
    """Bytes of a value in memory, about; of a row those of its values."""
    if isinstance(value, str | bytes):
        return _EACH + len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return _EACH + (sum(map(_size, value)) if isinstance(value, list) else 0)


def read_complex_type(config: TableConfig) -> ComplexType | None:
    """A table's ``complexTypeConfig``; None when it has none. Raises InvalidInput naming the key that is wrong."""
    given = config.ingestion.complex_type_config
    if given is None:
        return None
    for key in given:
        if key not in _KEYS:
            raise _bad(key, "is not a key that is known", f"Known are {', '.join(_KEYS)}.")
    fields = given.get("fieldsToUnnest") or []
    if not isinstance(fields, list) or not all(isinstance(f, str) for f in fields):
        raise _bad("fieldsToUnnest", "must be a list of names", 'Write it like ["commits"].')
    prefixes = given.get("prefixesToRename") or {}
    if not isinstance(prefixes, dict) or not all(isinstance(v, str) for v in prefixes.values()):
        raise _bad("prefixesToRename", "must be texts by prefixes", 'Write it like {"payload.": ""}.')
    delimiter = given.get("delimiter")
    if delimiter is not None and not isinstance(delimiter, str):
        raise _bad("delimiter", "must be text", 'Leave it out for ".".')
    mode = given.get("collectionNotUnnestedToJson") or ToJson.NON_PRIMITIVE
    if mode not in tuple(ToJson):
        raise _bad("collectionNotUnnestedToJson", f"is '{shown(mode)}'", f"Use one of {', '.join(ToJson)}.")
    return ComplexType(
        tuple(sorted(set(fields))), "." if delimiter is None else delimiter, ToJson(mode), tuple(prefixes.items())
    )


def complex_type_of_messages(config: TableConfig, data_format: str) -> ComplexType | None:
    """As ``read_complex_type``, for messages of a format. InvalidInput, too, where these have nothing nested."""
    found = read_complex_type(config)
    if found is not None and found.concerns_flat_rows and data_format == "csv":
        raise InvalidInput(
            f"CSV messages have no nested values: '{_WHERE}' cannot be applied to them.",
            remedy="Leave fieldsToUnnest and prefixesToRename out.",
            field=_WHERE,
        )
    return found


def _bad(key: str, text: str, remedy: str) -> InvalidInput:
    path = f"{_WHERE}.{key}"
    return InvalidInput(f"'{shown(path)}' {text}.", remedy=remedy, field=path)

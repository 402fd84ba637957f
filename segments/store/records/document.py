"""A JSON document of one type in a znode: read, written, and changed by compare-and-set."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import RecordCorrupt
from segments.store.base import Create, Replace, Store, Versioned
from segments.store.update import update_record

T = TypeVar("T")


@dataclass(frozen=True)
class Documents(Generic[T]):
    """How documents of one type are kept: as JSON in ``field`` of a record whose id is ``id_of`` the value.

    ``from_json`` gets the record's id and the parsed JSON; KeyError, TypeError and ValueError of it become
    RecordCorrupt. ``what`` names a document by its record's id, as in ``"The record of start '{}'"``.
    """

    field: str
    what: str
    id_of: Callable[[T], str]
    to_json: Callable[[T], Any]
    from_json: Callable[[str, Any], T]

    def read(self, store: Store, path: str) -> T | None:
        """The document; None when there is none. RecordCorrupt."""
        return self._parsed(store.get(path))

    def read_many(self, store: Store, paths: Sequence[str]) -> list[T]:
        """Those that exist, in the same order. RecordCorrupt."""
        return [found for node in store.get_many(paths) if (found := self._parsed(node)) is not None]

    def write(self, store: Store, path: str, value: T) -> None:
        """Put it there, whatever was there before."""
        update_record(store, path, lambda _: self._record(value))

    def change(self, store: Store, path: str, decide: Callable[[T | None], T | None]) -> T | None:
        """The document afterwards. ``decide`` gets the one that is there, in every attempt again, and returns the new
        one, or None to leave it; what it raises ends the change.
        """

        def changed(node: Versioned | None) -> ZNRecord | None:
            wanted = decide(self._parsed(node))
            return None if wanted is None else self._record(wanted)

        return self._parsed(update_record(store, path, changed).after)

    def parsed(self, node: Versioned | None) -> T | None:
        """The document in a znode that was read; None when there is none. RecordCorrupt."""
        return self._parsed(node)

    def write_of(self, path: str, before: Versioned | None, value: T) -> Create | Replace:
        """The write that puts it there in place of what was read, as a part of a transaction."""
        record = self._record(value)
        return Create(path, record) if before is None else Replace(path, record, before.version)

    def _record(self, value: T) -> ZNRecord:
        return ZNRecord(self.id_of(value), {self.field: json.dumps(self.to_json(value), separators=(",", ":"))})

    def _parsed(self, node: Versioned | None) -> T | None:
        if node is None or node.record is None:
            return None
        try:
            return self.from_json(node.record.id, json.loads(node.record.simple[self.field]))
        except (KeyError, TypeError, ValueError) as error:
            raise RecordCorrupt(f"{self.what.format(node.record.id)} cannot be read: {error!r}.") from error

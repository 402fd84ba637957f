"""A typed document in a znode: what is decided is decided on what is there, and what cannot be read is named."""

from __future__ import annotations

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import RecordCorrupt, StateConflict
from segments.store.memory import MemoryStore
from segments.store.records.document import Documents

COUNTS: Documents[tuple[str, int]] = Documents(
    "count", "The count '{}'", lambda c: c[0], lambda c: {"n": c[1]}, lambda name, body: (name, int(body["n"]))
)
PATH = "/PINOTADMIN/COUNTS/a"


def test_what_is_written_is_read_again_and_a_missing_one_is_none() -> None:
    store = MemoryStore()
    assert COUNTS.read(store, PATH) is None
    COUNTS.write(store, PATH, ("a", 1))
    COUNTS.write(store, PATH, ("a", 2))
    assert COUNTS.read(store, PATH) == ("a", 2)
    assert COUNTS.read_many(store, [PATH, f"{PATH}-none"]) == [("a", 2)]


def test_a_change_that_lost_is_decided_again_on_what_is_there_then() -> None:
    store, seen = MemoryStore(), list[object]()
    COUNTS.write(store, PATH, ("a", 1))

    def add(before: tuple[str, int] | None) -> tuple[str, int]:
        seen.append(before)
        if len(seen) == 1:
            COUNTS.write(store, PATH, ("a", 10))
        assert before is not None
        return ("a", before[1] + 1)

    assert COUNTS.change(store, PATH, add) == ("a", 11)
    assert seen == [("a", 1), ("a", 10)]


def test_a_change_may_leave_it_or_refuse() -> None:
    store = MemoryStore()
    COUNTS.write(store, PATH, ("a", 1))
    assert COUNTS.change(store, PATH, lambda _: None) == ("a", 1)

    def refuse(_: tuple[str, int] | None) -> tuple[str, int]:
        raise StateConflict("No.")

    with pytest.raises(StateConflict):
        COUNTS.change(store, PATH, refuse)
    assert COUNTS.read(store, PATH) == ("a", 1)


@pytest.mark.parametrize("fields", [{}, {"count": "{"}, {"count": "[]"}, {"count": '{"n": "x"}'}])
def test_what_cannot_be_read_is_named(fields: dict[str, str]) -> None:
    store = MemoryStore()
    store.create(PATH, ZNRecord("a", fields))
    with pytest.raises(RecordCorrupt, match="The count 'a' cannot be read"):
        COUNTS.read(store, PATH)

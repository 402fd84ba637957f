"""What a table of 100,000 segments needs of a store: large records stay below ZooKeeper's limit, many reads are one
request.
"""

from __future__ import annotations

from segments.domain.formats.znrecord import SIZE_LIMIT, ZNRecord, encode
from segments.domain.segments.ideal_state import new_ideal_state, with_rows
from segments.store.base import Store
from segments.store.on_zookeeper.bulk_read import DecodedRecords


class Stat:
    """The parts of kazoo's that count."""

    mtime = ephemeralOwner = 0

    def __init__(self, mzxid: int, version: int = 0) -> None:
        self.mzxid, self.version = mzxid, version


def test_many_reads_are_the_same_as_one_by_one_missing_znodes_and_versions_included(store: Store) -> None:
    for i in range(50):
        store.create(f"/many/{i}", ZNRecord(str(i), {"v": "é" * i}))
    store.replace("/many/7", ZNRecord("seven"), 0)
    store.create("/empty/below", None)
    wanted = [f"/many/{i}" for i in range(60)] * 12 + ["/empty", "/"]
    assert store.get_many(wanted) == [store.get(path) for path in wanted]


def test_an_ideal_state_of_100000_segments_fits_and_is_read_back_after_a_change(store: Store) -> None:
    row = {"Server_127.0.0.1_8098": "ONLINE", "Server_127.0.0.1_8099": "ONLINE"}
    record = with_rows(
        new_ideal_state("t_OFFLINE", 2), {f"events_2026-01-01_2026-01-02_{i:06d}": row for i in range(100_000)}
    )
    assert len(encode(record)) < SIZE_LIMIT
    before = store.create("/big", record)
    assert store.get("/big").record == record
    changed = with_rows(record, {"one more": row})
    store.replace("/big", changed, before.version)
    assert store.get("/big").record == changed


def test_a_large_record_is_decoded_once_and_again_only_when_it_was_written() -> None:
    known = DecodedRecords(from_bytes=1)
    data, other = encode(ZNRecord("a")), encode(ZNRecord("b"))
    first = known.versioned("/a", data, Stat(5)).record
    assert known.versioned("/a", data, Stat(5)).record is first
    assert known.versioned("/b", other, Stat(5)).record == ZNRecord("b")
    assert known.versioned("/a", other, Stat(6)).record == ZNRecord("b")
    assert known.versioned("/a", data, Stat(7, 3)) == known.versioned("/a", data, Stat(7, 3))


def test_what_is_remembered_of_records_stays_within_its_budget() -> None:
    data = encode(ZNRecord("a"))
    known = DecodedRecords(budget=2 * len(data), from_bytes=1)
    kept = [known.versioned(f"/{i}", data, Stat(i)).record for i in range(3)]
    assert known.versioned("/2", data, Stat(2)).record is kept[2]
    assert known.versioned("/0", data, Stat(0)).record is not kept[0]


def test_equal_rows_of_a_large_record_are_one_object_and_nothing_else_changes() -> None:
    record = ZNRecord("a", maps={f"s{i}": {"Server_h_1": "ONLINE", "Server_h_2": f"{i % 2}"} for i in range(10)})
    found = DecodedRecords(from_bytes=1).versioned("/a", encode(record), Stat(1)).record
    assert found == record
    assert found is not None
    assert len({id(row) for row in found.maps.values()}) == 2


def test_a_record_of_which_rows_hold_more_than_texts_is_read_as_it_is() -> None:
    data = b'{"id":"a","simpleFields":{},"mapFields":{"s":{"h":["x"]}},"listFields":{}}'
    found = DecodedRecords(from_bytes=1).versioned("/a", data, Stat(1)).record
    assert found is not None
    assert found.maps == {"s": {"h": ["x"]}}

"""Lineage: its stored form, what entries hide and lock."""

from __future__ import annotations

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.errors import NotFound, RecordCorrupt


def entry(name: str, old: str, new: str, state: str, stamp: int = 1000, **more: object) -> Entry:
    return Entry(name, tuple(old.split()), tuple(new.split()), State(state), stamp, **more)  # type: ignore[arg-type]  # test shorthand


def of(*entries: Entry) -> Lineage:
    return Lineage("t_OFFLINE", {e.id: e for e in entries})


def test_an_entry_is_stored_as_four_strings() -> None:
    record = lineages.to_record(of(entry("x", "s1 s2 s3", "s4 s5", "COMPLETED", 11111)))
    assert record == ZNRecord("t_OFFLINE", lists={"x": ["s1,s2,s3", "s4,s5", "COMPLETED", "11111"]})


def test_the_fifth_string_is_written_only_when_true() -> None:
    record = lineages.to_record(of(entry("x", "s13 s14", "s15", "COMPLETED", 55555, auto_complete=True)))
    assert record.lists["x"][4:] == ["true"]
    assert lineages.from_record(record).entries["x"].auto_complete


def test_empty_lists_and_doubles_survive_a_round_trip() -> None:
    before = of(entry("x", "", "a a b", "IN_PROGRESS"))
    assert lineages.from_record(lineages.to_record(before)).entries == before.entries


def test_foreign_fields_and_notes_survive_a_rewrite() -> None:
    record = ZNRecord(
        "t_OFFLINE", {"k": "v"}, {"custom.map": {"a": "b"}, "other": {"c": "d"}}, {"x": ["a", "b", "COMPLETED", "1"]}
    )
    again = lineages.to_record(
        lineages.from_record(record).having(entry("y", "", "c", "IN_PROGRESS", notes={"actor": "ann"}))
    )
    assert again.simple == {"k": "v"}
    assert again.maps["other"] == {"c": "d"}
    assert lineages.from_record(again).entries["y"].notes == {"actor": "ann"}
    assert lineages.from_record(again).to_json()["customMap"] == {"a": "b"}


@pytest.mark.parametrize(
    "items", [["a", "b", "COMPLETED"], ["a", "b", "PAUSED", "1"], ["a", "b", "COMPLETED", "soon"], []]
)
def test_a_broken_entry_is_an_error_and_never_dropped(items: list[str]) -> None:
    with pytest.raises(RecordCorrupt, match="'x'"):
        lineages.from_record(ZNRecord("t_OFFLINE", lists={"x": items}))


def test_a_completed_entry_hides_its_old_side_and_others_their_new_side() -> None:
    found = of(
        entry("a", "m1", "m3", "COMPLETED"), entry("b", "m3", "m4", "IN_PROGRESS"), entry("c", "m0", "m9", "REVERTED")
    )
    assert found.visible(["m0", "m1", "m2", "m3", "m4", "m9"]) == ["m0", "m2", "m3"]


def test_locks_are_both_sides_while_running_the_old_side_when_done_and_none_after_revert() -> None:
    found = of(
        entry("a", "s1", "s2", "IN_PROGRESS"), entry("b", "s3", "s4", "COMPLETED"), entry("c", "s5", "s6", "REVERTED")
    )
    assert found.locked() == {"s1", "s2", "s3"}


def test_the_document_lists_entries_by_time_then_id() -> None:
    found = of(
        entry("b", "", "x", "COMPLETED", 5), entry("a", "", "y", "COMPLETED", 5), entry("c", "", "z", "IN_PROGRESS", 1)
    )
    assert list(found.to_json()["lineageEntries"]) == ["c", "a", "b"]
    assert "customMap" not in found.to_json()


def test_an_unknown_entry_is_named_in_the_refusal() -> None:
    with pytest.raises(NotFound, match="'nope'"):
        of().entry("nope")

"""Cases of the fact sheet on lineage, by their numbers, that are no request: stored forms, the filter of queries, the
guard of deletions, retention.
"""

from __future__ import annotations

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement import decisions as replacement
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.decisions import Replacement
from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep import retention
from segments.errors import InvalidInput, RecordCorrupt
from tests.domain.replacement.test_lineage import of
from tests.domain.replacement.test_lineage_examples import HOUR, NOW, config, parse


def test_29_both_lists_empty_is_malformed() -> None:
    with pytest.raises(InvalidInput):
        replacement.check_request([], [])


def test_1_the_stored_form_is_four_strings_and_doubles_survive() -> None:
    record = ZNRecord(
        "test_OFFLINE",
        lists={"X": ["s1,s2,s3", "s4,s5", "COMPLETED", "11111"], "Y": ["s6,s6,s8", "", "IN_PROGRESS", "2"]},
    )
    assert lineages.to_record(lineages.from_record(record)) == record


def test_3_the_fifth_string_stays_true_and_is_never_invented() -> None:
    record = ZNRecord(
        "t", lists={"X": ["s13,s14", "s15", "COMPLETED", "55555", "true"], "Y": ["a", "b", "REVERTED", "1"]}
    )
    assert lineages.to_record(lineages.from_record(record)) == record


@pytest.mark.parametrize("items", [["a", "b", "COMPLETED"], ["a", "b", "DONE", "1"], ["a", "b", "COMPLETED", "soon"]])
def test_5_what_cannot_be_read_is_an_error_never_dropped(items: list[str]) -> None:
    with pytest.raises(RecordCorrupt):
        lineages.from_record(ZNRecord("t", lists={"X": items}))


@pytest.mark.parametrize(
    ("number", "lineage", "ideal", "visible"),
    [
        ("9", "", "s0 s1 s2", "s0 s1 s2"),
        ("10", "X: s0 s1 s2 > m0 m1 IN_PROGRESS", "s0 s1 s2 s3 m0 m1", "s0 s1 s2 s3"),
        ("11", "X: s0 s1 s2 > m0 m1 COMPLETED", "s0 s1 s2 s3 s4 m0 m1", "s3 s4 m0 m1"),
        ("12 a chain", "A: a > b COMPLETED; B: b > c COMPLETED", "a b c", "c"),
        ("13", "X: t1 > t3 COMPLETED; Y: t3 > t4 IN_PROGRESS", "t0 t1 t2 t3 t4", "t0 t2 t3"),
        ("14 reverted", "A: a > b COMPLETED; B: b > c REVERTED", "a b c", "b"),
    ],
)
def test_filter(number: str, lineage: str, ideal: str, visible: str) -> None:
    assert parse(lineage).visible(ideal.split()) == sorted(visible.split()), number


@pytest.mark.parametrize(
    ("number", "state", "locked"),
    [("62", "IN_PROGRESS", {"a", "b"}), ("63", "COMPLETED", {"a"}), ("63 reverted", "REVERTED", set())],
)
def test_delete_guard(number: str, state: str, locked: set[str]) -> None:
    assert parse(f"X: a > b {state}").locked() == locked, number


@pytest.mark.parametrize(
    ("number", "lineage", "table", "deleted", "dropped"),
    [
        ("71 now", "X: a > b COMPLETED", config("REFRESH"), "", ""),
        ("71 5 h", f"X: a > b COMPLETED {5 * HOUR}", config("REFRESH"), "", ""),
        ("71 2 d", f"X: a > b COMPLETED {48 * HOUR}", config("REFRESH"), "a", ""),
        ("72 APPEND 5 h", f"X: a > b COMPLETED {5 * HOUR}", config(), "a", ""),
        ("73 1 ms", "X: a > b COMPLETED 1", config(replacedSegmentsRetentionPeriod="0d"), "a", ""),
        ("73 the same ms", "X: a > b COMPLETED", config(replacedSegmentsRetentionPeriod="0d"), "", ""),
        ("73 unreadable", f"X: a > b COMPLETED {3 * HOUR}", config(replacedSegmentsRetentionPeriod="foo"), "", ""),
        ("75 unfinished", "X: a > b IN_PROGRESS 1", config(replacedSegmentsRetentionPeriod="0s"), "", ""),
        ("75 old side gone", "X: z > b COMPLETED", config(replacedSegmentsRetentionPeriod="0s"), "", "X"),
        ("76 old and unfinished", f"X: a > b IN_PROGRESS {25 * HOUR}", config(), "b", ""),
        ("77 reverted 1 s", "X: a > b REVERTED 1000", config(), "b", ""),
        ("77 reverted, nothing left", "X: a > z REVERTED 1000", config(), "", "X"),
        ("79 REFRESH too", "X: a > b IN_PROGRESS", config("REFRESH"), "", ""),
    ],
)  # fmt: skip
def test_retention(number: str, lineage: str, table: TableConfig, deleted: str, dropped: str) -> None:
    plan = retention.plan_lineage(parse(lineage), table, ["a", "b"], NOW)
    assert (" ".join(plan.delete), " ".join(plan.drop)) == (deleted, dropped), number


def test_99_a_start_whose_reply_was_lost_leaves_one_entry_when_it_is_sent_again() -> None:
    first = replacement.start(of(), Replacement((), ("s1",), True), entry_id="one", ideal=[], now_ms=NOW).lineage
    again = replacement.start(first, Replacement((), ("s1",), True), entry_id="two", ideal=[], now_ms=NOW).lineage
    assert set(again.entries) == {"two"}


def test_101_the_document_is_sorted_by_time_then_id_and_flat() -> None:
    document = parse(
        "B: s2 s3 > another IN_PROGRESS 5; A: s0 s1 > some IN_PROGRESS 5; C: > first COMPLETED 9"
    ).to_json()
    assert list(document["lineageEntries"]) == ["C", "A", "B"]
    assert document["lineageEntries"]["A"] == {
        "segmentsFrom": ["s0", "s1"], "segmentsTo": ["some"], "state": "IN_PROGRESS", "timestamp": NOW - 5,
        "autoCompleteLineageEntry": False,
    }  # fmt: skip
    assert "customMap" not in document

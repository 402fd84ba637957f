"""Where segments belong and in which order they go: the pure part of a rebalance."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.realtime_assignment import servers_of_partition
from segments.domain.realtime.repair.recovery_mode import may_reingest
from segments.domain.rebalance.balance import balanced, replica_groups
from segments.domain.rebalance.data_loss import risk_of, risks
from segments.domain.rebalance.job import Job, Jobs, Size, Status, Who, jobs_of
from segments.domain.rebalance.options import Options
from segments.domain.rebalance.step import next_step, stopped
from segments.domain.rebalance.target import Placement, moves, targets
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput

A, B, C, D = (f"Server_{name}_1" for name in "abcd")
SERVERS = [A, B, C, D]


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, list[str]], list[str], int]:
    """Rows of some segments, the servers that should hold them, and how many copies of each."""
    copies = draw(st.integers(1, 3))
    servers = draw(st.lists(st.sampled_from(SERVERS), min_size=copies, unique=True))
    row = st.lists(st.sampled_from([*SERVERS, "Server_gone_1"]), max_size=4, unique=True)
    rows = draw(st.lists(row, max_size=30))
    return {f"s{number}": found for number, found in enumerate(rows)}, servers, copies


@given(tables())
@settings(max_examples=150, deadline=None)
def test_loads_differ_by_at_most_one_and_every_segment_has_its_copies(
    table: tuple[dict[str, list[str]], list[str], int],
) -> None:
    rows, servers, copies = table
    found = balanced(rows, [servers], copies)
    assert all(len(set(wanted)) == copies and set(wanted) <= set(servers) for wanted in found.values())
    load = Counter(dict.fromkeys(servers, 0))
    load.update(i for wanted in found.values() for i in wanted)
    assert max(load.values()) - min(load.values()) <= 1


@given(tables())
@settings(max_examples=150, deadline=None)
def test_what_is_balanced_stays_and_a_part_that_was_carried_out_asks_for_no_more_changes(
    table: tuple[dict[str, list[str]], list[str], int],
) -> None:
    """Which replica goes is decided again halfway, so a plan that only removes may become one that moves a little."""
    rows, servers, copies = table
    found = balanced(rows, [servers], copies)
    assert balanced(found, [servers], copies) == found
    changed = [s for s in rows if set(found[s]) != set(rows[s])]
    halfway = {s: list(found[s]) if s in changed[::2] else row for s, row in rows.items()}
    again = balanced(halfway, [servers], copies)
    changes = sum(len(set(found[s]) ^ set(rows[s])) for s in rows)
    left = sum(len(set(again[s]) ^ set(halfway[s])) for s in rows)
    assert left <= changes


def test_a_third_server_gets_its_third_and_nothing_else_moves() -> None:
    rows = {f"s{n:03}": [A, B] for n in range(300)}
    found = balanced(rows, [[A, B, C]], 2)
    assert Counter(i for row in found.values() for i in row) == {A: 200, B: 200, C: 200}
    assert sum(len(set(found[s]) - set(rows[s])) for s in rows) == 200


def test_each_replica_group_holds_every_segment() -> None:
    groups = replica_groups(SERVERS, 2)
    assert groups == [[A, C], [B, D]]
    found = balanced({f"s{n}": [A, B] for n in range(10)}, groups, 1)
    assert all(len(set(row) & set(group)) == 1 for row in found.values() for group in groups)


PLACEMENT = Placement("t_OFFLINE", 2, (A, B, C))
ROWS = {f"s{n}": {A: "ONLINE", B: "ONLINE"} for n in range(6)}


def job(rows: dict[str, dict[str, str]], options: Options = Options(), placement: Placement = PLACEMENT) -> Job:  # noqa: B008  frozen
    moved = moves(targets(placement, rows, include_consuming=options.include_consuming), rows)
    return Job("j", placement.table, Who("ann", "why"), 1, 1, options, placement, Size(len(moved), 0, len(moved)))


def test_a_replica_is_loaded_before_another_is_dropped() -> None:
    ideal = ZNRecord("t_OFFLINE", maps=ROWS)
    first = next_step(job(ROWS), ideal, {s: set(row) for s, row in ROWS.items()}, 2)
    assert first is not None
    assert all({A, B} <= set(row) for row in first.ideal.maps.values())
    flying = first.job.in_flight
    assert len(flying) == 4
    assert next_step(first.job, first.ideal, {s: {A, B} for s in ROWS}, 3) is None
    landed = next_step(first.job, first.ideal, {s: {A, B, C} for s in ROWS}, 4)
    assert landed is not None
    assert landed.job.status is Status.DONE
    assert Counter(i for row in landed.ideal.maps.values() for i in row) == {A: 4, B: 4, C: 4}


@pytest.mark.parametrize("options", [Options(downtime=True), Options(min_available=0)])
def test_with_downtime_the_old_replicas_go_at_once(options: Options) -> None:
    step = next_step(job(ROWS, options), ZNRecord("t_OFFLINE", maps=ROWS), {}, 2)
    assert step is not None
    assert all(len(row) == 2 for row in step.ideal.maps.values())
    done = next_step(step.job, step.ideal, {}, 3)
    assert done is not None
    assert done.job.status is Status.DONE


def test_with_fewer_available_replicas_a_segment_lands_when_these_are_served() -> None:
    options = Options(min_available=-1)
    first = next_step(job(ROWS, options), ZNRecord("t_OFFLINE", maps=ROWS), {s: {A, B} for s in ROWS}, 2)
    assert first is not None
    landed = next_step(first.job, first.ideal, {s: {A, B} for s in ROWS}, 3)
    assert landed is not None
    assert not landed.job.in_flight


def test_a_stop_leaves_each_segment_on_its_old_servers_or_on_its_new_ones() -> None:
    first = next_step(job(ROWS), ZNRecord("t_OFFLINE", maps=ROWS), {}, 2)
    assert first is not None
    arrived = min(first.job.in_flight)
    ended = stopped(first.job, first.ideal, {arrived: {A, B, C}}, Status.CANCELLED, "why", 3)
    assert (ended.job.status, ended.job.in_flight) == (Status.CANCELLED, {})
    changed = [s for s, row in ended.ideal.maps.items() if row != ROWS[s]]
    assert changed == [arrived]
    assert len(ended.ideal.maps[arrived]) == 2


def test_what_stalls_is_given_up_and_goes_back() -> None:
    options = Options(stalled_ms=1000)
    first = next_step(job(ROWS, options), ZNRecord("t_OFFLINE", maps=ROWS), {}, 2)
    assert first is not None
    assert next_step(first.job, first.ideal, {}, 1002) is None
    ended = next_step(first.job, first.ideal, {}, 1003)
    assert ended is not None
    assert ended.job.status is Status.FAILED
    assert "not served by its new servers" in ended.job.message
    assert ended.ideal.maps == ROWS


def test_what_is_deleted_on_its_way_is_forgotten() -> None:
    first = next_step(job(ROWS), ZNRecord("t_OFFLINE", maps=ROWS), {}, 2)
    assert first is not None
    gone = ZNRecord("t_OFFLINE", maps={})
    ended = next_step(first.job, gone, {}, 3)
    assert ended is not None
    assert (ended.job.status, ended.ideal.maps) == (Status.DONE, {})


def test_a_server_loads_no_more_at_a_time_than_it_may() -> None:
    options = Options(batch_per_server=2)
    first = next_step(job(ROWS, options), ZNRecord("t_OFFLINE", maps=ROWS), {}, 2)
    assert first is not None
    assert sum(C in row for row in first.ideal.maps.values()) == 2


CONSUMING = {"t__0__3__20260801T1000Z": {A: "CONSUMING", B: "CONSUMING"}}
COMMITTED = {"t__0__2__20260801T1000Z": {A: "ONLINE", B: "ONLINE"}}
REALTIME = Placement("t_REALTIME", 2, (A, B, C), (B, C, A), by_partition=True)


def test_segments_of_a_partition_go_where_it_is_consumed_and_consuming_ones_only_when_asked() -> None:
    rows = {**CONSUMING, **COMMITTED}
    wanted = tuple(sorted(servers_of_partition("t_REALTIME", 0, 2, (B, C, A))))
    assert moves(targets(REALTIME, rows, include_consuming=False), rows) == {next(iter(COMMITTED)): wanted}
    assert moves(targets(REALTIME, rows, include_consuming=True), rows) == dict.fromkeys(sorted(rows), wanted)


def test_a_new_replica_of_a_consuming_segment_consumes() -> None:
    options = Options(include_consuming=True)
    step = next_step(job(CONSUMING, options, REALTIME), ZNRecord("t_REALTIME", maps=CONSUMING), {}, 2)
    assert step is not None
    assert step.ideal.maps == {next(iter(CONSUMING)): {A: "CONSUMING", B: "CONSUMING", C: "CONSUMING"}}


@pytest.mark.parametrize("row", [{}, {A: "OFFLINE"}, {A: "OFFLINE", B: "ONLINE"}])
def test_what_is_switched_off_is_left_alone(row: dict[str, str]) -> None:
    assert targets(PLACEMENT, {"s": row}, include_consuming=True) == {}


def metadata(status: str, url: str | None) -> SegmentMetadata:
    fields = {"segment.realtime.status": status}
    return SegmentMetadata("s", fields if url is None else {**fields, "segment.download.url": url})


@pytest.mark.parametrize(
    ("status", "url", "may_repair", "why"),
    [
        ("DONE", "", True, "as the download URL is empty"),
        ("DONE", "file:///x", False, ""),
        ("COMMITTING", "", True, ""),
        ("COMMITTING", None, False, "as it is in COMMITTING state"),
        ("IN_PROGRESS", None, False, ""),
    ],
)
def test_only_rows_that_are_nowhere_else_are_at_risk(status: str, url: str | None, may_repair: bool, why: str) -> None:
    found = risk_of(metadata(status, url), may_repair=may_repair)
    assert found.startswith(why)
    assert bool(found) is bool(why)


@pytest.mark.parametrize(
    ("more", "is_risk"),
    [
        ({}, False),
        ({"upsertConfig": {"mode": "FULL"}}, False),
        ({"upsertConfig": {"mode": "PARTIAL"}}, True),
        ({"dedupConfig": {"dedupEnabled": True}}, True),
    ],
    ids=["plain", "upsert", "partial upsert", "dedup"],
)
def test_a_commit_that_has_not_ended_is_at_risk_where_its_rows_may_not_be_read_again(
    more: dict[str, dict[str, object]], is_risk: bool
) -> None:
    body = {"tableName": "t", "tableType": "REALTIME", "segmentsConfig": {"timeColumnName": "ts"}, **more}
    found = risk_of(metadata("COMMITTING", None), may_repair=may_reingest(parse_table_config(body), None))
    assert ("as it is in COMMITTING state" in found) is is_risk


def test_no_copy_is_lost_where_a_server_that_has_it_keeps_it() -> None:
    records = {"s": metadata("DONE", "")}
    assert risks({"s": (B, C)}, {"s": {A, B}}, records, may_repair=True) == {}
    assert risks({"s": (B, C)}, {"s": {A}}, records, may_repair=True) == {"s": "as the download URL is empty"}
    assert risks({"s": (B, C)}, {"s": {A}}, {}, may_repair=True) == {}


@pytest.mark.parametrize(
    "options",
    [Options(min_available=3), Options(batch_per_server=0), Options(batch_per_server=-2), Options(stalled_ms=0)],
)
def test_options_that_cannot_be_kept_are_refused(options: Options) -> None:
    with pytest.raises(InvalidInput):
        options.check(2)


@pytest.mark.parametrize("name", ["bootstrap", "bestEfforts", "lowDiskMode", "updateTargetTier"])
def test_what_only_a_pinot_has_is_refused_by_name(name: str) -> None:
    Options(other={name: "false", "maxAttempts": "3"}).refuse_pinot_only()
    with pytest.raises(InvalidInput, match=name):
        Options(other={name: "true"}).refuse_pinot_only()


def test_a_record_reads_as_it_was_written_and_keeps_ten() -> None:
    first = next_step(job(ROWS), ZNRecord("t_OFFLINE", maps=ROWS), {}, 2)
    assert first is not None
    jobs = Jobs("t_OFFLINE").having(first.job)
    assert jobs_of("t_OFFLINE", jobs.to_json()) == jobs
    for number in range(12):
        jobs = jobs.having(Job(f"j{number}", "t_OFFLINE", Who("x"), 1, 1, Options(), PLACEMENT, Size()))
    assert [one.id for one in jobs.jobs] == [f"j{number}" for number in range(2, 12)]

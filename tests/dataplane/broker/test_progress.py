"""What a broker remembers of consuming partitions: rows never go back while somebody has them."""

from __future__ import annotations

from segments.dataplane.broker.progress import Least, Progress
from segments.dataplane.broker.routing import Routing, ServerRef
from segments.names import TableName

A, B = ServerRef("Server_a_1", "s", "http://a"), ServerRef("Server_b_1", "s", "http://b")
SEGMENT, NEXT = "t__0__3__20240101T0000Z", "t__0__4__20240101T0000Z"


def routing(*growing: str, newest: str = "") -> Routing:
    """A table with these consuming segments, of which ``newest`` (the last, unless given) is open."""
    newest = newest or (growing[-1] if growing else "")
    replicas = dict.fromkeys((*growing, newest), (A, B))
    return Routing(
        TableName("t", "REALTIME"), 0, 1, growing, replicas, growing=frozenset(growing), open=frozenset({newest} - {""})
    )


def least(progress: Progress, *growing: str, newest: str = "") -> tuple[dict[str, int], dict[str, int]]:
    found = progress.least(routing(*growing, newest=newest))
    return dict(found.docs), dict(found.tails)


def test_later_queries_ask_for_the_most_rows_seen_so_far() -> None:
    progress = Progress()
    progress.note(routing(SEGMENT), Least(), {SEGMENT: 10}, {})
    progress.note(routing(SEGMENT), Least(), {SEGMENT: 7}, {})
    assert least(progress, SEGMENT) == ({SEGMENT: 10}, {SEGMENT: 0})
    progress.note(routing(SEGMENT), Least({SEGMENT: 10}), {SEGMENT: 12}, {})
    assert least(progress, SEGMENT) == ({SEGMENT: 12}, {SEGMENT: 0})


def test_when_the_only_replica_left_has_fewer_rows_they_are_the_truth_from_then_on() -> None:
    progress = Progress()
    progress.note(routing(SEGMENT), Least(), {SEGMENT: 10}, {SEGMENT: 5})
    progress.note(routing(SEGMENT), Least({SEGMENT: 10}, {SEGMENT: 5}), {SEGMENT: 4}, {SEGMENT: 0})
    assert least(progress, SEGMENT) == ({SEGMENT: 4}, {SEGMENT: 0})


def test_an_old_query_that_ends_late_does_not_lower_what_a_newer_one_saw() -> None:
    progress = Progress()
    progress.note(routing(SEGMENT), Least(), {SEGMENT: 10}, {SEGMENT: 3})
    progress.note(routing(SEGMENT), Least({SEGMENT: 5}, {SEGMENT: 1}), {SEGMENT: 4}, {SEGMENT: 0})
    assert least(progress, SEGMENT) == ({SEGMENT: 10}, {SEGMENT: 3})


def test_rows_behind_a_full_segment_are_owed_by_its_successor() -> None:
    progress = Progress()
    progress.note(routing(SEGMENT), Least(), {SEGMENT: 10}, {SEGMENT: 6})
    assert least(progress, SEGMENT, NEXT, newest=NEXT) == ({SEGMENT: 10, NEXT: 6}, {NEXT: 0})
    progress.note(routing(NEXT), Least({NEXT: 6}), {NEXT: 9}, {NEXT: 0})
    assert least(progress, NEXT) == ({NEXT: 9}, {NEXT: 0})


def test_a_committed_segment_is_open_until_its_successor_is_routed() -> None:
    progress = Progress()
    progress.note(routing(newest=SEGMENT), Least(), {}, {SEGMENT: 6})
    assert least(progress, newest=SEGMENT) == ({}, {SEGMENT: 6})


def test_finished_segments_are_forgotten() -> None:
    progress = Progress()
    progress.note(routing(SEGMENT), Least(), {SEGMENT: 10}, {})
    progress.note(routing(NEXT), Least(), {}, {})
    assert least(progress, SEGMENT) == ({SEGMENT: 0}, {SEGMENT: 0})


def test_a_partition_stays_with_its_server_across_commits_and_goes_on_elsewhere_when_that_is_down() -> None:
    progress = Progress()
    first = progress.choose(SEGMENT, [A, B])
    other = B if first is A else A
    assert progress.choose(NEXT, [A, B]) is first
    assert progress.choose(SEGMENT, [other]) is other
    assert progress.choose(SEGMENT, [A, B]) is other
    assert {progress.choose(f"t__{p}__0__20240101T0000Z", [A, B]) for p in range(1, 9)} == {A, B}


def test_a_segment_that_only_another_server_has_whole_does_not_move_the_rest_of_its_partition() -> None:
    progress = Progress()
    first = progress.choose(SEGMENT, [A, B])
    other = B if first is A else A
    assert progress.choose(SEGMENT, [A, B], [other]) is other
    assert progress.choose(NEXT, [A, B]) is first

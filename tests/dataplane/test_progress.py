"""What a broker remembers of consuming segments: rows never go back while somebody has them."""

from __future__ import annotations

from segments.dataplane.broker.progress import Progress
from segments.dataplane.broker.routing import Routing, ServerRef
from segments.names import TableName

A, B = ServerRef("Server_a_1", "s", "http://a"), ServerRef("Server_b_1", "s", "http://b")
SEGMENT = "t__0__3__20240101T0000Z"


def routing(*growing: str) -> Routing:
    """A table with these consuming segments."""
    return Routing(TableName("t", "REALTIME"), 0, 1, growing, dict.fromkeys(growing, (A, B)), growing=frozenset(growing))


def test_later_queries_ask_for_the_most_rows_seen_so_far() -> None:
    progress = Progress()
    progress.note(routing(SEGMENT), {}, {SEGMENT: 10})
    progress.note(routing(SEGMENT), {}, {SEGMENT: 7})
    assert progress.seen(routing(SEGMENT)) == {SEGMENT: 10}
    progress.note(routing(SEGMENT), {SEGMENT: 10}, {SEGMENT: 12})
    assert progress.seen(routing(SEGMENT)) == {SEGMENT: 12}


def test_when_the_only_replica_left_has_fewer_rows_they_are_the_truth_from_then_on() -> None:
    progress = Progress()
    progress.note(routing(SEGMENT), {}, {SEGMENT: 10})
    progress.note(routing(SEGMENT), {SEGMENT: 10}, {SEGMENT: 4})
    assert progress.seen(routing(SEGMENT)) == {SEGMENT: 4}


def test_an_old_query_that_ends_late_does_not_lower_what_a_newer_one_saw() -> None:
    progress = Progress()
    progress.note(routing(SEGMENT), {}, {SEGMENT: 10})
    progress.note(routing(SEGMENT), {SEGMENT: 5}, {SEGMENT: 4})
    assert progress.seen(routing(SEGMENT)) == {SEGMENT: 10}


def test_finished_segments_are_forgotten() -> None:
    progress = Progress()
    progress.note(routing(SEGMENT), {}, {SEGMENT: 10})
    progress.note(routing("t__0__4__20240101T0000Z"), {}, {})
    assert progress.seen(routing(SEGMENT)) == {}


def test_a_partition_stays_with_its_server_across_commits_and_goes_on_elsewhere_when_that_is_down() -> None:
    progress = Progress()
    first = progress.choose(SEGMENT, [A, B])
    other = B if first is A else A
    assert progress.choose("t__0__4__20240101T0000Z", [A, B]) is first
    assert progress.choose(SEGMENT, [other]) is other
    assert progress.choose(SEGMENT, [A, B]) is other
    assert {progress.choose(f"t__{p}__0__20240101T0000Z", [A, B]) for p in range(1, 9)} == {A, B}

"""Diagnosis of consumption, case by case, and what is written for each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from segments.domain.realtime.llc_name import LLCName
from segments.domain.realtime.pause import PauseState
from segments.domain.realtime.realtime_assignment import in_order, most_partitions_per_server, servers_of_partition
from segments.domain.realtime.realtime_plan import Blueprint, Start, plan_changes
from segments.domain.realtime.realtime_repair import Case, Kind, Known, Seen, diagnose, latest_names
from segments.domain.realtime.sequence_deletion import plan_deletion
from segments.domain.realtime.streams.stream_config import FlushThresholds
from segments.domain.segments.ideal_state import new_ideal_state, with_rows
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.errors import StateConflict

NOW = 1_700_000_000_000
OLD = NOW - 300_001
YOUNG = NOW - 300_000
MINUTE = 60_000


def name(partition: int, sequence: int, ms: int = NOW) -> str:
    return LLCName("t", partition, sequence, ms).text


def known(
    partition: int,
    sequence: int,
    status: str = "IN_PROGRESS",
    start: str = "0",
    end: str | None = None,
    at: int = OLD,
    version: int = 3,
) -> Known:
    fields = {"segment.realtime.status": status, "segment.realtime.startOffset": start}
    if end is not None:
        fields["segment.realtime.endOffset"] = end
    llc = LLCName("t", partition, sequence, NOW)
    return Known(llc, SegmentMetadata(llc.text, fields), at, version)


def seen(rows: dict[str, str], *segments: Known, partitions: set[int] | None = frozenset({0}), **more: object) -> Seen:  # type: ignore[assignment]
    """``rows`` {segment: one letter per replica, C O X (OFFLINE)}."""
    words = {"C": "CONSUMING", "O": "ONLINE", "X": "OFFLINE"}
    maps = {s: {f"Server_s_{i}": words[c] for i, c in enumerate(text)} for s, text in rows.items()}
    ideal = with_rows(new_ideal_state("t_REALTIME", 2), maps)
    whole = Seen(ideal, PauseState(), segments, frozenset(partitions) if partitions is not None else None, 1)
    return replace(whole, **more)  # type: ignore[arg-type]


def kinds(what: Seen) -> list[tuple[int, Kind]]:
    return [(c.partition, c.kind) for c in diagnose(what, NOW)]


@pytest.mark.parametrize(
    ("rows", "latest", "kind", "base"),
    [
        ("CC", known(0, 0), None, None),
        ("CX", known(0, 0), None, None),
        ("CC", known(0, 0, "DONE", end="9"), Kind.FINISH, "9"),
        ("CC", known(0, 0, "DONE", end="9", at=YOUNG), Kind.WAIT, "9"),
        ("CC", known(0, 0, "COMMITTING", end="9"), Kind.FINISH, "9"),
        ("CC", known(0, 0, "UPLOADED", end="9"), Kind.FINISH, "9"),
        ("XX", known(0, 0, start="4"), Kind.AGAIN, "4"),
        ("XX", known(0, 0, start="4", at=YOUNG), Kind.AGAIN, "4"),
        ("XX", known(0, 0, "DONE", start="4", end="9"), Kind.NEXT, "9"),
        ("OO", known(0, 0, "DONE", end="9"), Kind.NEXT, "9"),
        ("OO", known(0, 0, "DONE", end="9", at=YOUNG), Kind.NEXT, "9"),
        ("OX", known(0, 0, "DONE", end="9"), Kind.NEXT, "9"),
        ("OO", known(0, 0), Kind.STUCK, "0"),
        ("OX", known(0, 0), Kind.STUCK, "0"),
    ],
)
def test_each_state_of_the_latest_segment_has_its_repair(
    rows: str, latest: Known, kind: Kind | None, base: str | None
) -> None:
    found = diagnose(seen({name(0, 0): rows}, latest), NOW)
    assert [(c.kind, c.base_offset) for c in found] == ([] if kind is None else [(kind, base)])


def test_a_partition_without_a_segment_gets_its_first() -> None:
    assert kinds(seen({}, partitions={0, 1})) == [(0, Kind.FIRST), (1, Kind.FIRST)]


def test_stopped_replicas_come_back_only_where_the_cluster_says_so() -> None:
    what = seen({name(0, 0): "CX"}, known(0, 0))
    assert kinds(replace(what, returns_replicas=True)) == [(0, Kind.REPLICAS)]


def test_an_ended_partition_gets_no_successor() -> None:
    done = known(0, 0, "DONE", end="9")
    assert kinds(seen({name(0, 0): "CC"}, done, partitions=set())) == [(0, Kind.CLOSE)]
    assert kinds(seen({name(0, 0): "OO"}, done, partitions=set())) == []
    assert kinds(seen({name(0, 0): "XX"}, known(0, 0), partitions=set())) == []


def test_while_the_stream_does_not_answer_nobody_is_taken_for_ended() -> None:
    assert kinds(seen({name(0, 0): "OO"}, known(0, 0, "DONE", end="9"), partitions=None)) == [(0, Kind.NEXT)]


@pytest.mark.parametrize(
    "pause",
    [PauseState(paused=True), PauseState(inactive_topics=(0,)), PauseState(partitions=(0,))],
    ids=["table", "topic", "partition"],
)
def test_what_is_paused_is_left_alone_even_in_a_table_with_one_topic(pause: PauseState) -> None:
    assert kinds(seen({name(0, 0): "OO"}, known(0, 0, "DONE", end="9"), pause=pause)) == []
    assert kinds(seen({}, pause=pause)) == []


@pytest.mark.parametrize(
    ("rows", "latest", "orphan", "expected"),
    [
        ("CC", known(0, 0, "DONE", end="9"), known(0, 1, start="9"), [Kind.ADOPT]),
        ("OO", known(0, 0, "DONE", end="9"), known(0, 1, start="9"), [Kind.ADOPT]),
        ("CC", known(0, 0, "DONE", end="9"), known(0, 1, start="9", at=YOUNG), [Kind.WAIT]),
        ("CC", known(0, 0, "DONE", end="9"), known(0, 1, start="8"), [Kind.DISCARD, Kind.FINISH]),
        ("CC", known(0, 0), known(0, 1, start="9"), [Kind.DISCARD]),
        ("OO", known(0, 0, "DONE", end="9"), known(0, 1, "DONE", start="9", end="12"), [Kind.NEXT]),
    ],
)
def test_a_record_without_a_row_goes_on_where_the_last_one_ended_or_goes(
    rows: str, latest: Known, orphan: Known, expected: list[Kind]
) -> None:
    assert [k for _, k in kinds(seen({name(0, 0): rows}, latest, orphan))] == expected


def test_a_first_record_without_a_row_is_assigned() -> None:
    assert kinds(seen({}, known(0, 0))) == [(0, Kind.ADOPT)]


def test_only_the_latest_of_every_partition_is_checked() -> None:
    rows = {name(0, 0): "OO", name(0, 1): "CC", name(1, 0): "OO"}
    segments = (known(0, 0, "DONE", end="9"), known(0, 1, start="9"), known(1, 0, "DONE", end="5"))
    assert kinds(seen(rows, *segments, partitions={0, 1})) == [(1, Kind.NEXT)]


def test_names_on_their_way_out_count_for_nothing() -> None:
    rows, records = [name(0, 0), name(0, 1)], [name(0, 0), name(0, 1), name(0, 2), name(1, 0), "uploaded"]
    assert latest_names(rows, records, {name(0, 2)}) == [name(0, 1), name(1, 0)]
    assert latest_names(rows, records, ()) == [name(0, 1), name(0, 2), name(1, 0)]


# -- what is written


def blueprint(servers: int = 2) -> Blueprint:
    return Blueprint(
        raw="t",
        typed="t_REALTIME",
        replicas=2,
        topics=1,
        instances=[f"Server_s_{i}" for i in range(servers)],
        flush_of=lambda _: FlushThresholds(segment_rows=100),
        partitions_per_server=1,
        partition_metadata=lambda _: None,
    )


def test_a_half_commit_is_finished_in_one_go() -> None:
    latest = known(0, 0, "DONE", end="40")
    what = seen({name(0, 0): "CC"}, latest)
    changes = plan_changes(diagnose(what, NOW), what.ideal, blueprint(), {0: Start("40")}, [name(0, 0)], NOW)
    new = name(0, 1)
    assert changes.rows == {
        name(0, 0): dict.fromkeys(("Server_s_0", "Server_s_1"), "ONLINE"),
        new: what.ideal.maps[name(0, 0)],
    }
    assert changes.created[new].simple["segment.realtime.startOffset"] == "40"
    assert changes.created[new].simple["segment.flush.threshold.size"] == "100"
    assert changes.checked == {name(0, 0): 3}
    assert len(changes.sentences) == 1


def test_a_segment_never_takes_a_name_that_is_in_use_or_still_being_deleted() -> None:
    what = seen({name(0, 0): "OO"}, known(0, 0, "DONE", end="40"))
    taken = [name(0, 0), name(0, 1), name(0, 1, NOW + MINUTE)]
    changes = plan_changes(diagnose(what, NOW), what.ideal, blueprint(), {0: Start("40")}, taken, NOW)
    assert list(changes.created) == [name(0, 1, NOW + 2 * MINUTE)]


def test_rows_that_left_the_stream_are_a_loss_with_its_range() -> None:
    what = seen({name(0, 0): "OO"}, known(0, 0, "DONE", end="40"))
    changes = plan_changes(diagnose(what, NOW), what.ideal, blueprint(), {0: Start("70", lost_from="40")}, (), NOW)
    assert [(x.partition, x.start, x.end) for x in changes.losses] == [(0, "40", "70")]
    assert "from 40 to 70" in changes.sentences[1]


def test_too_few_servers_refuse_the_whole_repair() -> None:
    what = seen({}, partitions={0})
    with pytest.raises(StateConflict, match="2 replicas"):
        plan_changes(diagnose(what, NOW), what.ideal, blueprint(1), {0: Start("0")}, (), NOW)


def test_adoption_assigns_the_record_that_is_there() -> None:
    what = seen({name(0, 0): "CC"}, known(0, 0, "DONE", end="9"), known(0, 1, start="9", version=1))
    changes = plan_changes(diagnose(what, NOW), what.ideal, blueprint(), {}, (), NOW)
    assert changes.rows[name(0, 1)] == what.ideal.maps[name(0, 0)]
    assert set(changes.rows[name(0, 0)].values()) == {"ONLINE"}
    assert changes.created == {}
    assert changes.checked == {name(0, 0): 3, name(0, 1): 1}


def test_a_record_nobody_continues_from_is_removed_at_its_version() -> None:
    what = seen({name(0, 0): "CC"}, known(0, 0), known(0, 1, start="9", version=4))
    changes = plan_changes(diagnose(what, NOW), what.ideal, blueprint(), {}, (), NOW)
    assert (changes.discarded, changes.rows) == ({name(0, 1): 4}, {})


def test_a_case_without_a_start_is_left_for_later() -> None:
    assert plan_changes([Case(0, Kind.FIRST)], new_ideal_state("t", 2), blueprint(), {}, (), NOW).is_empty


# -- assignment


def test_partitions_go_round_the_servers() -> None:
    servers = ["a", "b", "c"]
    assert [servers_of_partition("t", p, 2, servers) for p in range(3)] == [["a", "b"], ["c", "a"], ["b", "c"]]


def test_tables_do_not_all_begin_with_the_same_server() -> None:
    first = {in_order(f"table{i}", ["b", "a", "c"])[0] for i in range(40)}
    assert first == {"a", "b", "c"}
    assert sorted(in_order("t", ["b", "a"])) == ["a", "b"]
    assert in_order("t", []) == []


@pytest.mark.parametrize(
    ("partitions", "replicas", "servers", "most"),
    [(2, 2, 2, 2), (3, 2, 4, 2), (3, 4, 6, 2), (6, 2, 6, 2), (1, 1, 5, 1), (0, 1, 0, 1)],
)
def test_the_busiest_server_has_its_share_rounded_up(partitions: int, replicas: int, servers: int, most: int) -> None:
    assert most_partitions_per_server(partitions, replicas, servers) == most


# -- deletion from a sequence on


def test_from_the_lowest_given_sequence_of_each_partition_on() -> None:
    assigned = [name(p, s) for p in range(3) for s in range(10)]
    plan = plan_deletion(assigned, [name(0, 3), name(0, 7), name(1, 5), "nonsense", name(2, 99)])
    assert {p: [s.split("__")[2] for s in d.segments] for p, d in plan.items()} == {
        0: list("3456789"),
        1: list("56789"),
    }
    assert plan[0].to_json() == {
        "segmentsToDelete": [name(0, s) for s in range(3, 10)],
        "oldestSegment": name(0, 3),
        "latestSegment": name(0, 9),
        "segmentCount": 7,
    }

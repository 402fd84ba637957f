"""The completion machine against the black-box cases of Pinot's own tests; where ours is kinder to a commit the case
says so.
"""

from __future__ import annotations

import pytest

from segments.domain.realtime.completion import Action, Answer, Kind, Message, State, Status, open_machine, step
from segments.domain.realtime.completion.machine import CAP_MS, Machine, from_record
from segments.domain.realtime.completion.rule_tables import TABLES
from segments.domain.realtime.streams.stream_offset import parse_offset
from segments.errors import InvalidInput
from tests.domain.completion.script import P40, Stage, at, parse_cases

CASES = parse_cases(
    """
# happy path with three offsets
P40
10 C S3 40 -> HOLD 40; 11 S S2 40 -> COMMIT_CONTINUE | UPLOADING; 16 E S2 40 -> COMMIT_SUCCESS | gone
17 C S1 40 -> KEEP 40
# one replica stops during completion
5 C S1 20 -> HOLD; 6 C S2 40 -> HOLD; 7 X S3 30 IAmLazy -> PROCESSED | HOLDING; 8 C S1 20 -> CATCH_UP 40 | DECIDED
9 C S2 40 -> COMMIT 40; 10 C S3 40 -> HOLD; 11 S S2 40 -> COMMIT_CONTINUE; 16 E S2 40 -> COMMIT_SUCCESS
17 C S1 40 -> KEEP
# a stopped server comes back before the vote
5 X S2 40 -> PROCESSED | PARTIAL; 6 C S1 20 -> HOLD | HOLDING; 7 C S2 40 -> HOLD; 8 C S3 30 -> CATCH_UP 40
9 C S1 20 -> CATCH_UP; 10 C S2 40 -> COMMIT
# the time limit gets no shortcut
10 C S1 20 timeLimit -> HOLD
# the row limit wins at once
10 C S1 20 rowLimit -> COMMIT 20 | NOTIFIED; 11 C S2 20 rowLimit -> HOLD; 12 C S3 30 timeLimit -> HOLD
13 S S1 20 -> COMMIT_CONTINUE; 18 E S1 20 -> COMMIT_SUCCESS; 18 C S2 20 -> KEEP; 18 C S3 30 -> DISCARD
# everybody silent for an hour
P40
3608 C S2 40 -> HOLD | gone; 3608 C S2 40 -> HOLD | HOLDING; 3612 C S2 40 -> COMMIT
# a build that cannot succeed ends the round
5 C S1 20 -> HOLD; 6 C S2 20 -> HOLD; 7 C S3 20 -> COMMIT; 8 B S3 -> PROCESSED | gone; 13 C S3 10 -> HOLD
13 C S1 10 -> HOLD; 13 C S2 10 -> COMMIT
# the winner comes back lower
5 C S1 20; 6 C S2 40; 7 C S3 30 -> CATCH_UP 40; 8 C S2 35 -> HOLD 35 | gone
# the winner asks twice
P40
10 C S2 40 -> COMMIT 40 | NOTIFIED; 11 S S2 40 -> COMMIT_CONTINUE
# commit start at another offset changes nothing (Pinot ends the round)
P40
10 S S2 41 -> HOLD 41 | NOTIFIED; 11 S S2 40 -> COMMIT_CONTINUE
# a stray commit end changes nothing (Pinot ends the round)
P40
10 S S2 40; 11 E S3 40 -> FAILED | UPLOADING; 11 E S2 41 -> FAILED | UPLOADING; 12 E S2 40 -> COMMIT_SUCCESS
# the upload has time of its own (Pinot counts from the round's start)
P40
100 S S2 40; 131.7 C S3 40 -> HOLD | UPLOADING; 219 C S3 40 -> HOLD | UPLOADING; 219.5 E S2 40 -> COMMIT_SUCCESS
# a committer that is silent for too long is given up
P40
100 S S2 40; 220.1 C S3 40 -> HOLD | gone; 221 E S2 40 -> FAILED
# nobody asked: a late commit end is fine
P40
100 S S2 40; 900 E S2 40 -> COMMIT_SUCCESS
# an extension never shortens (Pinot's may)
P40
10 L S2 40 [20] -> PROCESSED; 100 C S1 40 -> HOLD | NOTIFIED; 120 S S2 40 -> COMMIT_CONTINUE
# who stopped does not count (Pinot elects it)
5 C S1 20 -> HOLD; 6 X S1 20 -> PROCESSED; 7 C S2 40 -> HOLD; 8 C S3 30 -> CATCH_UP 40; 8 C S2 40 -> COMMIT
# a repeated commit end of another content is refused, then KEEP
P40
10 S S2 40; 11 E S2 40 -> COMMIT_SUCCESS; 12 E S2 40 -> FAILED; 13 C S2 40 -> KEEP
# the row limit is a shortcut for the first only
5 C S1 20 timeLimit -> HOLD; 6 C S2 40 rowLimit -> HOLD
# the end of the partition wins at once
5 C S1 20 endOfPartitionGroup -> COMMIT
# a failed build elsewhere does not disturb an upload
P40
10 S S2 40; 11 B S3 -> DISCARD | UPLOADING; 12 E S2 40 -> COMMIT_SUCCESS
# only the committer starts a commit (Pinot: anybody)
P40
10 S S3 40 -> HOLD | NOTIFIED; 10 S S1 20 -> HOLD | NOTIFIED; 11 S S2 40 -> COMMIT_CONTINUE
# only the committer extends its time
P40
10 L S3 40 -> FAILED | NOTIFIED; 10 L S2 30 -> FAILED; 10 L S2 40 -> PROCESSED
# the lease covers the upload
P40
10 S S2 40; 100 L S2 40 [200] -> PROCESSED; 299 C S1 40 -> HOLD | UPLOADING; 300.1 C S1 40 -> HOLD | gone
# no extension before there is a committer
5 C S1 20 -> HOLD; 6 L S1 20 -> FAILED | HOLDING
# commit start may be repeated
P40
10 S S2 40 -> COMMIT_CONTINUE; 11 S S2 40 -> COMMIT_CONTINUE | UPLOADING; 12 E S2 40 -> COMMIT_SUCCESS
# a committer that lost an answer begins again and goes on (Pinot ends the round)
P40
10 S S2 40; 20 C S2 40 -> COMMIT 40 | UPLOADING; 21 S S2 40 -> COMMIT_CONTINUE; 22 E S2 40 -> COMMIT_SUCCESS
# a committer that gets nowhere makes way for a replica at the same offset (Pinot waits out its time)
P40
10 C S2 40; 11 C S3 40 -> HOLD; 12 C S2 40; 13 C S3 40 -> HOLD; 14 C S2 40
15 C S1 30 -> CATCH_UP 40; 15 C S3 40 -> COMMIT 40 | NOTIFIED
16 S S2 40 -> HOLD; 17 C S2 40 -> HOLD; 18 S S3 40 -> COMMIT_CONTINUE; 19 E S3 40 -> COMMIT_SUCCESS; 20 C S2 40 -> KEEP
# the same when it can build but not upload
P40
10 S S2 40; 11 C S2 40; 12 S S2 40; 13 C S2 40; 14 S S2 40
15 C S2 40; 16 C S3 40 -> COMMIT 40 | NOTIFIED; 17 E S2 40 -> FAILED
18 S S3 40; 19 E S3 40 -> COMMIT_SUCCESS
# a committer that lost its rows gives the round up
P40
10 S S2 40; 20 C S2 10 -> HOLD 10 | gone
# a commit end without a start is refused
P40
10 E S2 40 -> FAILED | NOTIFIED
# a dead committer is replaced by the next that reports
P40
10 D S2; 11 C S1 40 -> COMMIT 40 | NOTIFIED; 12 S S1 40 -> COMMIT_CONTINUE; 13 E S2 40 -> FAILED | UPLOADING
14 E S1 40 -> COMMIT_SUCCESS
# a committer that stops is replaced
P40
10 X S2 40 -> PROCESSED | HOLDING; 11 C S3 40 -> COMMIT
# another dead replica changes nothing
P40
10 D S1 -> PROCESSED | NOTIFIED; 11 S S2 40 -> COMMIT_CONTINUE
# who reaches the winning offset first commits (Pinot waits for the chosen one)
5 C S1 40 -> HOLD; 5.1 C S2 20 -> HOLD; 5.2 C S3 30 -> CATCH_UP 40 | DECIDED; 5.3 C S3 40 -> COMMIT | NOTIFIED
8 C S1 40 -> HOLD
# a replica that is ahead of the choice takes it
5 C S1 40; 5.1 C S2 30; 8.4 C S2 30 -> CATCH_UP 40 | DECIDED; 8.5 C S3 50 -> COMMIT 50; 9 C S1 40 -> CATCH_UP 50
# a chosen one that never comes back
5 C S1 40; 6 C S2 20; 7 C S3 30 -> CATCH_UP; 11.7 C S3 30 -> HOLD | gone
# nobody waits for the missing after the window
5 C S1 20 -> HOLD; 8.3 C S1 20 -> HOLD; 8.4 C S1 20 -> COMMIT
# one replica
5 C S1 20 timeLimit -> COMMIT 20 | NOTIFIED
# two replicas
5 C S1 20 -> HOLD; 6 C S2 20 -> COMMIT 20 | NOTIFIED; 7 S S2 20 -> COMMIT_CONTINUE; 8 E S2 20 -> COMMIT_SUCCESS
9 C S1 20 -> KEEP 20
# a server behind a commit is told to catch up, one ahead waits
P40
10 C S1 30 -> CATCH_UP 40; 10 C S3 50 -> HOLD 50 | NOTIFIED
# an excluded server cannot start a commit
5 X S1 20; 6 S S1 20 -> FAILED
# messages after the commit
P40
10 S S2 40; 11 E S2 40; 12 S S2 40 -> KEEP 40; 12 S S1 30 -> DISCARD; 13 X S1 30 -> PROCESSED; 14 B S1 -> DISCARD
15 L S2 40 -> FAILED
"""
)


@pytest.mark.parametrize("script", CASES.values(), ids=CASES.keys())
def test_the_machine_answers_as_the_case_says(script: str) -> None:
    few = {CASES["one replica"]: 1, CASES["two replicas"]: 2}
    Stage(replicas=few.get(script, 3)).play(script)


def test_the_committers_answer_carries_its_time() -> None:
    stage = Stage().play("5 C S1 20; 6 C S2 40; 7 C S3 30")
    answer = stage.say(Message(Kind.CONSUMED, "S2", at(40)), 9_000)
    assert answer.build_time_s == 126
    assert answer.to_json() == {
        "status": "COMMIT",
        "streamPartitionMsgOffset": "40",
        "buildTimeSec": 126,
        "isSplitCommitType": True,
    }


def test_a_slow_commit_is_remembered_for_the_next_rounds_of_the_table() -> None:
    stage = Stage().play(
        """5 C S1 20; 6 C S2 40; 7 C S3 30; 8 C S1 20; 9 C S2 40 -> COMMIT
        130 L S2 40 [20] -> PROCESSED; 149 L S2 40 [20] -> PROCESSED
        164 S S2 40 -> COMMIT_CONTINUE; 219 E S2 40 -> COMMIT_SUCCESS"""
    )
    assert stage.remembered_ms == 159_000
    following = Stage(replicas=1, remembered_ms=stage.remembered_ms)
    assert following.say(Message(Kind.CONSUMED, "S1", at(50)), 300_000).build_time_s == 159


def test_no_commit_gets_more_than_half_an_hour_and_asking_for_it_does_no_harm() -> None:
    """Pinot ends the round."""
    stage = Stage().play(P40)
    for second in range(130, 1771, 20):
        stage.play(f"{second} L S2 40 [20] -> PROCESSED | NOTIFIED")
    stage.play("1790 L S2 40 [20] -> FAILED | NOTIFIED; 1790 C S1 40 -> HOLD; 1806 S S2 40 -> HOLD | gone")


def test_a_missing_extension_is_two_minutes() -> None:
    stage = Stage().play(P40).play("100 L S2 40 -> PROCESSED")
    assert stage.machine is not None
    assert stage.machine.deadline_ms == 220_000


def test_what_must_be_done_is_reported_next_to_the_answer() -> None:
    stage = Stage().play("5 X S1 20; 6 C S2 20; 7 C S3 20 -> COMMIT; 8 B S3")
    assert stage.actions == [Action.STOP_REPLICA, Action.NOTHING, Action.NOTHING, Action.LOWER_LIMIT]


def test_a_repeated_commit_end_of_the_same_content_succeeds_again() -> None:
    stage = Stage().play(P40).play("10 S S2 40; 11 E S2 40")
    repeated = Message(Kind.COMMIT_END, "S2", at(40), is_same_content=True)
    assert stage.say(repeated, 12_000) == Answer(Status.COMMIT_SUCCESS)
    assert stage.actions[-1] is Action.NOTHING


def test_where_the_partition_ended_is_kept_for_the_commit() -> None:
    stage = Stage().play("5 C S1 20 endOfPartitionGroup -> COMMIT")
    assert stage.machine is not None
    assert stage.machine.ended_at == at(20)


@pytest.mark.parametrize(
    ("said", "has_rows"),
    [
        ([("S1", True), ("S2", False)], True),
        ([("S1", True), ("S2", False), ("S1", False)], False),
        ([("S1", False), ("S2", False)], False),
    ],
)
def test_a_commit_knows_whether_a_replica_has_rows_behind_its_end(said: list[tuple[str, bool]], has_rows: bool) -> None:
    machine: Machine | None = open_machine("kafka", 3, 0, commit_timeout_ms=120_000)
    for instance, has_read_on in said:
        assert machine is not None
        message = Message(Kind.CONSUMED, instance, at(20), has_read_on=has_read_on)
        machine = step(from_record(machine.to_record("s")), message, 100).machine
    assert machine is not None
    assert machine.has_rows_behind is has_rows
    gone = step(machine, Message(Kind.STOPPED, "S1"), 200).machine
    assert gone is not None
    assert not gone.has_rows_behind


def test_a_clock_that_goes_back_opens_no_window_for_ever() -> None:
    machine = open_machine("kafka", 3, 3_600_000, commit_timeout_ms=120_000)
    held = step(machine, Message(Kind.CONSUMED, "S1", at(20)), 3_600_000).machine
    assert held is not None
    earlier = step(held, Message(Kind.CONSUMED, "S1", at(20)), 1_000).machine
    assert earlier is not None
    assert earlier.start_ms == 1_000
    assert step(earlier, Message(Kind.CONSUMED, "S1", at(20)), 4_400).answer.status is Status.COMMIT


def test_an_hours_jump_ahead_only_begins_a_new_round() -> None:
    Stage().play(P40).play(
        "4000 C S1 40 -> HOLD | gone; 4000 C S1 40 -> HOLD; 4001 C S2 40 -> HOLD; 4002 C S3 40 -> COMMIT"
    )


def test_redis_entry_ids_are_compared_as_such() -> None:
    low, high = parse_offset("redis", "9-5"), parse_offset("redis", "10-0")
    machine = open_machine("redis", 2, 0, commit_timeout_ms=120_000)
    first = step(machine, Message(Kind.CONSUMED, "S1", high), 1).machine
    assert first is not None
    assert step(first, Message(Kind.CONSUMED, "S2", low), 2).answer == Answer(Status.CATCH_UP, "10-0")


def test_a_message_without_its_offset_is_refused() -> None:
    with pytest.raises(InvalidInput):
        step(open_machine("kafka", 1, 0, commit_timeout_ms=1), Message(Kind.CONSUMED, "S1"), 0)


@pytest.mark.parametrize("protocol", list(TABLES))
@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("state", list(State))
def test_every_message_has_an_answer_in_every_state(protocol: str, kind: Kind, state: State) -> None:
    rules = TABLES[protocol][kind][state]
    machine = open_machine("kafka", 3, 0, commit_timeout_ms=120_000, kind=protocol)
    machine = type(machine)(**{**machine.__dict__, "state": state})
    if state in (State.COMMITTER_DECIDED, State.COMMITTER_NOTIFIED, State.COMMITTER_UPLOADING, State.COMMITTED):
        machine = type(machine)(
            **{**machine.__dict__, "winner": "S1", "winning": at(40), "offsets": {"S1": at(40)}, "deadline_ms": 126_600}
        )
    for who in ("S1", "S2"):
        for offset in (30, 40, 50):
            for now in (1, 5_000, 200_000, CAP_MS + 1):
                assert step(machine, Message(kind, who, at(offset)), now).answer.status in {r.status for r in rules}

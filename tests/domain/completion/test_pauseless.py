"""Pauseless rounds: the commit starts before its segment is built, and its end is fixed from then on."""

from __future__ import annotations

import pytest

from segments.domain.realtime.completion import PAUSELESS, STANDARD, Action, State
from tests.domain.completion.script import P40, Stage, at, parse_cases

CASES = parse_cases(
    """
# the others keep what they have once the commit has started
P40
10 C S3 40 -> HOLD 40 | NOTIFIED; 11 S S2 40 -> COMMIT_CONTINUE | UPLOADING; 12 C S3 40 -> KEEP 40; 13 C S1 40 -> KEEP
14 E S2 40 -> COMMIT_SUCCESS | gone; 15 C S1 40 -> KEEP
# who is behind the fixed end catches up, who is past it lets go of its rows
P40
11 S S2 40; 12 C S1 30 -> CATCH_UP 40; 13 C S3 50 -> DISCARD; 14 E S2 40 -> COMMIT_SUCCESS
# the build begins after the commit's start, and only then is there more time for it
P40
10 L S2 40 -> FAILED | NOTIFIED; 11 S S2 40; 12 L S2 40 [120] -> PROCESSED; 13 L S3 40 -> FAILED
# a failed build elsewhere does not disturb the commit
P40
11 S S2 40; 12 B S3 -> DISCARD | UPLOADING; 13 E S2 40 -> COMMIT_SUCCESS
# extensions carry a build over the time that a commit usually gets
P40
10 S S2 40; 100 L S2 40 [200] -> PROCESSED; 250 L S2 40 [200] -> PROCESSED; 300 C S3 40 -> KEEP 40
311 E S2 40 -> COMMIT_SUCCESS
# a committer that asks again goes on (Pinot gives the commit up)
P40
11 S S2 40; 20 C S2 40 -> COMMIT 40 | UPLOADING; 21 S S2 40 -> COMMIT_CONTINUE; 22 E S2 40 -> COMMIT_SUCCESS
# a committer that is late is replaced at the same end
P40
11 S S2 40; 132 C S3 40 -> COMMIT 40 | UPLOADING; 133 E S2 40 -> FAILED; 134 S S3 40 -> COMMIT_CONTINUE
135 E S3 40 -> COMMIT_SUCCESS
# one that nobody replaced ends its commit however late
P40
11 S S2 40; 9000 E S2 40 -> COMMIT_SUCCESS
# a committer that died is replaced at the same end
P40
11 S S2 40; 12 D S2 -> PROCESSED | UPLOADING; 13 C S1 30 -> CATCH_UP 40; 14 C S1 40 -> COMMIT 40
15 S S1 40 -> COMMIT_CONTINUE; 16 E S1 40 -> COMMIT_SUCCESS
# a committer that stops is replaced at the same end
P40
11 S S2 40; 12 X S2 40 -> PROCESSED | UPLOADING; 13 C S3 40 -> COMMIT 40; 14 S S3 40; 15 E S3 40 -> COMMIT_SUCCESS
# a committer that lost its rows reads them again, up to the same end
P40
11 S S2 40; 12 C S2 10 -> CATCH_UP 40 | UPLOADING; 13 C S2 40 -> COMMIT 40; 14 S S2 40; 15 E S2 40 -> COMMIT_SUCCESS
# a committer that cannot upload makes way
P40
11 S S2 40; 12 C S2 40; 13 C S2 40; 14 C S2 40; 15 C S3 40 -> COMMIT 40; 16 S S3 40; 17 E S3 40 -> COMMIT_SUCCESS
# only the committer starts and ends the commit
P40
10 S S3 40 -> HOLD | NOTIFIED; 11 S S2 40 -> COMMIT_CONTINUE; 12 S S3 40 -> HOLD | UPLOADING; 13 E S3 40 -> FAILED
14 E S2 40 -> COMMIT_SUCCESS
"""
)


@pytest.mark.parametrize("script", CASES.values(), ids=CASES.keys())
def test_the_machine_answers_as_the_case_says(script: str) -> None:
    Stage(kind=PAUSELESS).play(script)


def test_a_commit_starts_once_and_ends_once() -> None:
    stage = Stage(kind=PAUSELESS).play(P40).play("11 S S2 40; 16 E S2 40")
    assert stage.actions[-2:] == [Action.START, Action.COMMIT]


def test_a_round_of_which_only_the_segments_record_is_left_goes_on_at_its_end() -> None:
    stage = Stage(kind=PAUSELESS).play(P40).play("11 S S2 40")
    stage.machine = None
    stage.play("12 C S3 50 -> DISCARD; 13 C S1 30 -> CATCH_UP 40; 14 C S2 40 -> COMMIT 40; 15 C S1 40 -> KEEP 40")
    stage.play("16 S S2 40 -> COMMIT_CONTINUE; 17 E S2 40 -> COMMIT_SUCCESS")


def test_a_build_that_fails_when_only_the_segments_record_is_left_changes_nothing() -> None:
    """Pinot: a fault of the server."""
    stage = Stage(kind=PAUSELESS).play(P40).play("11 S S2 40")
    stage.machine = None
    stage.play("12 B S2 -> DISCARD")
    assert stage.actions[-1] is Action.NOTHING
    stage.play("13 C S2 40 -> COMMIT 40; 14 S S2 40 -> COMMIT_CONTINUE; 15 E S2 40 -> COMMIT_SUCCESS")


def test_a_commit_end_that_finds_no_committer_is_refused_until_somebody_is_it_again() -> None:
    stage = Stage(kind=PAUSELESS).play(P40).play("11 S S2 40")
    stage.machine = None
    stage.play("12 E S2 40 -> FAILED; 13 C S2 40 -> COMMIT 40; 14 S S2 40; 15 E S2 40 -> COMMIT_SUCCESS")


def test_no_commit_starts_while_the_partition_has_too_many_under_way() -> None:
    stage = Stage(kind=PAUSELESS, is_crowded=True).play("5 C S1 20 rowLimit -> HOLD 20 | HOLDING; 20 C S1 20 -> HOLD")
    stage.is_crowded = False
    stage.play("21 C S1 20 -> COMMIT 20")
    stage.is_crowded = True
    stage.play("22 S S1 20 -> HOLD 20 | NOTIFIED")
    stage.is_crowded = False
    stage.play("23 S S1 20 -> COMMIT_CONTINUE; 24 E S1 20 -> COMMIT_SUCCESS")


@pytest.mark.parametrize(("opened", "later"), [(STANDARD, PAUSELESS), (PAUSELESS, STANDARD)])
def test_a_round_keeps_the_protocol_it_was_opened_with(opened: str, later: str) -> None:
    stage = Stage(kind=opened).play(P40)
    stage.kind = later
    stage.play("11 S S2 40 -> COMMIT_CONTINUE | UPLOADING")
    assert stage.started == (at(40) if opened == PAUSELESS else None)
    stage.play("12 E S2 40 -> COMMIT_SUCCESS")
    assert stage.machine is None


def test_where_a_started_commit_stands_is_read_back_with_and_without_a_committer() -> None:
    stage = Stage(kind=PAUSELESS).play(P40).play("11 S S2 40; 12 D S2")
    assert stage.machine is not None
    assert (stage.machine.winner, stage.machine.winning, stage.machine.state) == (
        None,
        at(40),
        State.COMMITTER_UPLOADING,
    )
    assert stage.machine.has_started

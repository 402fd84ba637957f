"""When a consuming segment ends and what each answer of the controller means to it; lease and upload limits."""

from __future__ import annotations

from typing import Any

import pytest

from segments.dataplane.server.consuming import decisions
from segments.dataplane.server.consuming.commit.lease import Lease
from segments.dataplane.server.consuming.decisions import Committed, Limits, Next, Online, Progress
from segments.domain.realtime.streams.stream_offset import parse_offset
from segments.gateways import controller_protocol as protocol
from segments.gateways.controller_protocol import Answer, HttpController, Report
from segments.gateways.signed_calls import CallSigner
from tests.dataplane.world import poll

HOUR = 3_600_000
REPORT = Report("r__0__0__20260101T0000Z", "Server_a_1", "7")


def at(number: int) -> Any:
    """An offset."""
    return parse_offset("kafka", str(number))


@pytest.mark.parametrize(
    ("now_ms", "progress", "reason"),
    [
        (99, Progress(9, 9, 9), None),
        (100, Progress(9, 9, 9), "timeLimit"),
        (100, Progress(0, 0, 0), None),
        (100 + 30 * HOUR, Progress(0, 0, 0), None),
        (99, Progress(10, 10, 9), "rowLimit"),
        (100, Progress(10, 10, 9), "timeLimit"),
        (99, Progress(9, 9, 9, is_end_of_partition=True, is_forced=True), "endOfPartitionGroup"),
        (99, Progress(0, 0, 0, is_forced=True), "forceCommitMessageReceived"),
        (99, Progress(9, 9, 1000), "indexCapacityThresholdBreached"),
    ],
)
def test_a_segment_ends_for_the_first_reason_in_pinots_order(
    now_ms: int, progress: Progress, reason: str | None
) -> None:
    limits = Limits(rows=10, until_ms=100, bytes=1000).seen(progress, now_ms)
    assert decisions.stop_reason(limits, progress, now_ms) == reason


def test_an_idle_partition_never_commits_and_its_first_rows_end_with_the_hour_in_which_they_came() -> None:
    limits = Limits(rows=10, until_ms=100, bytes=1000)
    for now_ms in (99, 100, 100 + HOUR, 5 * HOUR):
        limits = limits.seen(Progress(0, 0, 0), now_ms)
        assert limits.until_ms > now_ms
    came = Progress(1, 1, 1)
    assert limits.until_ms == 100 + 5 * HOUR
    assert limits.seen(came, 100 + 5 * HOUR) == limits
    assert decisions.stop_reason(limits, came, 99 + 5 * HOUR) is None
    assert decisions.stop_reason(limits, came, 100 + 5 * HOUR) == "timeLimit"


def test_a_segment_that_begins_again_late_still_gets_ten_minutes() -> None:
    fresh = Limits.of(rows=1, created_ms=1000, flush_ms=6 * HOUR, bytes_=1, now_ms=2000)
    assert fresh.until_ms == 1000 + 6 * HOUR
    again = Limits.of(rows=1, created_ms=1000, flush_ms=6 * HOUR, bytes_=1, now_ms=1000 + 7 * HOUR)
    assert again.until_ms == 1000 + 7 * HOUR + 600_000
    short = Limits.of(rows=1, created_ms=1000, flush_ms=5000, bytes_=1, now_ms=9000)
    assert short.until_ms == 14_000


@pytest.mark.parametrize(
    ("status", "winning", "step"),
    [
        ("COMMIT", None, Next.COMMIT),
        ("KEEP", None, Next.KEEP),
        ("DISCARD", None, Next.DISCARD),
        ("CATCH_UP", 9, Next.CATCH_UP),
        ("CATCH_UP", 7, Next.HOLD),
        ("CATCH_UP", 5, Next.HOLD),
        ("CATCH_UP", None, Next.HOLD),
        *(
            (status, None, Next.HOLD)
            for status in ("HOLD", "NOT_LEADER", "FAILED", "NOT_SENT", "PROCESSED", "whatever")
        ),
    ],
)
def test_what_follows_an_answer(status: str, winning: int | None, step: Next) -> None:
    assert decisions.next_step(status, at(7), None if winning is None else at(winning)) is step


def test_holding_asks_quickly_at_first_and_never_less_often_than_pinots_servers() -> None:
    pauses = [decisions.hold_pause_s(n) for n in range(1, 60)]
    assert pauses[0] <= 0.2
    assert pauses == sorted(pauses)
    assert pauses[-1] == 3.0


@pytest.mark.parametrize(
    ("current", "url", "options", "step"),
    [
        (7, "file:x", {}, Online.BUILD),
        (7, "file:x", {"downloads_only": True}, Online.DOWNLOAD),
        (7, "", {"downloads_only": True, "has_peers": True}, Online.DOWNLOAD),
        (7, "", {"downloads_only": True}, Online.BUILD),
        (5, "file:x", {}, Online.CATCH_UP),
        (5, "file:x", {"may_catch_up": False}, Online.DOWNLOAD),
        (9, "file:x", {}, Online.DOWNLOAD),
    ],
)
def test_how_a_segment_goes_online(current: int, url: str, options: dict[str, bool], step: Online) -> None:
    given = {"downloads_only": False, "has_peers": False, "may_catch_up": True, **options}
    assert decisions.online_step(Committed(at(7), 1, url), at(current), **given) is step


class Asked:
    """A controller that counts its requests."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.extended = list(answers), 0

    def extend_build_time(self, report: Report) -> Answer:
        self.extended += 1
        return Answer(self.answers.pop(0) if self.answers else protocol.PROCESSED)


def test_a_lease_is_extended_before_it_ends_and_no_more_afterwards() -> None:
    controller: Any = Asked()
    with Lease(controller, lambda: REPORT, build_time_s=1) as lease:
        lease._first_s = 0.0
        poll(lambda: controller.extended, 2.0, "an extension")
    assert controller.extended == 1


def test_a_controller_that_is_not_there_is_no_answer_and_the_next_address_is_asked() -> None:
    nobody = HttpController(["http://127.0.0.1:9", "http://127.0.0.1:9"], CallSigner("secret"), call_s=0.5)
    assert nobody.consumed(REPORT).status == protocol.NOT_SENT
    assert HttpController([], CallSigner("")).consumed(REPORT).status == protocol.NOT_SENT
    nobody.close()


@pytest.mark.parametrize("body", [None, [], {}, {"status": 5}, "HOLD"])
def test_an_answer_that_makes_no_sense_is_none(body: Any) -> None:
    assert Answer.of(body) == Answer(protocol.NOT_SENT)


def test_parameters_are_left_out_when_there_is_nothing_to_say() -> None:
    assert REPORT.params() == {"name": REPORT.segment, "instance": "Server_a_1", "streamPartitionMsgOffset": "7"}
    assert Report("s", "i", "1-0", "rowLimit", rows=3).params()["rowCount"] == "3"

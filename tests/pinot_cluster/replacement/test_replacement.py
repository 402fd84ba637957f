"""Replacements on a Pinot cluster: decided here, done by Pinot once, verified when an answer is lost, shown by its
brokers.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from segments.clusters.pinot.replacement import start as pinot_replacement
from segments.domain.pinot.capabilities import parse_version
from segments.domain.pinot.cleanup import rollback_until_ms
from segments.errors import NotFound, OutcomeUnknown, PreconditionFailed, StateConflict, Unavailable
from segments.models import AuditEvent
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.pins import pin_entry
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from tests.faults.faulty import Cut
from tests.pinot_cluster.fake_pinot import Fault, Match, PinotCluster, PinotRest
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

LOST = [Fault.LOSE_BEFORE, Fault.LOSE_AFTER, Fault.ERROR_BEFORE, Fault.ERROR_AFTER, Fault.GATEWAY_AFTER]
CUTS = [Fault.CUT_BEFORE, Fault.CUT_AFTER]


def started(
    pinot: PinotCluster, old: list[str], new: list[str], *, force: bool = False, intent: str | None = None
) -> str:
    pinot.inside.now += 1000
    return start_replace(pinot.ctx, TABLE, old, new, force_cleanup=force, actor=ANN, entry_id=intent)


def replaced(pinot: PinotCluster, old: list[str], new: list[str]) -> str:
    entry = started(pinot, old, new)
    pinot.inside.upload(*new)
    end_replace(pinot.ctx, TABLE, entry, actor=ANN)
    return entry


def switch(pinot: PinotCluster) -> None:
    """Start, upload, end; requested again after a cut it goes on where it was."""
    entry = start_replace(pinot.ctx, TABLE, ["a"], ["b"], actor=ANN, entry_id="push-1")
    pinot.inside.upload("b")
    end_replace(pinot.ctx, TABLE, entry, actor=ANN)


@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("number", [1, 2])
def test_a_lost_or_hidden_answer_is_verified_and_the_change_is_made_once(
    pinot: PinotCluster, fault: Fault, number: int
) -> None:
    pinot.rest.faults[number] = fault
    switch(pinot)
    assert pinot.visible == ["b"]
    assert pinot.entries() == [(("a",), ("b",), "COMPLETED")]
    repeats = 1 if fault in (Fault.LOSE_BEFORE, Fault.ERROR_BEFORE) else 0
    assert len(pinot.rest.changes) == 2 + repeats


@pytest.mark.parametrize("fault", CUTS)
@pytest.mark.parametrize("number", [1, 2])
def test_a_process_that_dies_at_any_change_is_followed_by_one_that_ends_the_same(
    pinot: PinotCluster, fault: Fault, number: int
) -> None:
    pinot.rest.faults[number] = fault
    with pytest.raises(Cut):
        switch(pinot)
    pinot.connect()
    switch(pinot)
    assert pinot.visible == ["b"]
    assert pinot.entries() == [(("a",), ("b",), "COMPLETED")]


@pytest.mark.parametrize("fault", LOST)
def test_a_revert_whose_answer_is_lost_is_verified(pinot: PinotCluster, fault: Fault) -> None:
    entry = replaced(pinot, ["a"], ["b"])
    pinot.rest.faults[len(pinot.rest.changes) + 1] = fault
    revert_replace(pinot.ctx, TABLE, entry, actor=ANN)
    assert (pinot.visible, pinot.entries()) == (["a"], [(("a",), ("b",), "REVERTED")])


def test_a_repeated_start_never_cleans_up_the_one_whose_answer_was_lost(pinot: PinotCluster) -> None:
    pinot.rest.faults[1] = Fault.LOSE_BEFORE
    started(pinot, ["a"], ["b"], force=True)
    assert [p["forceCleanup"] for p in pinot.rest.params] == ["true", "false"]


def test_what_cannot_be_verified_is_unknown_and_found_by_the_next_call(
    pinot: PinotCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segments.clusters.pinot.calls._CHECK_S", 0.0)
    pinot.rest.faults[1] = Fault.LOSE_AFTER

    def silent(*args: object) -> None:
        raise Unavailable("down")

    with monkeypatch.context() as patch:
        patch.setattr(
            "segments.clusters.pinot.replacement.start.resolve_start",
            lambda *a: silent() if pinot.rest.changes else None,
        )
        with pytest.raises(OutcomeUnknown, match="could not be checked"):
            started(pinot, ["a"], ["b"], intent="mine")
    entry = started(pinot, ["a"], ["b"], intent="mine")
    assert len(pinot.entries()) == 1
    assert len(pinot.rest.changes) == 1
    assert observe(pinot.ctx, TABLE).lineage.entry(entry).segments_to == ("b",)


def test_a_change_that_never_arrives_is_unknown_after_a_few_attempts(pinot: PinotCluster) -> None:
    pinot.rest.faults.update(dict.fromkeys(range(1, 10), Fault.ERROR_BEFORE))
    with pytest.raises(OutcomeUnknown, match="not found after each of 4 attempts"):
        started(pinot, ["a"], ["b"])
    assert len(pinot.rest.changes) == 4


def test_a_start_that_pinot_answers_late_is_verified_and_not_sent_again(
    pinot: PinotCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.11.0 answers only when what a start cleans up is deleted, minutes later; whoever asks has the entry's name at
    once.
    """
    monkeypatch.setattr(pinot_replacement, "_ANSWER_S", 0.05)
    monkeypatch.setattr(pinot_replacement, "_POLL_S", 0.0)
    looks: list[int] = []
    plain = PinotRest._lineage

    def late(self: PinotRest, request: httpx.Request, found: Match) -> httpx.Response:
        """The lineage shows it at the third read after the start only."""
        looks.extend([1] if self.changes else [])
        if len(looks) == 3:
            start_replace(pinot.inside.ctx, TABLE, ["a"], ["b"], actor=ANN)
        return plain(self, request, found)

    monkeypatch.setattr(PinotRest, "_lineage", late)
    pinot.rest.before[1] = lambda: threading.Event().wait(0.1)
    pinot.rest.faults[1] = Fault.LOSE_BEFORE
    entry = started(pinot, ["a"], ["b"], force=True)
    assert (pinot.entries(), len(looks) >= 3) == ([(("a",), ("b",), "IN_PROGRESS")], True)
    assert observe(pinot.ctx, TABLE).lineage.entry(entry).segments_to == ("b",)
    assert pinot.rest.changes == [f"POST /segments/{TABLE.raw}/startReplaceSegments"]


def test_what_our_rules_refuse_is_never_sent(pinot: PinotCluster) -> None:
    with pytest.raises(NotFound):
        started(pinot, ["nothing"], ["b"])
    with pytest.raises(PreconditionFailed):
        end_replace(pinot.ctx, TABLE, started(pinot, ["a"], ["b"]), actor=ANN)
    assert len(pinot.rest.changes) == 1


def test_a_name_of_a_reverted_push_is_refused_since_pinot_would_delete_it(pinot: PinotCluster) -> None:
    revert_replace(pinot.ctx, TABLE, started(pinot, ["a"], ["b"]), force=True, actor=ANN)
    with pytest.raises(StateConflict, match="taken back"):
        started(pinot, ["a"], ["b"])


def test_the_reason_behind_a_500_that_hides_it_is_found_by_deciding_again(pinot: PinotCluster) -> None:
    def taken() -> None:
        start_replace(pinot.inside.ctx, TABLE, ["a"], ["c"], actor=ANN)

    pinot.rest.before[1] = taken
    with pytest.raises(StateConflict, match="already names"):
        started(pinot, ["a"], ["b"])
    assert len(pinot.entries()) == 1


def test_the_end_of_some_takes_out_what_it_leaves_before_anybody_sees_it(pinot: PinotCluster) -> None:
    entry = started(pinot, ["a"], ["b", "c"])
    pinot.inside.upload("b", "c")
    end_replace(pinot.ctx, TABLE, entry, segments_to=["b"], actor=ANN)
    assert pinot.visible == ["b"]
    assert [c.rpartition("/")[2] for c in pinot.rest.changes] == [
        "startReplaceSegments",
        "delete",
        "endReplaceSegments",
    ]


def wait_for_brokers(pinot: PinotCluster, seconds: float) -> None:
    """So long, so that a machine that stands still for a moment changes nothing."""
    pinot.ctx = replace(pinot.ctx, limits=replace(pinot.ctx.limits, broker_ack_s=seconds))


def test_an_end_returns_when_brokers_answer_from_the_new_side(pinot: PinotCluster) -> None:
    wait_for_brokers(pinot, 60.0)
    pinot.broker.old, pinot.broker.late = ["a"], 3
    replaced(pinot, ["a"], ["b"])
    assert len(pinot.broker.asked) >= 5
    assert AuditEvent.objects.get(action="endReplaceSegments", cluster="prod").detail["brokersVerified"] is True


def test_a_broker_that_missed_the_message_is_checked_directly(pinot: PinotCluster) -> None:
    """Pinot notifies its brokers once, after the lineage is written; a controller that ends in between never does."""
    wait_for_brokers(pinot, 4.0)
    pinot.broker.old, pinot.broker.late = ["a"], 10_000
    entry = replaced(pinot, ["a"], ["b"])
    assert pinot.broker.rebuilt == [TABLE.typed]
    pinot.broker.late = 10_000  # notified when whoever lost the answer asks for the end again, too
    sent = len(pinot.rest.changes)
    end_replace(pinot.ctx, TABLE, entry, actor=ANN)
    assert pinot.broker.rebuilt == [TABLE.typed] * 2
    assert len(pinot.rest.changes) == sent
    assert all(
        e.detail["brokersVerified"] for e in AuditEvent.objects.filter(action="endReplaceSegments", cluster="prod")
    )


def test_a_revert_that_is_asked_for_again_checks_the_brokers_too(pinot: PinotCluster) -> None:
    wait_for_brokers(pinot, 4.0)
    entry = replaced(pinot, ["a"], ["b"])
    revert_replace(pinot.ctx, TABLE, entry, actor=ANN)
    pinot.broker.old, pinot.broker.late = ["b"], 10_000
    with pytest.raises(StateConflict, match="already REVERTED"):
        revert_replace(pinot.ctx, TABLE, entry, actor=ANN)
    assert pinot.broker.rebuilt == [TABLE.typed]


def test_brokers_that_stay_behind_are_reported_and_are_no_failure(pinot: PinotCluster) -> None:
    pinot.broker.old, pinot.broker.late, pinot.broker.is_reached = ["a"], 10_000, False
    replaced(pinot, ["a"], ["b"])
    detail = AuditEvent.objects.get(action="endReplaceSegments", cluster="prod").detail
    assert detail["brokersVerified"] is False
    assert "'a' of the side that was left still answers" in detail["brokersSaid"]


def test_a_pinned_entry_is_not_reverted_because_pinot_would_delete_its_new_side(pinot: PinotCluster) -> None:
    entry = replaced(pinot, ["a"], ["b"])
    pin_entry(pinot.ctx, TABLE, entry, ANN)
    with pytest.raises(StateConflict, match="pinned"):
        revert_replace(pinot.ctx, TABLE, entry, actor=ANN)
    assert pinot.visible == ["b"]


def test_a_start_that_would_delete_a_pinned_snapshot_is_refused(pinot: PinotCluster) -> None:
    entry = replaced(pinot, ["a"], ["b"])
    pin_entry(pinot.ctx, TABLE, entry, ANN)
    with pytest.raises(StateConflict, match="Pinot would delete segment 'a'"):
        started(pinot, ["b"], ["c"], force=True)
    assert started(pinot, ["b"], ["c"])


def test_until_when_a_rollback_is_possible_depends_on_the_version(tmp_path: Path) -> None:
    refresh, append = PinotCluster(tmp_path / "r"), PinotCluster(tmp_path / "a", kind="APPEND")
    for pinot, hours in ((refresh, 24), (append, 0)):
        pinot.inside.upload("a")
        entry_id = replaced(pinot, ["a"], ["b"])
        seen = observe(pinot.ctx, TABLE)
        entry = seen.lineage.entry(entry_id)
        until = rollback_until_ms(entry, seen.config, parse_version("1.5.1"))
        assert until == entry.timestamp_ms + hours * 3_600_000
        nothing_before = replace(entry, segments_from=())  # Pinot's next retention pass drops it, nobody knows when
        assert rollback_until_ms(nothing_before, seen.config, parse_version("1.5.1")) is None


def test_a_controller_that_is_down_is_reported_and_changes_nothing(pinot: PinotCluster) -> None:
    pinot.rest.down.add("controller")
    with pytest.raises(Unavailable):
        started(pinot, ["a"], ["b"])
    pinot.rest.down.clear()
    assert pinot.entries() == []


def test_a_context_of_pinot_writes_nothing_into_pinots_state(pinot: PinotCluster) -> None:
    ctx: Context = pinot.ctx
    with pytest.raises(Exception, match="belongs to Pinot"):
        ctx.store.delete("/IDEALSTATES/t_OFFLINE")


def test_a_version_that_ends_all_or_nothing_is_not_asked_for_a_part(tmp_path: Path) -> None:
    old = PinotCluster(tmp_path, version="0.11.0")
    old.inside.upload("a")
    entry = started(old, ["a"], ["b", "c"])
    old.inside.upload("b", "c")
    with pytest.raises(StateConflict, match=r"Pinot 0\.11\.0 ends a replacement with all the segments it named"):
        end_replace(old.ctx, TABLE, entry, segments_to=["b"], actor=ANN)
    assert old.lists() == ["a", "b", "c"]
    end_replace(old.ctx, TABLE, entry, segments_to=["c", "b"], actor=ANN)
    assert old.visible == ["b", "c"]


def test_a_revert_reads_its_controller_a_few_times_only(pinot: PinotCluster) -> None:
    """State once, live instances once, the segments that brokers serve once; nothing again after the switch."""
    entry = replaced(pinot, ["a"], ["b"])
    before = pinot.rest.calls.total()
    revert_replace(pinot.ctx, TABLE, entry, actor=ANN)
    assert pinot.visible == ["a"]
    assert pinot.rest.calls.total() - before <= 8

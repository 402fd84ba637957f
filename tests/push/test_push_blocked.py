"""A push that the table's checks refuse: blocked with its data hidden, then finished, cancelled, or settled by what
became of its entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from segments.errors import StateConflict
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import AuditEvent, Cluster, Push, Snapshot
from segments.services.core.context import Actor
from segments.services.push.push_blocked import finish_push
from segments.services.push.pushes import cancel_push, create_push, resume_lost
from segments.services.replacement.checks import check_settings
from segments.services.replacement.history.causes import Cause, causes_of, note_causes
from segments.services.replacement.protocol import end_replace, revert_replace
from segments.services.upkeep import retention
from segments.store import paths
from tests.push.pushing import PushWorld
from tests.services.embedded_engine import reading
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db
BEN = Actor("ben", "on call")


class Counting:
    """Answers ``count(*)`` from the segments' records."""

    def __init__(self, world: PushWorld) -> None:
        self._world = world

    def query(
        self, sql: str, options: Mapping[str, str] | None = None, *, segments: Sequence[str] | None = None
    ) -> dict[str, Any]:
        nodes = [self._world.memory.get(paths.segment(TABLE.typed, s)) for s in segments or ()]
        rows = sum(int(n.record.simple["segment.total.docs"]) for n in nodes if n and n.record)
        return {"resultTable": {"rows": [[rows]]}, "exceptions": []}

    def __enter__(self) -> Counting:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def blocked(folder: Path, **more: Any) -> tuple[PushWorld, Push]:
    """A table whose second push has half of the rows of the first; at least 80 % are required."""
    world = PushWorld(folder)
    world.ctx = reading(world.ctx, lambda table: Counting(world))
    world.file("a.csv", "Rome,1,19000", "Oslo,2,19001", "Bonn,3,19002", "Kiel,4,19003")
    assert world.run(world.create()).state == Push.State.DONE
    check_settings.write_check_document(
        world.ctx, TABLE, {"checks": [{"kind": "rowCount", "minRatio": 0.8}]}, actor=ANN
    )
    world.now += 1000
    world.file("a.csv", "Rome,1,19000", "Oslo,2,19001")
    push = create_push(world.ctx, world.spec(), ANN, roots=[str(world.folder)], **more)
    return world, world.run(push)


def test_a_refused_push_is_blocked_with_everything_uploaded_and_hidden(tmp_path: Path) -> None:
    world, push = blocked(tmp_path)
    assert (push.state, push.stage) == (Push.State.BLOCKED, Push.Stage.END)
    assert "measured 2 rows, 4 are replaced, allowed from 3.2 rows" in push.error
    assert world.state(push.entry_id) == "IN_PROGRESS"
    assert len(world.ideal) == 2
    assert len(world.visible) == 1
    assert not resume_lost(world.ctx)  # nobody starts it again by himself


def test_finished_with_a_reason_it_switches_and_the_audit_names_who_decided(tmp_path: Path) -> None:
    world, push = blocked(tmp_path)
    finish_push(world.ctx, str(push.pk), "holiday", BEN)
    builds = list(world.builder.builds)
    assert world.run(push).state == Push.State.DONE
    assert world.builder.builds == builds  # nothing is built again
    assert world.state(push.entry_id) == "COMPLETED"
    event = AuditEvent.objects.get(action="overrideChecks")
    assert (event.actor, event.reason) == ("ben", "holiday")
    with pytest.raises(StateConflict):
        finish_push(world.ctx, str(push.pk), "again", BEN)


def test_the_history_names_who_pushed_and_who_switched_in_spite_of_the_checks_and_why(tmp_path: Path) -> None:
    world, push = blocked(tmp_path)
    follower = ClusterFollower(world.memory, Cluster.objects.create(name=world.ctx.cluster))
    follower.sync_all()
    finish_push(world.ctx, str(push.pk), "holiday", BEN)
    assert world.run(push).state == Push.State.DONE
    follower.sync_all()

    def cause() -> Cause:
        return causes_of(list(Snapshot.objects.all()))[2]

    assert (cause().actor, cause().reason) == (ANN.name, ANN.reason)
    assert (cause().decided_by, cause().decision) == ("ben", "holiday")
    note_causes()
    AuditEvent.objects.all().delete()
    assert (cause().actor, cause().decided_by, cause().decision) == (ANN.name, "ben", "holiday")


def test_finished_without_a_reason_the_checks_decide_again(tmp_path: Path) -> None:
    world, push = blocked(tmp_path)
    finish_push(world.ctx, str(push.pk), "", BEN)
    assert world.run(push).state == Push.State.BLOCKED
    check_settings.write_check_document(world.ctx, TABLE, {"checks": [{"kind": "rowCount", "min": 1}]}, actor=ANN)
    finish_push(world.ctx, str(push.pk), "", BEN)
    assert world.run(push).state == Push.State.DONE


@pytest.mark.parametrize("way", ["argument", "specification"])
def test_a_reason_given_beforehand_switches_at_once(tmp_path: Path, way: str) -> None:
    if way == "argument":
        _, push = blocked(tmp_path, override_checks="known")
    else:
        world, push = blocked(tmp_path)
        world.now += 1000
        push = world.run(world.create(executionFrameworkSpec={"extraConfigs": {"overrideChecks": "known"}}))
    assert push.state == Push.State.DONE
    assert AuditEvent.objects.get(action="overrideChecks").reason == "known"


def test_cancelled_it_leaves_nothing(tmp_path: Path) -> None:
    world, push = blocked(tmp_path)
    visible = world.visible
    assert cancel_push(world.ctx, str(push.pk), BEN).state == Push.State.CANCELLED
    assert world.state(push.entry_id) == "REVERTED"
    assert world.visible == visible


@pytest.mark.parametrize(("decision", "state"), [("end", Push.State.DONE), ("revert", Push.State.FAILED)])
def test_an_entry_decided_elsewhere_settles_its_push(tmp_path: Path, decision: str, state: Push.State) -> None:
    world, push = blocked(tmp_path)
    if decision == "end":
        end_replace(world.ctx, TABLE, push.entry_id, actor=BEN, override="looked at it")
    else:
        revert_replace(world.ctx, TABLE, push.entry_id, force=True, actor=BEN)
    (sentence,) = resume_lost(world.ctx)
    push.refresh_from_db()
    assert push.state == state
    assert str(push.pk) in sentence


def test_a_corrected_push_takes_the_blocked_one_over(tmp_path: Path) -> None:
    world, push = blocked(tmp_path)
    world.now += 1000
    world.file("a.csv", "Rome,1,19000", "Oslo,2,19001", "Bonn,3,19002", "Kiel,4,19003", "Graz,5,19004")
    assert world.run(world.create()).state == Push.State.DONE
    resume_lost(world.ctx)
    push.refresh_from_db()
    assert push.state == Push.State.FAILED
    assert len(world.visible) == 1


def test_nobody_decides_within_the_documented_period_and_it_ends(tmp_path: Path) -> None:
    world, push = blocked(tmp_path)
    retention.run(world.ctx, TABLE)
    assert world.state(push.entry_id) == "IN_PROGRESS"
    world.now += 25 * 3_600_000
    for _ in range(2):
        retention.run(world.ctx, TABLE)
    resume_lost(world.ctx)
    push.refresh_from_db()
    assert push.state == Push.State.FAILED

"""Pushes onto a Pinot cluster: built here, sent by tar or metadata, switched through start and end; cut anywhere they
end the same.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from segments.clusters.pinot import push as pinot_push
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement.lineage import State, from_record, to_record
from segments.models import Cluster, Push
from segments.services.push.push_run import run_push
from segments.services.push.pushes import cancel_push, create_push
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record
from tests.faults.faulty import Cut
from tests.pinot_cluster.fake_pinot import Fault, PinotCluster
from tests.push.pushing import LocalBuilder, PushWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


class Pushing:
    """A cluster with table t, two input files, and a builder in this process."""

    def __init__(self, folder: Path) -> None:
        self.world = PushWorld(folder / "pushes")
        self.pinot = PinotCluster(folder, inside=self.world)
        self.builder = LocalBuilder()
        self.world.file("a.csv", "Bern,1,19000", "Basel,2,19001")
        self.world.file("b.csv", "Chur,3,19002")

    def create(self) -> Push:
        return create_push(self.pinot.ctx, self.world.spec(), ANN, roots=[str(self.world.folder)])

    def run(self, push: Push, owner: str = "me") -> Push:
        self.world.now += 120_000
        self.sentence = run_push(self.pinot.ctx, str(push.pk), owner, builder=self.builder)
        push.refresh_from_db()
        return push


@pytest.fixture
def pushing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pushing:
    monkeypatch.setattr(pinot_push, "_TOGETHER", 1)
    return Pushing(tmp_path)


def kinds(pinot: PinotCluster) -> list[str]:
    return [c.rpartition("/")[2] for c in pinot.rest.changes]


def test_a_push_is_uploaded_by_tar_and_switched_once(pushing: Pushing) -> None:
    push = pushing.run(pushing.create())
    assert (push.state, push.error) == ("DONE", "")
    assert kinds(pushing.pinot) == ["startReplaceSegments", "segments", "segments", "endReplaceSegments"]
    assert len(pushing.pinot.visible) == 2
    assert push.entry_id == pushing.pinot.rest.params[-1]["segmentLineageEntryId"]
    assert (push.rows, push.segments_uploaded) == (3, 2)


def test_the_next_push_replaces_it_and_leaves_the_snapshot_before_to_go_back_to(pushing: Pushing) -> None:
    for _ in range(3):
        push = pushing.run(pushing.create())
        assert push.state == "DONE"
    starts = [
        p for p, c in zip(pushing.pinot.rest.params, kinds(pushing.pinot), strict=True) if c == "startReplaceSegments"
    ]
    assert [p["forceCleanup"] for p in starts] == ["false"] * 3
    assert len(pushing.pinot.lists()) == 6


def test_where_the_deep_store_is_ours_to_fill_only_metadata_is_sent(pushing: Pushing) -> None:
    Cluster.objects.create(name="prod", kind="pinot", deep_store_url=pushing.pinot.ctx.deep_store.url)
    push = pushing.run(pushing.create())
    assert push.state == "DONE"
    node = pushing.world.memory.get(f"/PROPERTYSTORE/SEGMENTS/{TABLE.typed}/{pushing.pinot.visible[0]}")
    assert node is not None
    assert node.record is not None
    assert node.record.simple["segment.download.url"].startswith(pushing.pinot.ctx.deep_store.url + "/t/")


@pytest.mark.parametrize(
    "fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.LOSE_BEFORE, Fault.LOSE_AFTER, Fault.ERROR_AFTER]
)
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_push_that_is_cut_or_unheard_at_any_request_ends_the_same(
    pushing: Pushing, fault: Fault, number: int
) -> None:
    push = pushing.create()
    pushing.pinot.rest.faults[number] = fault
    try:
        pushing.run(push, "first")
    except Cut:
        pushing.pinot.connect()
        pushing.run(push, "second")
    assert push.state == "DONE"
    assert sorted(pushing.builder.builds) == [0, 1]
    assert [state for *_, state in pushing.pinot.entries()] == ["COMPLETED"]
    assert len(pushing.pinot.visible) == 2


def test_a_push_cancelled_after_its_start_was_unheard_leaves_no_open_entry(pushing: Pushing) -> None:
    push = pushing.create()
    pushing.pinot.rest.faults[1] = Fault.CUT_AFTER
    with pytest.raises(Cut):
        pushing.run(push)
    ctx = pushing.pinot.connect()
    assert cancel_push(ctx, str(push.pk), ANN).state == "CANCELLED"
    assert [state for *_, state in pushing.pinot.entries()] == ["REVERTED"]


def test_a_push_that_somebody_reverted_meanwhile_fails_and_leaves_nothing_visible(pushing: Pushing) -> None:
    push = pushing.create()

    def reverted() -> None:
        def decide(node: Versioned | None) -> ZNRecord:
            assert node is not None
            assert node.record is not None
            lineage = from_record(node.record)
            return to_record(lineage.having(*(replace(e, state=State.REVERTED) for e in lineage.entries.values())))

        update_record(pushing.world.memory, paths.lineage(TABLE.typed), decide)

    pushing.pinot.rest.before[3] = reverted
    pushing.run(push)
    assert push.state == "FAILED"
    assert "reverted" in push.error
    assert pushing.pinot.visible == []


def test_a_controller_that_is_unreachable_for_minutes_costs_a_push_nothing_but_time(pushing: Pushing) -> None:
    push = pushing.create()
    pushing.pinot.rest.down.add("controller")
    for number in range(8):
        pushing.pinot.connect()
        pushing.run(push, f"attempt {number}")
        assert push.state == "RUNNING"
    assert "waits for the controller" in pushing.sentence
    pushing.pinot.rest.down.clear()
    pushing.pinot.connect()
    assert pushing.run(push, "last").state == "DONE"
    assert sorted(pushing.builder.builds) == [0, 1]

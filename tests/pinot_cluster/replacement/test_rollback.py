"""Going back several replacements on a Pinot cluster: one revert after the other, under a record that survives the
process.
"""

from __future__ import annotations

import pytest

from segments.clusters.pinot.connected_engine import controller
from segments.clusters.pinot.replacement import rollback as pinot_rollback
from segments.clusters.pinot.replacement.rollback import read_rollback, resume_all
from segments.domain.replacement.stepwise_rollback import DONE, GIVEN_UP, RUNNING
from segments.errors import NotFound, OutcomeUnknown, PreconditionFailed, StateConflict
from segments.services.replacement import entry_reaper
from segments.services.replacement.pins import pin_entry
from segments.services.replacement.rollback import preview_rollback, roll_back
from segments.services.upkeep import validation
from tests.faults.faulty import Cut
from tests.pinot_cluster.fake_pinot import Fault, PinotCluster
from tests.pinot_cluster.replacement.test_replacement import replaced
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@pytest.fixture
def chain(pinot: PinotCluster) -> tuple[PinotCluster, list[str]]:
    """a was replaced by b, b by c, c by d."""
    return pinot, [replaced(pinot, [old], [new]) for old, new in (("a", "b"), ("b", "c"), ("c", "d"))]


def reverts(pinot: PinotCluster) -> int:
    return sum("revert" in c for c in pinot.rest.changes)


def test_three_steps_back_are_three_reverts_newest_first(chain: tuple[PinotCluster, list[str]]) -> None:
    pinot, entries = chain
    done = roll_back(pinot.ctx, TABLE, entries[0], actor=ANN)
    assert done.reverted == tuple(reversed(entries))
    assert pinot.visible == ["a"]
    assert reverts(pinot) == 3
    job = read_rollback(pinot.ctx, TABLE)
    assert job is not None
    assert (job.state, job.done) == (DONE, tuple(reversed(entries)))


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_cut_at_any_revert_it_is_carried_on_by_whoever_comes_next(
    chain: tuple[PinotCluster, list[str]], fault: Fault, step: int
) -> None:
    pinot, entries = chain
    pinot.rest.faults[len(pinot.rest.changes) + step] = fault
    with pytest.raises(Cut):
        roll_back(pinot.ctx, TABLE, entries[0], actor=ANN)
    ctx = pinot.connect()
    begun = read_rollback(ctx, TABLE)
    assert begun is not None
    assert (begun.state, len(begun.done)) == (RUNNING, step - 1)
    assert entry_reaper.run_all(ctx)[0].endswith("is DONE.")
    assert pinot.visible == ["a"]
    assert [state for *_, state in pinot.entries()] == ["REVERTED"] * 3


def test_the_same_call_carries_it_on_and_another_target_is_refused(chain: tuple[PinotCluster, list[str]]) -> None:
    pinot, entries = chain
    pinot.rest.faults[len(pinot.rest.changes) + 2] = Fault.CUT_BEFORE
    with pytest.raises(Cut):
        roll_back(pinot.ctx, TABLE, entries[0], actor=ANN)
    ctx = pinot.connect()
    with pytest.raises(StateConflict, match="is under way: 1 of 3 steps"):
        roll_back(ctx, TABLE, entries[1], actor=ANN)
    roll_back(ctx, TABLE, entries[0], actor=ANN)
    assert pinot.visible == ["a"]


def test_given_up_in_the_middle_the_table_stays_where_it_is(chain: tuple[PinotCluster, list[str]]) -> None:
    pinot, entries = chain
    pinot.rest.faults[len(pinot.rest.changes) + 2] = Fault.CUT_BEFORE
    with pytest.raises(Cut):
        roll_back(pinot.ctx, TABLE, entries[0], actor=ANN)
    ctx = pinot.connect()
    assert pinot_rollback.give_up(ctx, TABLE, ANN).state == GIVEN_UP
    assert resume_all(ctx) == []
    assert pinot.visible == ["c"]
    with pytest.raises(NotFound):
        pinot_rollback.give_up(ctx, TABLE, ANN)


def test_pinot_not_answering_in_the_middle_leaves_it_under_way(chain: tuple[PinotCluster, list[str]]) -> None:
    pinot, entries = chain
    first = len(pinot.rest.changes) + 2
    pinot.rest.faults.update(dict.fromkeys(range(first, first + 4), Fault.ERROR_BEFORE))
    with pytest.raises(OutcomeUnknown):
        roll_back(pinot.ctx, TABLE, entries[0], actor=ANN)
    job = read_rollback(pinot.ctx, TABLE)
    assert job is not None
    assert (job.state, len(job.done)) == (RUNNING, 1)
    resume_all(pinot.ctx)
    assert pinot.visible == ["a"]


def test_the_preview_says_that_snapshots_between_are_seen_and_cannot_come_back(
    chain: tuple[PinotCluster, list[str]],
) -> None:
    pinot, entries = chain
    preview = preview_rollback(pinot.ctx, TABLE, entries[0])
    assert preview.allowed
    assert len(preview.steps) == 3
    assert "the 2 snapshots between" in preview.notes[0]
    assert reverts(pinot) == 0


def test_a_snapshot_on_the_way_that_is_gone_or_pinned_stands_in_the_way(chain: tuple[PinotCluster, list[str]]) -> None:
    pinot, entries = chain
    pin_entry(pinot.ctx, TABLE, entries[1], ANN)
    with pytest.raises(StateConflict, match="pinned"):
        roll_back(pinot.ctx, TABLE, entries[0], actor=ANN)
    controller(pinot.ctx).send("POST", "/segments/t_OFFLINE/delete", {}, ["b"])
    with pytest.raises(PreconditionFailed):
        roll_back(pinot.ctx, TABLE, entries[1], force=True, actor=ANN)
    assert pinot.visible == ["d"]


def test_a_rollback_that_stopped_is_a_finding_until_it_is_done(chain: tuple[PinotCluster, list[str]]) -> None:
    pinot, entries = chain
    pinot.rest.faults[len(pinot.rest.changes) + 2] = Fault.CUT_BEFORE
    with pytest.raises(Cut):
        roll_back(pinot.ctx, TABLE, entries[0], actor=ANN)
    ctx = pinot.connect()
    pinot.inside.now += 11 * 60_000
    assert any("stopped with 2 of 3 steps left" in s for s in validation.run(ctx, TABLE))
    resume_all(ctx)
    assert not any("rollback" in s for s in validation.run(ctx, TABLE))

"""What other programs leave of a commit that is cut between their writes, and repairs that are cut themselves: rows are
neither lost nor doubled, and two passes mend it.
"""

from __future__ import annotations

import pytest

from tests.chaos.cut_world import BEFORE, MORE, World, ends_whole
from tests.chaos.lost_segment import lose
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]


@pytest.mark.parametrize("written", [1, 2], ids=["the record", "both records"])
def test_a_standard_commit_of_which_only_records_were_written_is_carried_on(world: World, written: int) -> None:
    """As a controller of Pinot leaves it that dies before its write of the ideal state: DONE, and the row CONSUMING."""
    world.create(is_pauseless=False)
    world.points.arm("before-end-is-written", f"half {written}")
    world.fill()
    world.restarted(world.points.taken("before-end-is-written"))
    world.is_late()
    ends_whole(world, passes=2)


def test_a_commit_start_of_which_both_records_were_written_is_carried_on(world: World) -> None:
    world.create()
    world.points.arm("before-start-is-written", "half 2")
    world.fill()
    world.restarted(world.points.taken("before-start-is-written"))
    world.is_late()
    ends_whole(world, passes=2)


@pytest.mark.parametrize("point", ["after-build", "after-end-is-answered"])
def test_a_committer_of_a_standard_commit_that_dies_is_replaced_or_comes_back(world: World, point: str) -> None:
    world.create(is_pauseless=False)
    world.points.arm(point)
    world.fill()
    world.points.taken(point)
    ends_whole(world)


def test_a_pass_that_dies_while_it_ends_a_commit_is_finished_by_the_next_one(world: World) -> None:
    world.create()
    world.points.arm("before-end-is-sent", "fail always")  # only a pass ends it
    world.fill()
    poll(lambda: world.committing() == [world.first], 30, "committing")
    world.table.wait_rows(BEFORE + MORE, 30)
    world.points.reached("before-end-is-sent")  # the segment is built and uploaded: there is something to end
    world.is_late()
    world.points.arm("before-end-is-written")
    world.run_pass()
    worker = world.points.taken("before-end-is-written")
    assert worker not in (world.installation.endpoints["pids"]["web"], *world.server_pids)
    world.restarted(worker)
    ends_whole(world, passes=2)


@pytest.mark.parametrize("point", [
    "before-build", "before-upload", "before-end-is-written", "after-end-is-written",
])  # fmt: skip
def test_a_reingestion_goes_on_after_its_server_or_its_web_process_has_died(world: World, point: str) -> None:
    world.create()
    world.fill()
    poll(world.is_mended, 30, "committed")
    lose(world.installation, world.typed, world.first)
    world.points.arm(point)
    world.client.call("POST", f"/api/v1/tables/{world.typed}/reingestions", json={})
    world.restarted(world.points.taken(point))
    ends_whole(world)

"""Commits of a whole installation that are cut at named points: processes die or fail exactly there. Afterwards rows
are neither lost nor doubled, and what does not mend itself is mended within two passes.
"""

from __future__ import annotations

import pytest

from bench.realtime_table import RedisFeed
from tests.chaos.cut_world import BEFORE, FLUSH, MORE, PASS_S, World, ends_whole
from tests.chaos.lost_segment import lose
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]


@pytest.mark.parametrize("point", [
    "before-start-is-sent", "after-start-is-answered", "after-build", "before-end-is-sent", "after-end-is-answered",
])  # fmt: skip
def test_a_committer_that_dies_is_replaced_or_comes_back_and_ends_its_commit(world: World, point: str) -> None:
    world.create()
    world.points.arm(point)
    world.fill()
    world.points.taken(point)
    ends_whole(world)


@pytest.mark.parametrize("point", [
    "before-start-is-written", "after-start-is-written", "before-end-is-written", "after-end-is-written",
])  # fmt: skip
def test_a_web_process_that_dies_around_a_write_of_a_commit_is_not_missed(world: World, point: str) -> None:
    world.create()
    world.points.arm(point)
    world.fill()
    world.points.taken(point)
    ends_whole(world)


@pytest.mark.parametrize("point", ["before-end-is-written", "after-end-is-written"])
def test_a_standard_commit_survives_its_web_process_too(world: World, point: str) -> None:
    world.create(is_pauseless=False)
    world.points.arm(point)
    world.fill()
    world.points.taken(point)
    ends_whole(world)


def test_a_commit_start_of_which_only_the_record_was_written_is_carried_on(world: World) -> None:
    """As a controller of Pinot leaves it that dies between its writes: COMMITTING, and the row still CONSUMING."""
    world.create()
    world.points.arm("before-start-is-written", "half 1")
    world.fill()
    world.points.taken("before-start-is-written")
    ends_whole(world)


def test_a_build_that_fails_on_the_committer_is_done_by_the_other_replica(world: World) -> None:
    world.create()
    world.points.arm("before-build", "fail")
    world.fill()
    world.points.taken("before-build")
    ends_whole(world, passes=2)


def test_a_build_that_fails_everywhere_leaves_rows_visible_and_has_them_read_again(world: World) -> None:
    world.create()
    world.points.arm("before-build", "fail always")
    world.fill()
    poll(lambda: world.committing() == [world.first], 30, "committing")
    world.is_late()
    world.table.wait_rows(BEFORE + MORE, 30)
    world.points.reached("before-build")
    world.points.disarm("before-build")
    ends_whole(world, passes=2)


def test_an_upload_that_fails_leaves_the_file_on_servers_until_a_pass_brings_it_to_the_store(world: World) -> None:
    world.create()
    world.points.arm("before-upload", "fail always")
    world.fill()
    poll(lambda: world.status() == "DONE", 30, "committed with its servers' copies")
    assert world.record()["segment.download.url"] == ""
    world.points.disarm("before-upload")
    world.run_pass()
    poll(lambda: world.record()["segment.download.url"], PASS_S, "the file in the deep store")
    ends_whole(world)


def test_a_commit_whose_end_is_always_lost_is_ended_by_a_pass_with_a_servers_copy(world: World) -> None:
    world.create()
    world.points.arm("before-end-is-sent", "fail always")
    world.fill()
    poll(lambda: world.committing() == [world.first], 30, "committing")
    world.table.wait_rows(BEFORE + MORE, 30)
    world.points.reached("before-end-is-sent")
    world.is_late()
    ends_whole(world, passes=2)


def test_when_all_replicas_die_while_committing_the_rows_are_read_again(world: World) -> None:
    world.create()
    world.points.arm("before-build", "fail always")  # nobody ever gets as far as a file
    world.points.arm("after-start-is-answered")
    world.fill()
    world.points.taken("after-start-is-answered")
    world.kill_servers()
    assert world.status() == "COMMITTING"
    poll(world.in_error, 60, "both are back, without the rows")
    world.points.disarm("before-build")
    ends_whole(world, passes=2)


def test_a_copy_that_is_missing_everywhere_is_a_finding_and_reingested(world: World) -> None:
    world.create()
    world.fill()
    poll(world.is_mended, 30, "committed")
    lose(world.installation, world.typed, world.first)
    path = f"/api/v1/tables/{world.typed}/reingestions"
    [broken] = world.client.call("GET", path).json()["broken"]
    assert (broken["segmentName"], broken["messages"], broken["problem"]) == (world.first, FLUSH, "")
    world.client.call("POST", path, json={})
    ends_whole(world)


def test_rows_that_are_gone_from_servers_and_stream_are_named_and_lost_only_when_a_person_accepts_it(
    world: World,
) -> None:
    world.create()
    world.fill()
    poll(world.is_mended, 30, "committed")
    feed = world.table.feed
    assert isinstance(feed, RedisFeed)
    feed.client.xtrim(f"{world.table.name}-0", maxlen=MORE, approximate=False)
    lose(world.installation, world.typed, world.first)
    path = f"/api/v1/tables/{world.typed}/reingestions/{world.first}"
    refused = world.client.call("POST", path, 409, json={}).text
    assert "The stream has lost rows" in refused
    assert "accept the loss" in refused
    world.client.call("POST", path, json={"acceptLoss": True})
    poll(lambda: world.status() == "DONE" and world.is_settled(), 60, "built from what is left")
    sql = f"select count(*), distinctcount(id), min(n), max(n) from {world.table.name}"
    left = [MORE, MORE, BEFORE, BEFORE + MORE - 1]  # once the broker has heard that it is served
    poll(lambda: [int(v) for v in world.client.sql(sql)[0]] == left, 10, "the rows that are left")
    losses = world.client.call("GET", f"/api/v1/tables/{world.typed}/dataLosses").json()["losses"]
    assert [loss["segment"] for loss in losses] == [world.first]

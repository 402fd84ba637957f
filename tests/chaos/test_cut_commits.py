"""Commits of a whole installation that are cut at named points: processes die or fail exactly there. Afterwards rows
are neither lost nor doubled, and what does not mend itself is mended within two passes.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench.realtime_table import RedisFeed, Table
from tests.chaos.cut_points import CutPoints
from tests.chaos.lost_segment import lose
from tests.chaos.test_chaos import chain_is_whole
from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

#: Rows of a segment; every cut table has one full segment and a part of the next.
FLUSH = 100
BEFORE, MORE = 40, 100
#: A commit is its committer's own business for so long (the cluster's setting below), in seconds.
COMPLETION_S = 3.0
#: Within which a pass that was begun has repaired what it repairs.
PASS_S = 25.0
#: Within which a commit that needs no pass is mended by those who take part in it.
ALONE_S = 45.0
_numbers = itertools.count(1)


@dataclass
class World:
    """The installation, its points, and the table of the test."""

    installation: Installation
    points: CutPoints
    client: Client
    table: Table = field(init=False)

    def create(self, *, is_pauseless: bool = True) -> None:
        """A table of one partition on two servers that has read its first rows."""
        feed = RedisFeed(self.installation.endpoints["redis"])
        self.table = Table(self.client, feed, f"cut_{next(_numbers)}", 1).create(
            rows=FLUSH,
            replication=2,
            is_pauseless=is_pauseless,
            stream={"realtime.segment.pauseless.download.timeoutSeconds": "2"},
            peerSegmentDownloadScheme="http",
        )
        self.table.send(0, BEFORE)
        poll(self.is_settled, 60, "consuming")
        self.table.wait_rows(BEFORE, 30)

    def fill(self) -> None:
        """The first segment gets full."""
        self.table.send(0, MORE)

    @property
    def typed(self) -> str:
        return f"{self.table.name}_REALTIME"

    @property
    def first(self) -> str:
        """The segment that is cut."""
        return self.segments[0]

    @property
    def segments(self) -> list[str]:
        ideal = self.client.call("GET", f"/tables/{self.table.name}/idealstate").json()["REALTIME"]
        return sorted(ideal, key=lambda s: int(s.split("__")[2]))

    def record(self) -> dict[str, str]:
        """Of the segment that is cut."""
        found: dict[str, str] = self.client.call("GET", f"/segments/{self.typed}/{self.first}/metadata").json()
        return found

    def status(self) -> str:
        return self.record()["segment.realtime.status"]

    def findings(self) -> dict[str, str]:
        """{kind: text} of what people see about the table."""
        path = f"/api/v1/tables/{self.typed}/findings"
        return {f["kind"]: f["message"] for f in self.client.call("GET", path).json()["findings"]}

    def committing(self) -> list[str]:
        """What Pinot's own call says is being committed."""
        answer: Any = self.client.call("GET", f"/tables/{self.table.name}/pauselessDebugInfo").json()
        return list(answer["committingSegments"])

    def is_settled(self) -> bool:
        """Does every replica do what it should?"""
        ideal, view = (
            self.client.call("GET", f"/tables/{self.table.name}/{of}").json()["REALTIME"] or {}
            for of in ("idealstate", "externalview")
        )
        return bool(ideal) and ideal == view

    def in_error(self) -> bool:
        """Is every replica of the cut segment in ERROR?"""
        view = self.client.call("GET", f"/tables/{self.table.name}/externalview").json()["REALTIME"] or {}
        return list(view.get(self.first, {}).values()) == ["ERROR", "ERROR"]

    def kill_servers(self) -> None:
        """kill -9 of both, as simultaneously as can be."""
        for server in self.installation.endpoints["servers"]:
            if server["pid"]:
                os.kill(server["pid"], signal.SIGKILL)

    def is_late(self) -> None:
        """Wait until the commit is not its committer's own business any more."""
        late = time.monotonic() + COMPLETION_S + 1
        poll(lambda: time.monotonic() > late, 30, "the commit is late")

    def run_pass(self) -> None:
        """One of the realtime validation, over this table."""
        names = {"taskname": "RealtimeSegmentValidationManager", "tableName": self.table.name, "type": "REALTIME"}
        self.client.call("GET", "/periodictask/run", params=names)

    def is_mended(self) -> bool:
        """Is the segment committed, the next one consuming, every row visible once, and all at its place?"""
        is_done = self.status() == "DONE" and len(self.segments) == 2 and self.committing() == []
        return is_done and self.is_settled() and self.table.whole()


def ends_whole(world: World, *, passes: int = 0, rows: int = BEFORE + MORE) -> None:
    """Every row once, by count, ids and sequence, in a chain without a hole; by itself, or within so many passes."""
    for _ in range(passes):
        world.run_pass()
        try:
            poll(world.is_mended, PASS_S, "mended by a pass")
            break
        except AssertionError:
            continue
    poll(world.is_mended, 1 if passes else ALONE_S, f"mended within {passes} passes")
    sql = f"select count(*), distinctcount(id), min(n), max(n), sum(n) from {world.table.name}"
    assert [int(v) for v in world.client.sql(sql)[0]] == [rows, rows, 0, rows - 1, sum(range(rows))]
    chain_is_whole(world.client, world.table)


@pytest.fixture(scope="module")
def cut_installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, CutPoints]]:
    """One for all cuts; what one test leaves is there for the next ones, as in life."""
    folder: Path = tmp_path_factory.mktemp("cuts")
    points = CutPoints(folder / "points")
    started = Installation(folder / "data", settings=points.settings).start()
    client = Client(started.endpoints)
    client.call("POST", "/cluster/configs", json={"max.segment.completion.time.millis": str(int(COMPLETION_S * 1000))})
    yield started, points
    assert started.stop() == 0, started.log.read_text()[-4000:]


@pytest.fixture
def world(cut_installation: tuple[Installation, CutPoints]) -> Iterator[World]:
    """A table of its own for each test, made by it; no point stays armed."""
    installation, points = cut_installation
    installation.wait_healthy()
    yield World(installation, points, Client(installation.endpoints))
    points.disarm("")


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
    world.points.arm("before-start-is-written", "half")
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
    left = MORE
    poll(lambda: world.status() == "DONE" and world.is_settled(), 60, "built from what is left")
    sql = f"select count(*), distinctcount(id), min(n), max(n) from {world.table.name}"
    assert [int(v) for v in world.client.sql(sql)[0]] == [left, left, BEFORE, BEFORE + MORE - 1]
    losses = world.client.call("GET", f"/api/v1/tables/{world.typed}/dataLosses").json()["losses"]
    assert [loss["segment"] for loss in losses] == [world.first]

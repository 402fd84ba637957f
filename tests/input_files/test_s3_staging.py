"""Sessions whose deep store is an S3 store that answers wrongly: no file is at fault, nothing is visible before the
switch, the next attempt goes on from what is staged, and nothing stays staged.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from segments.domain.ingestion.session import FileState, SessionState
from segments.gateways.deep_store.access import StoreAccess
from segments.gateways.deep_store.deepstore import STAGING, DeepStore
from segments.services.ingestion import sessions
from tests.ingestion.ingesting import SWAP, IngestionWorld
from tests.s3_server import Fault, Front, S3Server
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

_numbers = itertools.count(1)


class StoreWorld(IngestionWorld):
    """Files of 10, 20 and 30 rows wait for a session that swaps the table. Its deep store is behind a front."""

    def __init__(self, folder: Path, s3: S3Server, front: Front) -> None:
        super().__init__(folder, SWAP)
        self.s3, self.front, self.bucket = s3, front, f"staging{next(_numbers)}"
        s3.make_bucket(self.bucket)
        access = StoreAccess(front.url, "us-east-1", "test-access-key", "test-secret-key")
        self.ctx = replace(self.ctx, deep_store=DeepStore(f"s3://{self.bucket}/deep", 3.0, access))
        for number in (1, 2, 3):
            self.put(f"F{number}", 10 * number)

    def staged(self) -> list[str]:
        return self.s3.files_below(f"{self.bucket}/deep/{STAGING}")

    def next_attempt(self) -> None:
        """The pass finds that nobody works on the session, and another worker takes it up."""
        self.now += 30_000
        assert sessions.resume_lost(self.ctx)
        self.work(owner=f"worker {self.now}")


@pytest.fixture
def world(tmp_path: Path, s3: S3Server, front: Front) -> StoreWorld:
    return StoreWorld(tmp_path, s3, front)


def of(fault: str, *, part: str, method: str = "PUT") -> Fault:
    """The fault for every such request whose path has this part."""
    return lambda asked, path: fault if (method in asked and part in path) else None


def keeping_all(method: str, path: str) -> str | None:
    """The store refuses to delete anything."""
    return "403" if method == "DELETE" or (method == "POST" and "?delete" in path) else None


@pytest.mark.parametrize("fault", ["403", "503"])
def test_a_part_that_cannot_be_staged_is_no_fault_of_its_file_and_is_built_by_the_next_attempt(
    world: StoreWorld, fault: str
) -> None:
    world.trigger()
    world.front.fault = of(fault, part="part-00001.tar")
    world.work()
    assert world.session.state is SessionState.IN_PROGRESS
    assert (FileState.FAILED in world.states.values(), world.vis) == (False, 0)
    assert world.session.error
    assert "test-secret-key" not in world.session.error
    world.front.fault = of("", part="nothing")
    world.next_attempt()
    assert (world.session.state, world.session.retry_count, world.vis) == (SessionState.DONE, 0, 60)
    assert world.read == 3, "what was staged is not built again"
    assert world.staged() == []


def test_a_segment_that_cannot_be_brought_to_its_place_leaves_the_old_snapshot_visible(world: StoreWorld) -> None:
    world.go()
    assert world.vis == 60
    world.put("F1", 11)
    world.now += 600_000
    world.trigger()
    world.front.fault = of("403", part="deep/t/")
    world.work()
    assert (world.session.state, world.vis) == (SessionState.SWITCH, 60)
    world.front.fault = of("", part="nothing")
    world.next_attempt()
    assert (world.session.state, world.vis, world.read) == (SessionState.DONE, 61, 6)
    assert world.staged() == []


def test_what_could_not_be_removed_at_the_end_is_removed_by_the_next_attempt(world: StoreWorld) -> None:
    world.trigger()
    world.front.fault = keeping_all
    world.work()
    assert world.vis == 60
    assert world.staged()
    world.front.fault = of("", part="nothing")
    world.next_attempt()
    assert (world.session.state, world.session.task, world.staged()) == (SessionState.DONE, "", [])


def test_a_cancelled_session_leaves_nothing_staged_once_the_store_is_back(world: StoreWorld) -> None:
    world.trigger()
    world.front.fault = of("403", part="part-00002.tar")
    world.work()
    assert world.staged()
    world.front.fault = keeping_all
    sessions.cancel(world.ctx, TABLE, ANN)
    assert (world.session.end_reason, world.session.is_open) == ("CANCELLED", False)
    assert world.staged()
    world.front.fault = of("", part="nothing")
    world.next_attempt()
    assert (world.session.end_reason, world.vis, world.staged()) == ("CANCELLED", 0, [])

"""Files whose rows became older than the table's retention: they are not read again unless they change."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.services.ingestion import sessions
from segments.services.segments import deletion
from segments.services.upkeep import retention
from tests.ingestion.ingesting import SWAP, SYNC, IngestionWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

DAY_MS = 86_400_000
KEEPS_FIVE_DAYS = {
    "replication": "1",
    "timeColumnName": "day",
    "retentionTimeUnit": "DAYS",
    "retentionTimeValue": "5",
}


@pytest.fixture(params=[SYNC, SWAP], ids=["sync", "swap"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> IngestionWorld:
    """Files of two days ago and of today were ingested; four days later retention took the first one's rows."""
    found = IngestionWorld(tmp_path, request.param, segmentsConfig=KEEPS_FIVE_DAYS)
    today = found.now // DAY_MS
    found.file("old.csv", f"Rom,1,{today - 2}", f"Rom,2,{today - 2}")
    found.file("new.csv", f"Rom,3,{today}")
    found.go()
    assert found.vis == 3
    found.now += 4 * DAY_MS
    retention.run(found.ctx, TABLE)
    assert found.vis == 1
    found.builder.builds.clear()
    return found


def test_what_retention_removed_is_not_read_again(world: IngestionWorld) -> None:
    assert world.go().session_id is None
    assert sessions.preview(world.ctx, TABLE).files == {"unchanged": 2}
    assert world.read == 0


def test_a_changed_file_is_read_again_whatever_its_age(world: IngestionWorld) -> None:
    today = world.now // DAY_MS
    world.file("old.csv", f"Rom,1,{today}")
    world.go()
    assert world.vis == 2


def test_a_longer_retention_brings_the_rows_back(world: IngestionWorld) -> None:
    world.configure_segments(retentionTimeValue="50")
    world.go()
    assert world.vis == 3


def test_rows_that_somebody_deleted_are_read_again(world: IngestionWorld) -> None:
    deletion.delete_segments(world.ctx, TABLE, list(world.visible), actor=ANN)
    assert world.vis == 0
    world.go()
    assert world.vis >= 1


def test_a_file_that_was_deleted_after_its_rows_were_is_forgotten(world: IngestionWorld) -> None:
    (world.folder / "old.csv").unlink()
    world.go()
    assert world.vis == 1
    assert world.go().session_id is None

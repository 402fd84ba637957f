"""Time slices and sets of files of APPEND tables: what is named is replaced whole, and nothing else is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.domain.ingestion.session import SessionState
from segments.errors import StateConflict
from segments.services.ingestion import sessions
from tests.ingestion.ingesting import APPEND, IngestionWorld
from tests.services.world import TABLE

pytestmark = pytest.mark.django_db

DAY_MS = 86_400_000


@pytest.fixture
def world(tmp_path: Path) -> IngestionWorld:
    """Files of days 17000 and 17001 are visible, and one with rows of 17002 and 17003."""
    found = IngestionWorld(tmp_path, APPEND)
    found.file("a.csv", "Rom,1,17000", "Rom,2,17000")
    found.file("b.csv", "Rom,3,17001")
    found.file("c.csv", "Rom,4,17002", "Rom,5,17003")
    found.go()
    assert found.vis == 5
    for path in found.folder.iterdir():
        path.unlink()
    return found


def days(first: int, until: int) -> dict[str, str]:
    return {"replaceFrom": str(first * DAY_MS), "replaceUntil": str(until * DAY_MS)}


def test_a_day_is_replaced_and_the_others_stay(world: IngestionWorld) -> None:
    before = set(world.visible)
    world.configure(**days(17000, 17001))
    world.file("again.csv", *(f"Bern,{n},17000" for n in range(7)))
    found = sessions.preview(world.ctx, TABLE)
    assert (len(found.segments), found.crossing) == (1, ())
    world.go()
    assert world.vis == 10
    assert before - set(world.visible) == set(found.segments)
    assert world.go().session_id is None


def test_fewer_files_than_before_leave_nothing_stale(world: IngestionWorld) -> None:
    world.configure(**days(17000, 17002))
    world.file("both.csv", "Bern,1,17000", "Bern,2,17001")
    world.go()
    assert (world.vis, len(world.visible)) == (4, 2)


def test_a_segment_that_crosses_the_edge_is_named_and_nothing_is_read(world: IngestionWorld) -> None:
    world.configure(**days(17001, 17003))
    world.file("again.csv", "Bern,1,17001")
    world.builder.builds.clear()
    assert len(sessions.preview(world.ctx, TABLE).crossing) == 1
    with pytest.raises(StateConflict, match="the edge of the replaced time range"):
        world.go()
    assert (world.read, world.vis) == (0, 5)


def test_new_rows_outside_of_the_range_stop_the_switch_with_the_file(world: IngestionWorld) -> None:
    world.configure(**days(17000, 17001))
    world.file("again.csv", "Bern,1,17000", "Bern,2,17009")
    world.go()
    assert (world.session.state, world.vis) == (SessionState.IN_PROGRESS, 5)
    assert "again.csv" in world.session.error


def test_the_segments_of_a_set_of_files_are_replaced(world: IngestionWorld) -> None:
    world.configure(replaceFiles="glob:**/[ab].csv")
    world.file("ab.csv", "Bern,1,17000")
    world.go()
    assert world.vis == 3

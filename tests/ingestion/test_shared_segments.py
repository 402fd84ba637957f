"""Files that share a segment because the task allows it, and what that means when one of them fails or goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.domain.ingestion.packing import MANY_FILES
from segments.domain.ingestion.session import FileState, SessionState
from segments.errors import StateConflict
from tests.ingestion.ingesting import APPEND, SYNC, IngestionWorld

pytestmark = pytest.mark.django_db


def of_five(folder: Path, keys: dict[str, str], *, bad: str = "") -> IngestionWorld:
    world = IngestionWorld(folder, {**keys, "taskMaxNumFiles": "3"})
    for name in ("F1", "F2", "F3", "F4", "F5"):
        world.put(name, 10, bad=name == bad)
    world.go()
    return world


def test_five_files_are_two_segments(tmp_path: Path) -> None:
    world = of_five(tmp_path, APPEND)
    assert (len(world.visible), world.vis, world.session.rows, world.session.counts.done) == (2, 50, 50, 5)


def test_a_bad_file_leaves_its_segment_and_the_others_are_read_without_it(tmp_path: Path) -> None:
    world = of_five(tmp_path, APPEND, bad="F2")
    assert world.session.state is SessionState.IN_PROGRESS
    assert {n for n, s in world.states.items() if s is not FileState.BUILT} == {"F2"}
    world.put("F2", 10)
    world.builder.builds.clear()
    world.go()
    assert (world.vis, world.read) == (50, 1)


def test_a_file_that_goes_before_the_retry_dissolves_its_segment(tmp_path: Path) -> None:
    world = of_five(tmp_path, APPEND, bad="F5")
    (world.folder / "F1").unlink()
    world.put("F5", 10)
    world.go()
    assert (world.vis, world.session.state) == (40, SessionState.DONE)


def test_a_synchronised_table_has_a_segment_for_each_file(tmp_path: Path) -> None:
    world = of_five(tmp_path, SYNC)
    assert len(world.visible) == 5


def test_sync_refuses_to_take_a_file_out_of_a_shared_segment(tmp_path: Path) -> None:
    world = of_five(tmp_path, APPEND)
    world.configure(ingestionMode="SYNC")
    world.put("F1", 11)
    world.go()
    assert (world.vis, "rows of other files" in world.session.error) == (50, True)
    world.configure(consistentPushSwapEnabled="true")
    world.go()
    assert world.vis == 51


def test_the_rows_of_one_of_them_cannot_be_replaced_alone(tmp_path: Path) -> None:
    world = of_five(tmp_path, APPEND)
    world.configure(replaceFiles="glob:**/F1")
    world.put("F1", 11)
    with pytest.raises(StateConflict, match="rows of other files"):
        world.go()
    assert world.vis == 50
    world.configure(replaceFiles="glob:**/F*")
    world.go()
    assert world.vis == 51


def test_many_small_files_share_segments_unless_the_task_says_otherwise(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, APPEND)
    for n in range(MANY_FILES):
        world.put(f"F{n:03}", 1, bad=n == 7)
    world.go()
    assert (world.session.counts.failed, world.session.counts.done) == (1, MANY_FILES - 1)
    world.put("F007", 1)
    world.builder.builds.clear()
    world.go()
    assert (world.vis, world.read, len(world.visible)) == (MANY_FILES, 1, 3)
    world.put("one more", 1)
    world.go()
    assert (world.vis, len(world.visible)) == (MANY_FILES + 1, 4)


def test_a_large_file_is_several_segments_that_go_together(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, {**SYNC, "taskMaxDataSize": "500"})
    world.put("F1", 200)
    world.put("F2", 3)
    world.go()
    assert (len(world.visible) > 3, world.vis, world.session.counts.done) == (True, 203, 2)
    world.put("F1", 5)
    world.go()
    assert (len(world.visible), world.vis) == (2, 8)

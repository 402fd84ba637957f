"""After an undo, what a session had replaced is back: the next session replaces these rows, and never adds to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.services.ingestion.undo import undo_session
from tests.ingestion.ingesting import APPEND, SWAP, SYNC, IngestionWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

REPLACE = {**APPEND, "modifiedFilePolicy": "replace"}


def undone(folder: Path, keys: dict[str, str]) -> IngestionWorld:
    """A table that shows ten rows of F1 and five of F2 again; meanwhile it showed twelve of F1."""
    world = IngestionWorld(folder, keys)
    world.put("F1", 10)
    world.put("F2", 5)
    world.go()
    world.put("F1", 12)
    world.go()
    assert world.vis == 17
    undo_session(world.ctx, TABLE, world.session.id, actor=ANN)
    assert world.vis == 15
    return world


@pytest.mark.parametrize("keys", [SYNC, SWAP], ids=["sync", "swap"])
def test_a_table_that_follows_its_folder_shows_it_again_once(tmp_path: Path, keys: dict[str, str]) -> None:
    world = undone(tmp_path, keys)
    world.go()
    assert world.vis == 17
    assert world.go().session_id is None, "it is in step with the folder again"


@pytest.mark.parametrize("keys", [SYNC, SWAP, REPLACE], ids=["sync", "swap", "replace"])
def test_a_file_that_changes_after_the_undo_replaces_the_rows_that_came_back(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    world = undone(tmp_path, keys)
    world.put("F1", 13)
    world.go()
    assert world.vis == 18


def test_a_file_that_vanished_after_the_undo_takes_the_rows_that_came_back_along(tmp_path: Path) -> None:
    world = undone(tmp_path, SYNC)
    (world.folder / "F1").unlink()
    world.go()
    assert world.vis == 5


@pytest.mark.parametrize("keys", [SYNC, SWAP], ids=["sync", "swap"])
def test_the_first_session_of_all_is_undone_and_its_files_are_read_again_once(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    world = IngestionWorld(tmp_path, keys)
    world.put("F1", 10)
    world.go()
    undo_session(world.ctx, TABLE, world.session.id, actor=ANN)
    assert world.vis == 0
    world.go()
    assert (world.vis, world.go().session_id) == (10, None)

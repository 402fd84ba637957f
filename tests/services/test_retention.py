"""The retention pass on what no replacement owns: files of deleted segments, of dropped tables and of interrupted uploads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from segments.models import PassRun
from segments.services import passes
from segments.services.context import SYSTEM
from tests.services.world import TABLE, World

pytestmark = pytest.mark.django_db
DAY_S = 86_400


def put(root: Path, path: str, world: World, age_days: float) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("tar")
    stamp = world.now / 1000 - age_days * DAY_S
    os.utime(file, (stamp, stamp))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "store", kind="APPEND")


def test_files_of_deleted_segments_go_after_a_week_also_of_dropped_tables(world: World, tmp_path: Path) -> None:
    root = tmp_path / "store"
    for folder in ("t", "dropped"):
        put(root, f"Deleted_Segments/{folder}/young", world, 6)
        put(root, f"Deleted_Segments/{folder}/old", world, 8)
    said = passes.run_pass(world.ctx, "RetentionManager", None, SYSTEM)
    assert len([s for s in said if "whose time was over" in s]) == 2
    assert sorted(p.name for p in (root / "Deleted_Segments").rglob("*") if p.is_file()) == ["young", "young"]


def test_what_interrupted_uploads_left_goes_but_not_the_file_a_record_names(world: World, tmp_path: Path) -> None:
    root = tmp_path / "store"
    world.upload("a")  # its record names CRC 1
    put(root, "t/a.tmp.1", world, 3)
    put(root, "t/a.tmp.2", world, 3)
    put(root, "t/b.tmp.5", world, 0.1)
    passes.run_pass(world.ctx, "RetentionManager", TABLE, SYSTEM)
    assert sorted(p.name for p in (root / "t").iterdir()) == ["a", "a.tmp.1", "b.tmp.5"]


def test_every_run_is_remembered_with_its_sentences(world: World) -> None:
    passes.run_pass(world.ctx, "RetentionManager", None, SYSTEM)
    run = PassRun.objects.get()
    assert (run.table_name, run.succeeded, run.sentences) == ("t_OFFLINE", True, ["Nothing of t_OFFLINE is due."])

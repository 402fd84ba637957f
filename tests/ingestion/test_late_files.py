"""A Spark task that finishes after its session was given up leaves files; the pass removes those, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.gateways.deep_store.deepstore import STAGING
from segments.services.ingestion import sessions
from segments.services.ingestion.files.late_files import remove_late_files
from segments.spark.build_part import note_path
from tests.ingestion.ingesting import SYNC, IngestionWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> IngestionWorld:
    """A session waits with a staged file and a failed one."""
    found = IngestionWorld(tmp_path, SYNC)
    found.put("F1", 10)
    found.put("F2", 20, bad=True)
    found.go()
    return found


def stage_late(world: IngestionWorld, session: str) -> None:
    world.ctx.deep_store.write(note_path(session, 7), b"{}")


def staged(world: IngestionWorld) -> list[str]:
    return world.ctx.deep_store.folders(STAGING)


def test_files_staged_after_a_cancellation_are_removed(world: IngestionWorld) -> None:
    sessions.cancel(world.ctx, TABLE, ANN)
    assert staged(world) == []
    stage_late(world, world.session.id)
    [sentence] = remove_late_files(world.ctx)
    assert world.session.id in sentence
    assert staged(world) == []
    assert remove_late_files(world.ctx) == []


def test_files_staged_after_the_records_were_cleared_are_removed(world: IngestionWorld) -> None:
    gone = world.session.id
    sessions.clear_state(world.ctx, TABLE, ANN)
    stage_late(world, gone)
    remove_late_files(world.ctx)
    assert staged(world) == []


def test_files_of_an_open_session_stay_and_so_do_those_of_pushes(world: IngestionWorld) -> None:
    stage_late(world, "6e1f1e5c-0000-4000-8000-000000000000")
    before = staged(world)
    assert len(before) == 2
    assert remove_late_files(world.ctx) == []
    assert staged(world) == before


def test_files_of_a_session_that_another_cluster_has_on_record_stay(world: IngestionWorld) -> None:
    other = "cp_1700000000000_0a0b0c0d"
    world.ctx.deep_store.write(f"Ingestion_Sessions/t/{other}/files-1.json.gz", b"")
    stage_late(world, other)
    assert remove_late_files(world.ctx) == []
    assert other in staged(world)

"""Files that are replaced between listing and the end of reading are read again in the same run, and not for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.domain.ingestion.session import FileState, SessionState
from segments.domain.push.push_plan import Part
from segments.services.ingestion import sessions
from segments.spark import build_part
from tests.ingestion.ingesting import APPEND, IngestionWorld

pytestmark = pytest.mark.django_db


def test_a_file_that_is_replaced_between_listing_and_the_end_of_reading_is_read_again_in_the_same_run(
    tmp_path: Path,
) -> None:
    world = IngestionWorld(tmp_path, APPEND)
    for name in ("F1", "F2"):
        world.put(name, 10)
    replaced = list[Path]()

    def replace_once(part: Part) -> None:
        if part.ordinal == 1 and not replaced:
            replaced.append(world.put("F2", 22))

    world.builder.before = replace_once
    world.go()
    assert (world.session.state, world.vis, len(world.session.runs)) == (SessionState.DONE, 32, 1)
    (second,) = [f for f in sessions.files_of(world.ctx, world.session) if f.uri == world.uri("F2")]
    assert (second.attempts, second.fingerprint.size) == (2, replaced[0].stat().st_size)
    assert world.go().session_id is None, "the version that was read is the one that is known"


def test_rows_of_a_file_that_was_half_written_are_not_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = IngestionWorld(tmp_path, APPEND)
    world.put("F1", 10)
    read = build_part.read_rows

    def read_while_it_is_written(*given: Any, **more: Any) -> Any:
        world.put("F1", 1, bad=True)
        try:
            return read(*given, **more)
        finally:
            monkeypatch.setattr(build_part, "read_rows", read)
            world.put("F1", 12)

    monkeypatch.setattr(build_part, "read_rows", read_while_it_is_written)
    world.go()
    assert (world.session.state, world.vis) == (SessionState.DONE, 12)


def test_a_file_that_changes_each_time_it_is_read_fails_and_the_next_trigger_reads_it(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, APPEND)
    for name in ("F1", "F2"):
        world.put(name, 10)
    world.builder.before = lambda part: world.put("F2", 22) and None if part.ordinal else None
    world.go()
    assert (world.states["F1"], world.states["F2"], world.vis) == (FileState.BUILT, FileState.FAILED, 0)
    (second,) = [f for f in sessions.files_of(world.ctx, world.session) if f.uri == world.uri("F2")]
    assert (second.attempts, "It was read three times, and changed each time." in second.error) == (3, True)
    world.builder.before = lambda part: None
    world.go()
    assert (world.read, world.vis, world.session.state) == (2, 32, SessionState.DONE)

"""Limits of one run with real segments: sessions extend over triggers, say what is left, and a killed run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.domain.ingestion.session import MOST_RUNS, FileState, SessionState
from segments.services.ingestion import sessions
from tests.ingestion.ingesting import APPEND, SWAP, SYNC, IngestionWorld
from tests.ingestion.test_interruptions import cutting
from tests.push.test_interruptions import Cut, Killed
from tests.services.world import TABLE

pytestmark = pytest.mark.django_db


def of_five(folder: Path, **keys: str) -> IngestionWorld:
    world = IngestionWorld(folder, {"runMaxNumFiles": "2", **keys})
    for number in range(1, 6):
        world.put(f"F{number}", number)
    return world


@pytest.mark.parametrize("mode", [APPEND, SYNC, SWAP], ids=["append", "sync", "swap"])
def test_one_session_over_three_triggers_shows_all_files_at_its_end(tmp_path: Path, mode: dict[str, str]) -> None:
    world = of_five(tmp_path, consistentPushMaxRetries="0", **mode)
    first = world.go()
    assert "reads 2 files and leaves 3 to the next triggers" in " ".join(first.notes)
    counts = world.session.counts
    assert (counts.total, counts.done, counts.deferred, counts.pending) == (5, 2, 3, 0)
    assert (world.session.state, world.session.error) == (SessionState.IN_PROGRESS, "")
    assert "leaves 1 to the next triggers" in " ".join(world.go().notes)
    assert (world.vis, world.read) == (0, 4)
    last = world.go()
    assert (last.session_id, last.notes) == (first.session_id, ())
    assert (world.session.state, world.session.retry_count, len(world.session.runs)) == (SessionState.DONE, 0, 3)
    assert (world.vis, world.read) == (15, 5)
    assert world.go().session_id is None


def test_a_run_says_how_many_files_it_leaves(tmp_path: Path) -> None:
    world = of_five(tmp_path, **APPEND)
    world.trigger()
    assert world.work().endswith("is IN_PROGRESS. 3 files are left to the next trigger.")


def test_without_consistent_push_each_run_shows_its_files(tmp_path: Path) -> None:
    world = of_five(tmp_path)
    seen, ids = [], set()
    for _ in range(3):
        ids.add(world.go().session_id)
        assert world.session.state is SessionState.DONE
        seen.append((world.vis, world.session.counts.deferred))
    assert (seen, len(ids)) == ([(3, 3), (10, 1), (15, 0)], 3)
    assert world.go().session_id is None


def test_a_run_whose_worker_dies_reads_no_more_files_than_it_was_to_read(tmp_path: Path) -> None:
    world = of_five(tmp_path, **APPEND)
    world.trigger()
    with pytest.raises(Killed):
        world.work(cutting(world, Cut(4)))
    world.now += 60_000
    sessions.resume_lost(world.ctx)
    world.work(owner="another")
    assert sorted(world.states.values()) == [FileState.BUILT] * 2 + [FileState.DEFERRED] * 3


def test_limits_may_change_between_the_runs_of_a_session(tmp_path: Path) -> None:
    world = of_five(tmp_path, **APPEND)
    first = world.go().session_id
    world.configure(runMaxNumFiles="-1")
    assert world.go().session_id == first
    assert (world.vis, world.session.state) == (15, SessionState.DONE)


def test_a_preview_counts_files_of_this_run_apart_from_those_of_later_ones(tmp_path: Path) -> None:
    world = of_five(tmp_path, **APPEND)
    found = sessions.preview(world.ctx, TABLE)
    assert found.files == {"read": 2, "deferred": 3, "unchanged": 0}
    assert [Path(uri).name for uri in found.to_read] == ["F1", "F2"]
    world.go()
    found = sessions.preview(world.ctx, TABLE)
    assert found.files == {"read": 2, "deferred": 1, "kept": 2, "unchanged": 0}
    assert found.what == "The open session would be continued with what its last run left."


def test_a_preview_shows_what_a_run_that_shows_its_files_replaces(tmp_path: Path) -> None:
    world = of_five(tmp_path, ingestionMode="SYNC", runMaxNumFiles="-1")
    world.go()
    world.configure(runMaxNumFiles="2")
    for number in range(1, 6):
        world.put(f"F{number}", number + 1)
    assert len(sessions.preview(world.ctx, TABLE).segments) == 2


def test_every_run_of_a_long_session_has_a_number_of_its_own(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, {"runMaxNumFiles": "1", **APPEND})
    for number in range(MOST_RUNS + 2):
        world.put(f"F{number:03}", 1)
    for _ in range(MOST_RUNS + 2):
        world.go()
    runs = world.session.runs
    assert (world.vis, len(runs), runs[-1].number) == (MOST_RUNS + 2, MOST_RUNS, MOST_RUNS + 1)
    assert len({run.number for run in runs}) == MOST_RUNS

"""Segments that cross the edge of a replaced time slice, where the task asks to split them: rows outside of it stay, in
segments of their own, and the switch is one.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from segments.domain.ingestion.plan import Visible, new_plan
from segments.domain.ingestion.replaced_part import Selector
from segments.domain.ingestion.selection import Extent
from segments.domain.ingestion.session import Fingerprint, SessionState
from segments.domain.segments import segment_metadata
from segments.errors import StateConflict
from segments.gateways.deep_store.deepstore import STAGING
from segments.services.ingestion import sessions, undo
from segments.services.segments import deletion
from segments.store import paths
from tests.domain.ingestion.model_table import task
from tests.ingestion.ingesting import APPEND, IngestionWorld
from tests.ingestion.slices.test_replaced_parts import DAY_MS, days
from tests.ingestion.test_interruptions import is_cut_everywhere, session_and_run
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

SPLIT = {"replaceCrossing": "split"}


def of_four_days(folder: Path) -> IngestionWorld:
    """One file has days 17000 and 17001, one 17002 and 17003, three rows of each day; both are visible."""
    world = IngestionWorld(folder, APPEND)
    for name, first in (("a.csv", 17000), ("b.csv", 17002)):
        world.file(name, *(f"Rom,{n},{day}" for day in (first, first + 1) for n in range(3)))
    world.go()
    assert (world.vis, len(world.visible)) == (12, 2)
    for path in world.folder.iterdir():
        path.unlink()
    world.builder.builds.clear()
    return world


def corrected(folder: Path) -> IngestionWorld:
    """Of days 17001 and 17002 there are two rows each from now on."""
    world = of_four_days(folder)
    world.configure(**days(17001, 17003), **SPLIT)
    world.file("c.csv", *(f"Bern,{n},{day}" for day in (17001, 17002) for n in range(2)))
    world.now += 600_000
    return world


def rows_by_start(world: IngestionWorld) -> dict[int, int]:
    """First day of each visible segment, and its rows."""
    found = {}
    for name in world.visible:
        node = world.memory.get(paths.segment(TABLE.typed, name))
        assert node is not None
        assert node.record is not None
        known = segment_metadata.from_record(node.record)
        assert known.start_ms is not None
        found[known.start_ms // DAY_MS] = known.total_docs or 0
    return found


def test_rows_outside_of_the_slice_stay(tmp_path: Path) -> None:
    world = corrected(tmp_path)
    world.go()
    assert world.session.error == ""
    assert rows_by_start(world) == {17000: 3, 17001: 4, 17003: 3}
    assert world.ctx.deep_store.folders(STAGING) == []
    assert world.go().session_id is None


def test_the_dry_run_says_which_rows_go_and_which_stay(tmp_path: Path) -> None:
    world = corrected(tmp_path)
    found = sessions.preview(world.ctx, TABLE)
    assert (len(found.segments), found.rows, found.crossing) == (2, 12, ())
    assert [(s.rows, s.stay) for s in found.splits] == [(6, 3), (6, 3)]
    assert found.bytes == sum(s.bytes for s in found.splits) > 0
    assert (world.vis, world.read) == (12, 0)


def test_a_segment_without_rows_outside_of_the_slice_is_just_replaced(tmp_path: Path) -> None:
    world = of_four_days(tmp_path)
    world.configure(**days(17000, 17003), **SPLIT)
    world.file("c.csv", "Bern,1,17000")
    world.go()
    assert rows_by_start(world) == {17000: 1, 17003: 3}


def test_a_second_correction_splits_what_the_first_one_kept(tmp_path: Path) -> None:
    world = corrected(tmp_path)
    world.go()
    world.configure(**days(17003, 17004), **SPLIT)
    (world.folder / "c.csv").unlink()
    world.file("d.csv", "Bern,1,17003")
    world.go()
    assert rows_by_start(world) == {17000: 3, 17001: 4, 17003: 1}


def test_a_split_is_undone_in_one_switch(tmp_path: Path) -> None:
    world = corrected(tmp_path)
    world.go()
    undo.undo_session(world.ctx, TABLE, world.session.id, actor=ANN)
    assert (world.vis, rows_by_start(world)) == (12, {17000: 6, 17002: 6})


def test_a_given_up_split_leaves_nothing(tmp_path: Path) -> None:
    world = corrected(tmp_path)
    world.put("bad.csv", 1, bad=True)
    world.go()
    assert world.session.state is SessionState.IN_PROGRESS
    sessions.cancel(world.ctx, TABLE, ANN)
    deletion.drain(world.serve().ctx, TABLE)
    assert (world.vis, world.ctx.deep_store.folders(STAGING)) == (12, [])


def test_a_split_cut_after_every_write_ends_the_same(tmp_path: Path) -> None:
    is_cut_everywhere(tmp_path, corrected, session_and_run, 10)


def test_on_a_pinot_cluster_it_is_refused_with_the_reason() -> None:
    selector = Selector(17001 * DAY_MS, 17003 * DAY_MS, splits=True)
    given = replace(task(consistentPushEnabled="true"), selector=selector)
    crossing = Extent(17000 * DAY_MS, 17001 * DAY_MS)
    visible = Visible({"s": crossing}, no_split="Segments of a Pinot cluster are not split.")
    with pytest.raises(StateConflict, match=r"edge of the replaced time range: s\. Segments of a Pinot"):
        new_plan(given, {"/in/a": Fingerprint(1, 1)}, {}, visible)

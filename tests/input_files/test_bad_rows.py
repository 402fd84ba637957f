"""Rows of a session's files that do not fit: counted by file, the first of them listed with line and value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.domain.ingestion.session import BadRow, FileRecord, FileState
from segments.services.ingestion import sessions
from segments.services.ingestion.files import bad_rows
from tests.ingestion.ingesting import APPEND, IngestionWorld

pytestmark = pytest.mark.django_db
GOOD = "berlin,1,17000"


@pytest.fixture
def world(tmp_path: Path) -> IngestionWorld:
    """Up to half of the rows of a file may be bad."""
    return IngestionWorld(tmp_path, {**APPEND, "errorRate": "0.5"})


def files(world: IngestionWorld) -> dict[str, FileRecord]:
    return {Path(f.uri).name: f for f in sessions.files_of(world.ctx, world.session)}


def test_rows_that_are_left_out_are_counted_and_listed_with_line_column_and_value(world: IngestionWorld) -> None:
    world.file("F1", GOOD, "rome,none,17000", GOOD, "oslo,many", GOOD)
    world.file("F2", GOOD)
    world.go()
    found = files(world)
    assert (world.vis, found["F1"].rows, found["F1"].bad_rows, found["F2"].bad_rows) == (4, 3, 2, 0)
    by_line = {row.line: row for row in found["F1"].bad}
    assert (by_line[3].column, by_line[3].value) == ("n", "'none'")
    assert (by_line[5].column, by_line[5].value) == ("", "'oslo,many'")
    assert found["F2"].bad == ()


def test_rows_are_listed_and_named_in_the_order_of_their_lines(world: IngestionWorld) -> None:
    rows = ("rome,none,17000", "oslo,many", "paris,x,17000")
    world.file("F1", *[GOOD] * 4, *rows)
    world.file("F2", *rows)
    world.go()
    found = files(world)
    assert [row.line for row in found["F1"].bad] == [6, 7, 8]
    assert [row.line for row in found["F2"].bad] == [2, 3, 4]
    assert (found["F2"].line, "line 2: Column" in found["F2"].error) == (2, True)


def test_files_that_share_a_segment_have_their_own_bad_rows(world: IngestionWorld) -> None:
    world.configure(taskMaxNumFiles="3")
    world.file("F1", GOOD, "rome,none,17000")
    world.file("F2", GOOD, GOOD)
    world.file("F3", GOOD, GOOD, "oslo,x,17000")
    world.go()
    found = files(world)
    assert len({s for f in found.values() for s in f.segments}) == 1
    assert {name: (f.bad_rows, [row.line for row in f.bad]) for name, f in found.items()} == {
        "F1": (1, [3]),
        "F2": (0, []),
        "F3": (1, [4]),
    }


def test_the_pieces_of_a_large_file_count_together(world: IngestionWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.configure(taskMaxDataSize="4K")
    world.file("F1", *([GOOD] * 100 + ["rome,none,17000"]) * 10)
    world.go()
    found = files(world)["F1"]
    assert len(found.segments) > 1
    assert (found.bad_rows, [row.line for row in found.bad]) == (10, [102 + 101 * n for n in range(10)])


def test_a_file_that_fails_for_its_rows_lists_them_until_it_is_mended(world: IngestionWorld) -> None:
    world.file("F1", GOOD, "rome,none,17000", "oslo,x,17000")
    world.go()
    failed = files(world)["F1"]
    assert (failed.state, failed.bad_rows, failed.line) == (FileState.FAILED, 2, 3)
    assert [row.line for row in failed.bad] == [3, 4]
    world.put("F1", 3)
    world.go()
    mended = files(world)["F1"]
    assert (mended.state, mended.bad_rows, mended.bad) == (FileState.DONE, 0, ())


def test_few_rows_are_listed_of_a_file_and_of_a_session(world: IngestionWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bad_rows, "MOST_OF_SESSION", 50)
    for name in ("F1", "F2", "F3", "F4"):
        world.file(name, *[GOOD, "rome,none,17000"] * 30)
    world.go()
    found = files(world).values()
    assert sorted(len(f.bad) for f in found) == [0, 10, 20, 20]
    assert {f.bad_rows for f in found} == {30}


def test_what_is_listed_already_counts_in_the_next_run(monkeypatch: pytest.MonkeyPatch, world: IngestionWorld) -> None:
    monkeypatch.setattr(bad_rows, "MOST_OF_SESSION", 1)
    world.file("F1", GOOD, "rome,none,17000")
    world.put("F2", 1, bad=True)
    world.go()
    world.file("F2", GOOD, "rome,none,17000")
    world.go()
    assert sum(len(f.bad) for f in files(world).values()) == 1


def test_passwords_in_values_are_masked(world: IngestionWorld) -> None:
    world.file("F1", GOOD, "rome,s3://ann:s3cr3t@lake/in,17000")
    world.go()
    assert "s3cr3t" not in str(files(world)["F1"].bad)


def test_rows_that_are_stored_as_the_default_are_listed_too(world: IngestionWorld) -> None:
    world.configure_table(ingestionConfig={"continueOnError": True})
    world.file("F1", GOOD, "rome,none,17000")
    world.go()
    found = files(world)["F1"]
    assert (found.rows, found.bad_rows, [row.line for row in found.bad]) == (2, 1, [3])


@pytest.mark.parametrize("report", [{}, {"bad_rows": 3, "bad": []}])
def test_a_part_that_was_staged_by_an_older_version_has_no_rows_by_file(report: dict[str, Any]) -> None:
    assert bad_rows.bad_rows_of("/in/a.csv", report) == 0
    assert bad_rows.BadRows([]).rows("/in/a.csv", [report]) == ()


def test_the_manifest_keeps_the_rows(world: IngestionWorld) -> None:
    world.file("F1", GOOD, "rome,none,17000")
    world.go()
    (row,) = files(world)["F1"].bad
    assert isinstance(row, BadRow)
    assert "cannot" in row.why or "not" in row.why

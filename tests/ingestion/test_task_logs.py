"""What is kept of a task that failed for a reason that no check has foreseen: its error, the causes, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.services.ingestion import sessions
from segments.spark import build_part
from segments.spark.task_log import LONGEST, task_log
from tests.ingestion.ingesting import APPEND, IngestionWorld

pytestmark = pytest.mark.django_db


def breaks(*_: Any) -> None:
    try:
        int("seven")
    except ValueError as error:
        raise ArithmeticError("The rows do not add up in s3://ann:s3cr3t@lake/in") from error


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IngestionWorld:
    """25 files that nothing can read."""
    world = IngestionWorld(tmp_path, APPEND)
    for number in range(25):
        world.put(f"F{number}", 1)
    with monkeypatch.context() as patched:
        patched.setattr(build_part, "read_rows", breaks)
        world.go()
    return world


def logs(world: IngestionWorld) -> list[str]:
    return [f.log for f in sessions.files_of(world.ctx, world.session) if f.log]


def test_the_log_of_a_failed_task_has_its_causes_and_no_secret(world: IngestionWorld) -> None:
    kept = logs(world)[0]
    assert kept.startswith("ArithmeticError: The rows do not add up")
    assert "caused by ValueError: invalid literal for int()" in kept
    assert "at ingestion/test_task_logs.py:" in kept
    assert "s3cr3t" not in kept


def test_a_few_logs_are_kept_of_many_failed_files_and_none_of_those_that_are_mended(world: IngestionWorld) -> None:
    assert (len(logs(world)), len(world.states)) == (20, 25)
    world.go()
    assert (logs(world), world.vis) == ([], 25)


def test_a_log_is_short_however_long_the_chain_of_causes() -> None:
    error: Exception = ValueError("x" * 10_000)
    for number in range(50):
        later = ValueError(f"{number} " + "y" * 10_000)
        later.__cause__, error = error, later
    assert len(task_log(error)) <= LONGEST
    assert task_log(error).count("caused by") == 4

"""An older program refuses the database of a newer one."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from segments.errors import StateConflict
from segments.management.newer_database import refuse_newer_database

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
def test_a_database_of_this_version_is_taken_and_one_of_a_newer_is_refused() -> None:
    refuse_newer_database("0.1.0")
    MigrationRecorder(connection).record_applied("segments", "9999_of_the_future")
    with pytest.raises(StateConflict, match=r"9999_of_the_future, which pinotadmin 0\.1\.0 does not know"):
        refuse_newer_database("0.1.0")


@pytest.mark.parametrize("command", [["setup_database"], ["cluster", "list"]])
def test_commands_that_write_say_what_to_do(tmp_path: Path, command: list[str]) -> None:
    with sqlite3.connect(tmp_path / "db.sqlite3") as made:
        made.execute("create table django_migrations (id integer primary key, app text, name text, applied text)")
        made.execute("insert into django_migrations values (1, 'segments', '9999_of_the_future', '2030-01-01')")
    environment = {**os.environ, "PINOTADMIN_DATA_DIR": str(tmp_path), "DATABASE_URL": ""}
    ended = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: The database belongs to a newer version"), ended.stderr
    assert "Run the newer version here, too, or restore a backup" in ended.stderr

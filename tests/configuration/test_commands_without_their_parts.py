"""A command whose database, or whose running installation, is not there says so in one line."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import DatabaseError

from segments.management.database_problem import database_problem

ROOT = Path(__file__).resolve().parents[2]


def ended(data: Path, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """``manage.py COMMAND`` with this data folder; the database is a folder, so that it cannot be opened."""
    (data / "db.sqlite3").mkdir()
    left_out = ("DATABASE_URL", "PINOTADMIN_URL", "PINOTADMIN_CREDENTIALS")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *command],
        env={**environment, "PINOTADMIN_DATA_DIR": str(data), **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_zookeeper_that_does_not_answer_is_one_sentence_for_a_command_that_ends(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and never listens
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        done = ended(tmp_path, "backup", str(tmp_path / "file"), ZOOKEEPER_URL=address)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert f"ZooKeeper at {address} did not answer" in done.stderr


@pytest.mark.parametrize(
    "text", ["no such table: auth_group", 'relation "auth_group" does not exist\nLINE 1: select ...']
)
def test_a_database_without_our_tables_is_taken_for_another_one_than_that_of_the_installation(text: str) -> None:
    said = database_problem(DatabaseError(text))
    assert said.startswith(f"DATABASE_URL cannot be used: {text.splitlines()[0]}. Set it as the installation has it;")
    assert "setup_database" in said
    assert database_problem(DatabaseError("disk is full")) == "DATABASE_URL cannot be used: disk is full."


@pytest.mark.parametrize("command", [["setup_database"], ["cluster", "list"], ["changepassword", "admin"]])
def test_a_database_that_cannot_be_used_is_named_without_a_traceback(tmp_path: Path, command: list[str]) -> None:
    done = ended(tmp_path, *command)
    assert done.returncode == 1
    assert done.stderr == "error: DATABASE_URL cannot be used: unable to open database file.\n"


def test_all_of_it_is_shown_to_who_asks_for_it(tmp_path: Path) -> None:
    done = ended(tmp_path, "setup_database", "--traceback")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "Traceback (most recent call last):")


def test_who_names_no_installation_is_given_the_folder_that_was_searched(tmp_path: Path) -> None:
    done = ended(tmp_path, "query", "select 1 from flights")
    assert done.returncode == 2
    assert f"{tmp_path / 'endpoints.json'} is not there: no 'up' has its data in that folder" in done.stderr
    assert "PINOTADMIN_DATA_DIR names another one" in done.stderr

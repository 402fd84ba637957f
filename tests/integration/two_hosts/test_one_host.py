"""The lists of commands of docs/deployment.md for one host, run as they stand: only folder, address, database and S3
are others here, and packages are installed already.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pytest

from tests.integration.running import ROOT, Client, Installation
from tests.integration.two_hosts.document import lists_of
from tests.postgresql.server import MISSING, PostgreSQL, running_postgresql
from tests.s3_server import start_s3
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]


class Documented(Installation):
    """``up`` by one of the lists; ``values`` stand for the document's own."""

    def __init__(self, folder: Path, commands: str, values: Mapping[str, str], **settings: str) -> None:
        # A free port instead of 9000, which anybody may have.
        super().__init__(folder, settings={"PINOTADMIN_PORT": "0", **settings})
        first, *rest = commands.strip().splitlines()
        assert first.split()[:2] == ["make", "install"]
        for word, value in {**values, "/var/lib/pinotadmin": str(folder), "0.0.0.0": "127.0.0.2"}.items():
            assert any(word in line for line in rest), f"{word} does not stand in the list"
            rest = [line.replace(word, value) for line in rest]
        program = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'manage.py'))}"
        rest = [line.replace(".venv/bin/python manage.py", program) for line in rest]
        rest[-1] = f"exec {rest[-1]}"
        self._script = "\n".join(rest)

    def command(self) -> list[str]:
        """The list."""
        return ["sh", "-e", "-c", self._script]


def _works(installation: Installation, seconds: float) -> None:
    """A table, a segment and a query, at the address that was asked for."""
    client = Client(installation.start(seconds).endpoints)
    assert client.base.startswith("http://127.0.0.2:")
    client.create("sales")
    client.upload("sales", "s1")
    client.online("sales", "s1")
    poll(lambda: client.sql("select count(*) from sales") == [[10]], 30, "ten rows")


def _tables(database: PostgreSQL) -> set[str]:
    """As the mirror wrote them."""
    with psycopg.connect(database.url) as connection:
        return {str(name) for (name,) in connection.execute("select name from segments_table").fetchall()}


@pytest.fixture
def made() -> Iterator[list[Installation]]:
    """Ended whatever becomes of the test."""
    found: list[Installation] = []
    yield found
    for installation in found:
        if installation.process is not None and installation.process.poll() is None:
            assert installation.stop() == 0, installation.log.read_text()[-4000:]


def test_the_list_for_everything_in_one_process_tree(tmp_path: Path, made: list[Installation]) -> None:
    made.append(Documented(tmp_path / "data", lists_of("One host")[0], {}))
    _works(made[0], 150)
    assert (tmp_path / "data" / "db.sqlite3").stat().st_size > 0


def test_the_list_with_parts_of_ones_own(tmp_path: Path, made: list[Installation]) -> None:
    commands = lists_of("One host")[1]
    extras = commands.split("EXTRAS=")[1].split()[0].split(",")
    assert [extra for extra in extras if not (ROOT / f"requirements-{extra}.lock").is_file()] == []
    with running_postgresql() as database:
        if database is None:
            pytest.skip(MISSING)
        s3 = start_s3()
        try:
            s3.make_bucket("bucket")
            values = {
                "postgresql://pinotadmin:PASSWORD@db.example/pinotadmin?sslmode=verify-full": database.url,
                "eu-central-1": "us-east-1",
            }
            made.append(Documented(tmp_path / "data", commands, values, **s3.settings))
            _works(made[0], 240)
            assert "Nothing is wrong." in made[0].log.read_text()
            assert s3.files_below("bucket/segments")
            poll(lambda: "sales_OFFLINE" in _tables(database), 30, "the table in the database")
            assert made.pop().stop() == 0
        finally:
            s3.stop()

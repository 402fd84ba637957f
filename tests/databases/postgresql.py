"""A PostgreSQL of its own for a run of tests, on loopback and in a temporary folder:
``python -m tests.databases.postgresql COMMAND...`` starts one, runs the command with DATABASE_URL, and ends it.

Status 75 where no PostgreSQL is installed; Debian's package is ``postgresql``.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.real_parts import free_port, until_ended
from tests.waiting import wait_until

NOT_INSTALLED: Final = 75
_USER: Final = "pinotadmin"
#: Nothing has to survive the run, so nothing is waited for until it is on the disk.
_FAST: Final = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=100")


def find(program: str) -> str | None:
    """Its path: on the PATH, or where Debian has it; the newest version."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), key=lambda p: float(p.parts[4]))
    return str(places[-1]) if places else shutil.which(program)


class PostgreSQL:
    """One server in ``folder``; ``freeze`` and ``kill`` are for tests of what happens without it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.password = folder, free_port(), secrets.token_hex(16)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """As DATABASE_URL."""
        return f"postgresql://{_USER}:{self.password}@127.0.0.1:{self.port}/postgres"

    def make(self) -> PostgreSQL:
        """Make its files. PostgreSQL does not run as root, so root hands them to another user."""
        initdb = find("initdb")
        assert initdb is not None
        self.folder.mkdir(parents=True)
        word = self.folder / "password"
        word.write_text(self.password)
        if os.geteuid() == 0:
            for path in (self.folder, word):
                shutil.chown(path, _other_user())
        subprocess.run(
            [initdb, "-D", self.folder / "data", "-U", _USER, "-A", "scram-sha-256", "--pwfile", word, "-E", "UTF8",
             "--locale", "C", "--no-sync"],
            check=True, stdout=subprocess.DEVNULL, cwd=self.folder, **_as_other(),
        )  # fmt: skip
        return self

    def start(self) -> PostgreSQL:
        """Start it and wait until it accepts connections."""
        postgres = find("postgres")
        assert postgres is not None
        settings = [part for name in _FAST for part in ("-c", name)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [postgres, "-D", self.folder / "data", "-h", "127.0.0.1", "-p", str(self.port), "-k", "", *settings],
                stdout=log, stderr=log, cwd=self.folder, **_as_other(),
            )  # fmt: skip
        wait_until(self.is_up, 30)
        return self

    def is_up(self) -> bool:
        """Does it let somebody in?"""
        import psycopg  # only where tests run on it

        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            assert self.process is not None
            assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
            return False
        return True

    def stop(self) -> None:
        """End it at once, with all of its connections."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(20)
            self.process = None


@contextmanager
def running() -> Iterator[PostgreSQL]:
    """One that is gone afterwards, with its files."""
    folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
    folder.chmod(0o755)
    server = PostgreSQL(folder / "server").make()
    try:
        yield server.start()
    finally:
        server.stop()
        shutil.rmtree(folder)


def _other_user() -> str:
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _as_other() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    found = pwd.getpwnam(_other_user())
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


def main(command: list[str]) -> int:
    """The command's status, or ``NOT_INSTALLED``."""
    if find("postgres") is None:
        print("SKIPPED: tests on PostgreSQL. It is not installed here (Debian: apt install postgresql).")  # noqa: T201
        return NOT_INSTALLED
    with until_ended(), running() as server:
        return subprocess.run(command, env={**os.environ, "DATABASE_URL": server.url}, check=False).returncode
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

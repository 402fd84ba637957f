"""A real PostgreSQL for tests, from the machine's package: its own data, a free loopback port, kill -9 and restart."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg

from tests.real_parts import free_port
from tests.waiting import wait_until

#: What tests say that are skipped because of it.
MISSING: Final = "no PostgreSQL is installed: no initdb in PATH or /usr/lib/postgresql (apt install postgresql)"
#: A killed server loses nothing that it wrote; only a machine does.
_OPTIONS: Final = ("fsync=off", "full_page_writes=off", "max_connections=200")
_PASSWORD: Final = "of-the-tests"


def find_programs() -> Path | None:
    """The folder with ``initdb`` and ``postgres``, of the newest version; None where there is none."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    debian = Path("/usr/lib/postgresql")
    if debian.is_dir():
        folders += sorted(debian.glob("*/bin"), key=lambda f: float(f.parent.name), reverse=True)
    return next((f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()), None)


@dataclass
class PostgreSQL:
    """A server; ``url`` is what DATABASE_URL is set to. Data survives ``kill`` and ``start``."""

    programs: Path
    folder: Path
    port: int
    #: Whether a commit is written before it is acknowledged, so that a killed server has it.
    is_durable: bool = False
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"postgresql://tests:{_PASSWORD}@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        """An empty cluster of databases."""
        secret = self.folder / "password"
        secret.write_text(_PASSWORD)
        os.chmod(secret, 0o644)
        command = [self.programs / "initdb", "-D", self.folder / "data", "-U", "tests", f"--pwfile={secret}"]
        options = ["--auth=scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C"]
        subprocess.run([*command, *options], check=True, capture_output=True, timeout=60, **self._unprivileged())

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        command = [self.programs / "postgres", "-D", self.folder / "data", "-p", str(self.port)]
        commit = f"synchronous_commit={'on' if self.is_durable else 'off'}"
        given = ("listen_addresses=127.0.0.1", "unix_socket_directories=", commit, *_OPTIONS)
        options = [x for option in given for x in ("-c", option)]
        with (self.folder / "postgres.out").open("ab") as out:
            self.process = subprocess.Popen([*command, *options], stdout=out, stderr=out, **self._unprivileged())
        wait_until(self._answers, 60.0, f"PostgreSQL on port {self.port} (see {self.folder}/postgres.out)")

    def kill(self) -> None:
        """kill -9 of the server with all its children, as when the machine stops."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(20.0)
            self.process = None

    def freeze(self) -> None:
        """Connections stay, and nothing answers."""
        self._to_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        self._to_all(signal.SIGCONT)

    def _to_all(self, number: int) -> None:
        """Each of its children leads a session of its own."""
        assert self.process is not None
        pid = self.process.pid
        os.kill(pid, number)
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), number)

    def remove(self) -> None:
        """End it and delete its data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "postgres.out").read_text()
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    @staticmethod
    def _unprivileged() -> dict[str, Any]:
        """How its programs are started: in a group of their own, and never as root, which they refuse."""
        own: dict[str, Any] = {"process_group": 0, "cwd": "/"}
        if os.getuid() != 0:
            return own
        return own | {"user": _nobody().pw_uid, "group": _nobody().pw_gid, "extra_groups": []}


def _nobody() -> pwd.struct_passwd:
    return pwd.getpwnam("nobody")


def start_postgresql(*, is_durable: bool = False) -> PostgreSQL | None:
    """A server of its own, which the caller removes; None where no PostgreSQL is installed."""
    programs = find_programs()
    if programs is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="pinotadmin-postgresql-"))
    if os.getuid() == 0:
        os.chown(folder, _nobody().pw_uid, _nobody().pw_gid)
    server = PostgreSQL(programs, folder, free_port(), is_durable)
    try:
        server.make()
        server.start()
    except BaseException:
        server.remove()
        raise
    return server


@contextmanager
def running_postgresql(*, is_durable: bool = False) -> Iterator[PostgreSQL | None]:
    """For as long as the block lasts."""
    server = start_postgresql(is_durable=is_durable)
    try:
        yield server
    finally:
        if server is not None:
            server.remove()

"""The installation on a PostgreSQL, three ZooKeepers and an S3 of its own, and what can happen to each part."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.integration.browser.pushing import push
from tests.integration.running import Client, Installation
from tests.postgresql.server import MISSING, PostgreSQL, running_postgresql
from tests.s3_server import S3Server, start_s3
from tests.scale.ensemble import Ensemble, running_ensemble

#: Seconds for which S3 and the database do not answer.
AWAY_S: Final = float(os.environ.get("SCALE_AWAY_S", "4"))
#: Seconds that a query may take: other tests are at work next to the short form.
SLOWEST_S: Final = float(os.environ.get("SCALE_SLOWEST_S", "20"))
#: Seconds from a fault, or from its end, to the end of a push.
PUSHED_S: Final = float(os.environ.get("SCALE_PUSHED_S", "150"))


@dataclass
class World:
    """The installation and the parts that are not its own."""

    installation: Installation
    database: PostgreSQL
    zookeepers: Ensemble
    s3: S3Server

    def kill(self, name: str, found: Mapping[str, Any] | None = None) -> None:
        """Kill -9 of one of its processes, which it starts again. ``found``: endpoints.json, which is there as long as
        all is healthy.
        """
        found = found or self.installation.endpoints
        servers = {server["instance"]: server["pid"] for server in found["servers"]}
        os.kill(min(servers.values()) if name == "server" else found["pids"][name], signal.SIGKILL)

    def without_database(self, seconds: float = AWAY_S) -> None:
        """Killed, and there again after a while."""
        self.database.kill()
        stays_so(seconds)
        self.database.start()

    def without_leader(self) -> None:
        """Killed; the other two elect one, and the third comes back later."""
        leader = self.zookeepers.leader()
        leader.kill()
        self.zookeepers.leader()
        leader.start()

    def frozen_store(self, seconds: float = AWAY_S) -> None:
        """It takes connections and answers nothing."""
        os.kill(self.s3.process.pid, signal.SIGSTOP)
        stays_so(seconds)
        os.kill(self.s3.process.pid, signal.SIGCONT)

    def fault(self, row: str) -> Callable[[], None]:
        """What a row of the table does."""
        others = {
            "database": self.without_database, "ZooKeeper's leader": self.without_leader,
            "S3 frozen": self.frozen_store,
        }  # fmt: skip
        return others.get(row, lambda: self.kill(row))


def stays_so(seconds: float) -> None:
    """How long a fault lasts is what is tried; nothing is waited for."""
    threading.Event().wait(seconds)


@contextmanager
def running_world(folder: Path) -> Iterator[World]:
    """With a table that is queried and one that is pushed to. Skips where there is no PostgreSQL."""
    with running_postgresql(is_durable=True) as database, running_ensemble(folder) as zookeepers:
        if database is None:
            pytest.skip(MISSING)
        s3 = start_s3()
        try:
            s3.make_bucket("lake")
            settings = {
                **s3.settings, "DEEP_STORE_URL": "s3://lake/segments", "DATABASE_URL": database.url,
                "ZOOKEEPER_URL": zookeepers.hosts, "PINOTADMIN_LOG_FORMAT": "json",
            }  # fmt: skip
            installation = Installation(folder / "data", "--web-processes", "2", settings=settings).start(150)
            client = Client(installation.endpoints)
            for table in ("kept", "pushed"):
                client.create(table)
            client.upload("kept", "a")
            client.online("kept", "a")
            push(installation, client, "pushed", "warm", 5)
            yield World(installation, database, zookeepers, s3)
            assert installation.stop() == 0, installation.log.read_text()[-4000:]
        finally:
            s3.process.kill()
            s3.process.wait()

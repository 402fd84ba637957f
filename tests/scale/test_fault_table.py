"""Each part of an installation dies while it is queried and pushed to: no query fails, each push ends, nothing is a
500. ``make test-scale`` has S3 frozen for 30 s and prints the table.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import psycopg
import pytest

from tests.integration.browser.pushing import push
from tests.integration.running import Client, Installation
from tests.postgresql.server import MISSING, PostgreSQL, running_postgresql
from tests.s3_server import S3Server, start_s3
from tests.scale.ensemble import Ensemble, running_ensemble
from tests.scale.watching import Watch
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

#: Seconds for which S3 and the database do not answer.
AWAY_S: Final = float(os.environ.get("SCALE_AWAY_S", "4"))
#: Seconds that a query may take: other tests are at work next to the short form.
SLOWEST_S: Final = float(os.environ.get("SCALE_SLOWEST_S", "10"))
#: Seconds from the fault, or from its end, to the end of the push.
PUSHED_S: Final = float(os.environ.get("SCALE_PUSHED_S", "150"))


@dataclass
class World:
    """The installation and the parts that are not its own."""

    installation: Installation
    database: PostgreSQL
    zookeepers: Ensemble
    s3: S3Server

    def killed(self, name: str) -> Callable[[], None]:
        """Kill -9 of one of its processes, which it starts again."""

        def work() -> None:
            found = self.installation.endpoints
            servers = {server["instance"]: server["pid"] for server in found["servers"]}
            pid = min(servers.values()) if name == "server" else found["pids"][name]
            os.kill(pid, signal.SIGKILL)

        return work

    def without_database(self) -> None:
        """Killed, and there again after a while. What it has acknowledged is on its disk, which tests do not wait for
        otherwise.
        """
        with psycopg.connect(self.database.url, autocommit=True) as connection:
            connection.execute("checkpoint")
        self.database.kill()
        _stays_so()
        self.database.start()

    def without_leader(self) -> None:
        """Killed; the other two elect one, and the third comes back later."""
        leader = self.zookeepers.leader()
        leader.kill()
        self.zookeepers.leader()
        leader.start()

    def frozen_store(self) -> None:
        """It takes connections and answers nothing."""
        os.kill(self.s3.process.pid, signal.SIGSTOP)
        _stays_so()
        os.kill(self.s3.process.pid, signal.SIGCONT)


def _stays_so() -> None:
    """How long a fault lasts is what is tried; nothing is waited for."""
    threading.Event().wait(AWAY_S)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("fault_table")
    with running_postgresql() as database, running_ensemble(folder) as zookeepers:
        if database is None:
            pytest.skip(MISSING)
        s3 = start_s3()
        try:
            s3.make_bucket("lake")
            settings = {
                **s3.settings, "DEEP_STORE_URL": "s3://lake/segments", "DATABASE_URL": database.url,
                "ZOOKEEPER_URL": zookeepers.hosts,
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


@pytest.mark.parametrize(
    "row", ["web", "worker", "mirror", "beat", "server", "database", "ZooKeeper's leader", "S3 frozen"]
)
def test_a_part_dies_under_queries_and_a_push(world: World, row: str) -> None:
    installation, client = world.installation, Client(world.installation.endpoints)
    faults: dict[str, Callable[[], None]] = {
        "database": world.without_database, "ZooKeeper's leader": world.without_leader, "S3 frozen": world.frozen_store,
    }  # fmt: skip
    with Watch(installation.endpoints) as watch:
        poll(lambda: len(watch.took) >= 20, 30, "the first queries")
        made = push(installation, client, "pushed", row.replace(" ", "_").replace("'", ""), 50, wait=False)
        faults.get(row, world.killed(row))()
        began = time.monotonic()
        poll(lambda: _state(client, made) == "DONE", PUSHED_S, f"the push next to '{row}'")
        pushed_s = time.monotonic() - began
        poll(lambda: client.sql("select count(*) from pushed") == [[50]], 20, "its rows")
    _print(row, watch, pushed_s)
    assert watch.failed == []
    assert max(watch.took) <= SLOWEST_S
    assert {s for s in watch.others if s >= 500} <= {503}, watch.others
    installation.wait_healthy()


def _state(client: Client, made: str) -> Any:
    answer = client.http.get(f"{client.base}/api/v1/pushes/{made}", timeout=30)
    assert answer.status_code in (200, 503), answer.text[:500]
    return answer.json().get("state")


def _print(row: str, watch: Watch, pushed_s: float) -> None:
    slow = sorted(watch.took)
    line = (
        f"\n{row:20} {len(slow):6} queries, {len(watch.failed)} failed, {watch.repeated} sent again,"
        f" p99 {1000 * slow[int(len(slow) * 0.99)]:6.0f} ms, slowest {1000 * slow[-1]:6.0f} ms;"
        f" push DONE {pushed_s:5.1f} s later; other answers {dict(watch.others)}\n"
    )
    sys.stdout.write(line)

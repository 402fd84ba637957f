"""The installation on two addresses, on a PostgreSQL, three ZooKeepers, an S3 and a Spark cluster of its own, behind
nginx, and what can happen to each part.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.integration.browser.pushing import push
from tests.integration.proxy.nginx import MISSING as NO_NGINX
from tests.integration.proxy.nginx import PROXY, Nginx, certificate, program, running_nginx
from tests.integration.running import Client
from tests.integration.two_hosts.parts import SECRETS
from tests.postgresql.server import MISSING as NO_POSTGRESQL
from tests.postgresql.server import PostgreSQL, running_postgresql
from tests.real_parts import free_port
from tests.s3_server import S3Server, start_s3
from tests.scale.ensemble import Ensemble, running_ensemble
from tests.scale.hosts import PREFIX, Fronted, OtherHost
from tests.scale.redis_server import RedisServer
from tests.spark_cluster import SparkCluster
from tests.waiting import poll

#: Seconds for which S3 and the database do not answer.
AWAY_S: Final = float(os.environ.get("SCALE_AWAY_S", "4"))
#: What every change runs leaves out the faults after which Spark is started again: that takes half a minute each.
IS_SHORT: Final = AWAY_S < 10
SPARK_STARTS_AGAIN: Final = ("worker", "Spark master")
#: Seconds that a query may take: other tests are at work next to the short form.
SLOWEST_S: Final = float(os.environ.get("SCALE_SLOWEST_S", "20"))
#: Seconds from a fault, or from its end, to the end of a push.
PUSHED_S: Final = float(os.environ.get("SCALE_PUSHED_S", "150"))
#: What web processes behind nginx have set, and where Spark's executors find the worker.
_PROXIED: Final = {
    "PINOTADMIN_PATH_PREFIX": PREFIX, "PINOTADMIN_TRUSTED_PROXIES": PROXY, "PINOTADMIN_SECURE_COOKIES": "true",
}  # fmt: skip
_DRIVER: Final = {
    "PINOTADMIN_SPARK_DRIVER_HOST": "127.0.0.1", "PINOTADMIN_SPARK_DRIVER_BIND_ADDRESS": "127.0.0.1",
    "SPARK_LOCAL_IP": "127.0.0.1",
}  # fmt: skip


@dataclass
class World:
    """The installation and the parts that are not its own."""

    installation: Fronted
    other_host: OtherHost
    database: PostgreSQL
    zookeepers: Ensemble
    redis: RedisServer
    s3: S3Server
    spark: SparkCluster
    nginx: Nginx

    def wait_whole(self, seconds: float = 150) -> dict[str, Any]:
        """Until everything on both hosts works; endpoints.json of then."""
        self.other_host.wait(seconds)

        def found() -> dict[str, Any]:
            self.installation.wait_healthy(seconds)
            return self.installation.endpoints  # a slow answer takes the file away for a moment

        return poll(found, seconds, "everything works") or {}

    def kill(self, name: str, found: Mapping[str, Any] | None = None) -> None:
        """Kill -9 of one of its processes, which it starts again. ``found``: endpoints.json, which is there as long as
        all is healthy.
        """
        found = found or self.installation.endpoints
        servers = {server["instance"]: server["pid"] for server in found["servers"]}
        os.kill(min(servers.values()) if name == "server" else found["pids"][name], signal.SIGKILL)

    def without_database(self, seconds: float) -> None:
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

    def without_quorum(self, seconds: float) -> None:
        """Two of the three ZooKeepers are killed, and started again after a while."""
        away = self.zookeepers.without_quorum()
        stays_so(seconds)
        self.zookeepers.start_together(away)

    def without_redis(self, seconds: float) -> None:
        """Killed, with all that waited in it, and there again after a while."""
        self.redis.kill()
        stays_so(seconds)
        self.redis.start()

    def frozen_store(self, seconds: float) -> None:
        """It takes connections and answers nothing."""
        os.kill(self.s3.process.pid, signal.SIGSTOP)
        stays_so(seconds)
        os.kill(self.s3.process.pid, signal.SIGCONT)

    def without_executor(self, seconds: float) -> None:
        """One of Spark's executors is killed, as soon as there is one."""
        deadline = time.monotonic() + seconds
        while not (found := self.spark.executors()) and time.monotonic() < deadline:
            stays_so(0.05)
        if found:
            with suppress(ProcessLookupError):  # it ended by itself
                os.kill(found[0], signal.SIGKILL)

    def without_spark_master(self, seconds: float) -> None:
        """Killed, and another one in its place after a while, which knows nothing of before."""
        self.spark.kill_master()
        stays_so(seconds)
        self.spark.start_master()

    def without_other_host(self, seconds: float) -> None:
        """All of it is killed, and started again after a while."""
        self.other_host.kill()
        stays_so(seconds)
        self.other_host.start()

    def fault(self, row: str, seconds: float = AWAY_S) -> Callable[[], None]:
        """What a row of the table does; what is away is so for these seconds."""
        return self.others(seconds).get(row, lambda: self.kill(row))

    def others(self, seconds: float) -> dict[str, Callable[[], None]]:
        """What is no process of ``up``, and what happens to it."""
        return {
            "database": lambda: self.without_database(seconds), "ZooKeeper's leader": self.without_leader,
            "S3 frozen": lambda: self.frozen_store(seconds), "Spark executor": lambda: self.without_executor(seconds),
            "Spark master": lambda: self.without_spark_master(seconds), "nginx reload": self.nginx.reload,
            "the other host": lambda: self.without_other_host(seconds),
            "two ZooKeepers": lambda: self.without_quorum(seconds), "Redis": lambda: self.without_redis(seconds),
        }  # fmt: skip


def stays_so(seconds: float) -> None:
    """How long a fault lasts is what is tried; nothing is waited for."""
    threading.Event().wait(seconds)


@contextmanager
def running_world(folder: Path) -> Iterator[World]:
    """With a table that is queried and one that is pushed to. Skips where there is no PostgreSQL or no nginx."""
    if not program():
        pytest.skip(NO_NGINX)
    with ExitStack() as opened:
        database = opened.enter_context(running_postgresql(is_durable=True))
        if database is None:
            pytest.skip(NO_POSTGRESQL)
        s3 = start_s3()
        opened.callback(s3.stop)
        s3.make_bucket("lake")
        for name in ("spark", "data/input"):
            (folder / name).mkdir(parents=True)
        spark = SparkCluster(folder / "spark", s3.settings, ("127.0.0.1", "127.0.0.2"))
        opened.callback(spark.stop)
        spark.start()
        zookeepers = opened.enter_context(running_ensemble(folder))
        redis = RedisServer(folder / "redis", free_port())
        opened.callback(redis.kill)
        redis.start()
        settings = {
            **SECRETS, **_PROXIED, **s3.settings, "DEEP_STORE_URL": "s3://lake/segments", "DATABASE_URL": database.url,
            "ZOOKEEPER_URL": zookeepers.hosts, "REDIS_URL": redis.url,
            "PINOTADMIN_LOG_FORMAT": "json", "PINOTADMIN_INPUT_ROOTS": str(folder / "data" / "input"),
        }  # fmt: skip
        pushing = {**settings, **_DRIVER, "SPARK_MASTER": spark.master}
        options = ("--servers", "1", "--web-processes", "2")
        installation = Fronted(folder / "data", *options, settings=pushing).start(150)
        opened.callback(_stop, installation)
        other = OtherHost(folder, settings)
        opened.callback(other.stop)
        other.start()
        other.wait()
        spark.wait()
        authority = certificate(folder)
        nginx = opened.enter_context(running_nginx(folder, installation.endpoints["controller"], other.web))
        installation.is_behind(nginx.site, authority)
        _fill(installation)
        yield World(installation, other, database, zookeepers, redis, s3, spark, nginx)


def _fill(installation: Fronted) -> None:
    client = Client(installation.endpoints)
    for table in ("kept", "pushed"):
        client.create(table)
    client.upload("kept", "a")
    client.online("kept", "a")
    push(installation, client, "pushed", "warm", 5)


def _stop(installation: Fronted) -> None:
    assert installation.stop() == 0, installation.log.read_text()[-4000:]

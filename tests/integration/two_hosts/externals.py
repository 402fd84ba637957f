"""What all hosts of a cluster share: PostgreSQL, ZooKeeper, Redis and a folder as deep store."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from segments.processes.machine.valkey import redis_command
from segments.store.on_zookeeper.client import ZooKeeperStore
from tests.integration.running import Client
from tests.integration.two_hosts.document import filled, lists_of
from tests.integration.two_hosts.parts import PASSWORD, SECRETS, Host
from tests.postgresql.server import MISSING, PostgreSQL, running_postgresql
from tests.real_parts import free_port, start_zookeeper

LOGIN: Final = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()


@dataclass
class Shared:
    """``settings``: what every part is started with; ``store``: the znodes of the cluster."""

    folder: Path
    settings: Mapping[str, str]
    database: PostgreSQL
    store: ZooKeeperStore

    def set_up(self, host: Host, **more: str) -> None:
        """The document's lists that are followed once: the file with the settings, and the database."""
        words = {name.removeprefix("PINOTADMIN_").removesuffix("_URL"): text for name, text in self.settings.items()}
        for commands, values in zip(lists_of("Many hosts"), (words, {"ADMIN_PASSWORD": PASSWORD}), strict=False):
            status, said = host.follow(filled(commands, values), **more)
            assert status == 0, said


@contextmanager
def running_externals(folder: Path) -> Iterator[Shared]:
    """For as long as the block lasts, which ends what uses them. Skips where there is no PostgreSQL."""
    with running_postgresql() as database:
        if database is None:
            pytest.skip(MISSING)
        zookeeper, port = start_zookeeper(folder / "zookeeper"), free_port()
        for name in ("redis", "deepstore"):
            (folder / name).mkdir()
        redis = subprocess.Popen(redis_command(folder / "redis", port, "secret"), stdout=subprocess.DEVNULL)
        settings = {
            **SECRETS, "ZOOKEEPER_URL": zookeeper.hosts, "REDIS_URL": f"redis://:secret@127.0.0.1:{port}/0",
            "DATABASE_URL": database.url, "DEEP_STORE_URL": f"file://{folder}/deepstore",
        }  # fmt: skip
        store = ZooKeeperStore(zookeeper.hosts, "pinotadmin")
        try:
            yield Shared(folder, settings, database, store)
        finally:
            store.close()
            redis.kill()
            redis.wait()
            zookeeper.kill()


def client_of(web: str) -> Client:
    """The administrator at a web process."""
    return Client({"controller": web, "authorization": f"Basic {LOGIN}"})

"""From the last release to this version, part by part, under queries, pushes and a stream with commits: no query fails,
every push ends, and every row is there once.

The release is taken from the history of the repository. UPGRADE_FROM names another commit.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
import requests

from bench.realtime_table import RedisFeed, Table
from segments.store import paths
from tests.chaos.streaming import Producer, chain_is_whole, visible
from tests.integration.running import Client
from tests.integration.two_hosts.externals import LOGIN, Shared, client_of, running_externals
from tests.integration.two_hosts.parts import Host, Part
from tests.processes.conftest import PROJECT
from tests.real_parts import free_ports
from tests.scale.loads import Pushes
from tests.scale.watching import Watch
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

#: The commit of version 0.2.0.
RELEASE: Final = os.environ.get("UPGRADE_FROM", "462975ff1dec72cac0c2ab5ac3bf86d22f02cc8e")
#: In the order of docs/operations.md: web processes last of all.
_ORDER: Final = ("worker", "upkeep", "mirror", "beat", "server a", "server b", "web a", "web b")


def unpacked(into: Path) -> Path:
    """The program of that commit. Skips where the history does not go back to it."""
    git = ["git", "-C", str(PROJECT)]
    known = subprocess.run([*git, "cat-file", "-e", f"{RELEASE}^{{commit}}"], capture_output=True, check=False)
    if known.returncode != 0:
        pytest.skip(f"commit {RELEASE[:10]} is not in this clone: git fetch --unshallow")
    into.mkdir()
    archive = subprocess.run([*git, "archive", RELEASE], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(into)], input=archive, check=True)
    return into


def _ports() -> dict[str, str]:
    """Of both web processes, of both servers, and of their administration."""
    first = free_ports(6)
    return {name: str(first + n) for n, name in enumerate(("a", "b", "sa", "sb", "aa", "ab"))}


@dataclass
class Cluster:
    """``program``: whose code the next part that starts runs."""

    shared: Shared
    hosts: dict[str, Host]
    program: Path
    ports: dict[str, str] = field(default_factory=_ports)
    parts: dict[str, Part] = field(default_factory=dict)

    def web(self, host: str) -> str:
        return f"http://{self.hosts[host].address}:{self.ports[host]}"

    @property
    def endpoints(self) -> dict[str, Any]:
        """As endpoints.json of one installation has it."""
        webs = [self.web("a"), self.web("b")]
        return {"controller": webs[1], "broker": webs[1], "brokers": webs, "authorization": f"Basic {LOGIN}"}

    def start(self, name: str) -> None:
        """Its part, and wait until it does its work."""
        role, _, letter = name.partition(" ")
        ports = {"8098": self.ports[f"s{letter}"], "8097": self.ports[f"a{letter}"]} if role == "server" else None
        more = {"PYTHONPATH": str(self.program), "PINOTADMIN_INPUT_ROOTS": str(self.shared.folder / "input")}
        if role == "web":
            more["PINOTADMIN_PORT"] = self.ports[letter]
        self.parts[name] = self.hosts[letter or "a"].run(role, ports, **more)
        poll(lambda: self._works(role, letter), 150, f"{name}, see {self.parts[name].log}")

    def _works(self, role: str, letter: str) -> bool:
        if role == "web":
            return requests.get(f"{self.web(letter)}/health/readiness", timeout=5).status_code == 200
        if role == "server":
            address = f"{self.hosts[letter].address}_{self.ports[f's{letter}']}"
            return any(address in name for name in self.shared.store.children(paths.LIVE_INSTANCES))
        if role in ("mirror", "beat"):
            node = self.shared.store.get(paths.elected(role))
            pid = str(self.parts[role].process.pid)
            return bool(node and node.record and node.record.simple["PROCESS"].startswith(f"{pid}@"))
        return True  # a worker that takes nothing shows by a push that does not end

    def replace(self, name: str, serving: Client, tables: tuple[str, ...]) -> None:
        """The part of the other program in its place; the next one goes once every replica is there."""
        # uvicorn ends in an orderly way, and then as by the signal.
        assert self.parts[name].stop() in (0, -signal.SIGTERM), self.parts[name].log.read_text()[-3000:]
        self.start(name)
        for table in tables:
            poll(lambda table=table: _is_served(serving, table), 60, f"every replica of {table} after {name}")  # type: ignore[misc]  # bound at once


def _is_served(client: Client, table: str) -> bool:
    ideal, view = (client.call("GET", f"/tables/{table}/{what}").json() for what in ("idealstate", "externalview"))
    return bool(ideal == view or all(view[kind] == ideal[kind] for kind in ideal if ideal[kind]))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Of the release, whole."""
    old = unpacked(tmp_path / "release")
    with running_externals(tmp_path) as shared:
        hosts = {
            letter: Host(address, tmp_path, shared.settings)
            for letter, address in (("a", "127.0.0.1"), ("b", "127.0.0.2"))
        }
        made = Cluster(shared, hosts, old)
        try:
            shared.set_up(hosts["a"], PYTHONPATH=str(old))
            for name in reversed(_ORDER):
                made.start(name)
            yield made
        finally:
            for host in hosts.values():
                host.end()


def test_a_cluster_goes_over_part_by_part_under_load(cluster: Cluster, tmp_path: Path) -> None:
    client, feed = client_of(cluster.web("b")), RedisFeed(cluster.shared.settings["REDIS_URL"])
    client.create("kept")
    client.upload("kept", "a")
    client.online("kept", "a")
    table = Table(client, feed, "streamed", 2).create(rows=1_000, replication=2)
    pushes = Pushes(cluster.endpoints, tmp_path / "input")
    producer = Producer(table, 50)
    poll(lambda: visible(client, table) > 0, 60, "the first rows")
    pushes.background.start()
    poll(lambda: pushes.count > 1, 150, "the first push")
    pushes.answers.background.start()
    with Watch(cluster.endpoints) as watch:
        cluster.program = PROJECT
        cluster.shared.set_up(cluster.hosts["a"])
        for name in _ORDER:
            cluster.replace(name, client, ("kept", "streamed"))
        upgraded = pushes.count
        poll(lambda: pushes.count > upgraded + 1, 150, "a push by the new version alone")
    pushes.background.stop(200)
    pushes.answers.background.stop()
    producer.stop()
    poll(table.whole, 60, f"all {sum(table.sent.values())} rows of the stream, each once")
    chain_is_whole(client, table)
    feed.client.close()
    assert (watch.failed, pushes.answers.wrong) == ([], [])
    assert {status for status in watch.others if status >= 500} <= {503}, watch.others

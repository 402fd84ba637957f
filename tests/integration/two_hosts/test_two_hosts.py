"""A cluster of parts that are started one by one on two hosts, with one set of secrets."""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import requests
from redis import Redis

from segments.domain.jobs.workers.pools import POOLS
from segments.store import paths
from segments.store.on_zookeeper.client import ZooKeeperStore
from tests.integration.running import Client, Installation
from tests.integration.two_hosts.externals import LOGIN, client_of, running_externals
from tests.integration.two_hosts.parts import PASSWORD, Host, Part
from tests.postgresql.server import PostgreSQL
from tests.real_parts import free_port, free_ports
from tests.waiting import poll, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
OTHER = secrets.token_hex(32)


@dataclass
class TwoHosts:
    """What they share, and who runs where."""

    a: Host
    b: Host
    webs: tuple[str, str]
    store: ZooKeeperStore
    database: PostgreSQL

    def client(self, which: int) -> Client:
        """The administrator at one of the two web processes."""
        return client_of(self.webs[which])

    def holder(self, role: str) -> str:
        """pid@host of the process that has it."""
        node = self.store.get(paths.elected(role))
        return node.record.simple["PROCESS"] if node and node.record else ""

    def waiting_tasks(self) -> int:
        """What was fired and no worker takes: none runs here."""
        with Redis.from_url(self.a.settings["REDIS_URL"]) as client:
            return sum(int(client.llen(pool.queue)) for pool in POOLS)  # type: ignore[arg-type]  # not awaited

    def tables(self) -> set[str]:
        """As the mirror wrote them."""
        with psycopg.connect(self.database.url) as connection:
            return {str(name) for (name,) in connection.execute("select name from segments_table").fetchall()}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoHosts]:
    with running_externals(tmp_path_factory.mktemp("two_hosts")) as shared:
        a, b = (Host(address, shared.folder, shared.settings) for address in ("127.0.0.1", "127.0.0.2"))
        try:
            shared.set_up(a)
            yield _start(TwoHosts(a, b, ("", ""), shared.store, shared.database))
        finally:
            for host in (a, b):
                host.end()


def _start(hosts: TwoHosts) -> TwoHosts:
    webs = []
    for host, processes in ((hosts.a, 2), (hosts.b, 1)):
        port = str(free_ports(1 + processes))
        host.run("web", PINOTADMIN_PORT=port, PINOTADMIN_WEB_PROCESSES=str(processes))
        host.run("server", {"8098": str(free_port()), "8097": str(free_port())})
        host.run("mirror")
        host.run("beat")
        webs.append(f"http://{host.address}:{port}")
    hosts.webs = (webs[0], webs[1])
    for web in webs:
        poll(lambda web=web: requests.get(f"{web}/health/readiness", timeout=5).status_code == 200, 150, web)  # type: ignore[misc]  # bound at once
    wait_until(lambda: len(_servers(hosts)) == 2, 150, "both servers")
    return hosts


def _servers(hosts: TwoHosts) -> list[str]:
    return [name for name in hosts.store.children(paths.LIVE_INSTANCES) if name.startswith("Server_")]


def _brokers(hosts: TwoHosts) -> list[str]:
    return [name for name in hosts.store.children(paths.LIVE_INSTANCES) if name.startswith("Broker_")]


def test_both_hosts_serve_one_cluster(hosts: TwoHosts) -> None:
    assert sorted({name.split("_")[1] for name in _servers(hosts)}) == ["127.0.0.1", "127.0.0.2"]
    one, other = hosts.client(0), hosts.client(1)
    one.create("sales")
    one.upload("sales", "s1")
    other.online("sales", "s1")
    assert [client.sql("select count(*) from sales") for client in (one, other)] == [[[10]], [[10]]]
    entry = other.start("sales", ["s1"], ["s2"])
    one.upload("sales", "s2", rows=20)
    other.end("sales", entry)
    assert [client.sql("select count(*) from sales") for client in (one, other)] == [[[20]], [[20]]]


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("PINOTADMIN_CLUSTER_SECRET", OTHER, "is not that of the cluster"),
        ("PINOTADMIN_SECRET_KEY", OTHER, "is not that of the cluster"),
        ("PINOTADMIN_CLUSTER_SECRET", "", "is not set"),
        ("DATABASE_URL", "", "is not set"),
    ],
    ids=["wrong cluster secret", "wrong key", "no cluster secret", "no database"],
)
def test_a_part_with_a_wrong_secret_or_none_says_so_and_does_not_join(
    hosts: TwoHosts, setting: str, value: str, words: str
) -> None:
    before = hosts.store.children(paths.LIVE_INSTANCES)
    ports = ("--port", str(free_port()), "--admin-port", str(free_port()), "--name", "other")
    status, said = hosts.b.tried("run", "server", *ports, **{setting: value})
    assert (status, setting in said, words in said, "Traceback" in said) == (1, True, True, False), said
    assert value == "" or value not in said
    assert hosts.store.children(paths.LIVE_INSTANCES) == before


def _children(parent: int) -> set[int]:
    """The processes that this one started."""
    lists = (task / "children" for task in Path(f"/proc/{parent}/task").iterdir())
    return {int(pid) for found in lists for pid in found.read_text().split()}


def test_one_of_two_web_processes_of_a_host_is_killed_and_not_missed(hosts: TwoHosts) -> None:
    (web,) = [part for part in hosts.a.parts if "-web-" in part.log.name]
    before = _children(web.process.pid)
    assert (len(before), len(_brokers(hosts))) == (2, 3)
    os.kill(min(before), signal.SIGKILL)
    for _ in range(10):
        answer = requests.get(f"{hosts.webs[0]}/health/liveness", timeout=10, headers={"Connection": "close"})
        assert answer.status_code == 200
    wait_until(lambda: len(_children(web.process.pid) - {min(before)}) == 2, 60, "another one in its place")
    wait_until(lambda: len(_brokers(hosts)) == 3, 60, "all of them in the cluster")


def test_without_web_processes_behind_it_a_port_refuses_at_once_until_one_is_back(hosts: TwoHosts) -> None:
    (web,) = [part for part in hosts.a.parts if "-web-" in part.log.name]
    for pid in _children(web.process.pid):
        os.kill(pid, signal.SIGKILL)

    def refuses() -> bool:
        try:
            return requests.get(f"{hosts.webs[0]}/health/liveness", timeout=2).status_code == 0
        except requests.ConnectionError:
            return True

    poll(refuses, 5, "the port refuses")
    assert requests.get(f"{hosts.webs[1]}/health/readiness", timeout=10).status_code == 200
    wait_until(lambda: len(_brokers(hosts)) == 3, 60, "all of them in the cluster")
    poll(lambda: not refuses(), 30, "an answer at the same port")


def test_probes_come_in_under_every_name_and_nothing_else_does(hosts: TwoHosts) -> None:
    for web in hosts.webs:
        for path, status in (("/health/readiness", 200), ("/health/liveness", 200), ("/health", 200), ("/tables", 400)):
            assert requests.get(web + path, headers={"Host": "10.1.2.3:8080"}, timeout=30).status_code == status, path


def test_a_second_up_on_the_same_zookeeper_invents_no_secrets(hosts: TwoHosts, tmp_path: Path) -> None:
    none = {"PINOTADMIN_CLUSTER_SECRET": "", "PINOTADMIN_SECRET_KEY": ""}
    status, said = hosts.b.tried("up", "--data-dir", str(tmp_path / "c"), "--port", "0", **none)
    assert (status, "exists already" in said, "secrets.json" in said) == (1, True, True), said
    assert not (tmp_path / "c" / "secrets.json").exists()


@pytest.mark.parametrize("setting", ["PINOTADMIN_CLUSTER_SECRET", "PINOTADMIN_SECRET_KEY"])
def test_a_second_up_with_another_secret_says_so_and_stops(hosts: TwoHosts, tmp_path: Path, setting: str) -> None:
    before = hosts.store.children(paths.LIVE_INSTANCES)
    status, said = hosts.b.tried("up", "--data-dir", str(tmp_path / "c"), "--port", "0", **{setting: OTHER})
    assert (status, setting in said, "is not that of the cluster" in said, OTHER in said) == (1, True, True, False), (
        said
    )
    assert hosts.store.children(paths.LIVE_INSTANCES) == before


def test_a_second_up_with_the_secrets_of_the_first_joins(hosts: TwoHosts, tmp_path: Path) -> None:
    before = {*_servers(hosts), *_brokers(hosts)}
    settings = {**hosts.b.settings, "PINOTADMIN_ADMIN_PASSWORD": PASSWORD}
    joined = Installation(tmp_path / "c", "--servers", "1", settings=settings).start(150)
    try:
        came = {*_servers(hosts), *_brokers(hosts)} - before
        assert sorted(name.partition("_")[0] for name in came) == ["Broker", "Server"]
        client = Client({**joined.endpoints, "authorization": f"Basic {LOGIN}"})
        client.create("joined")
        wait_until(lambda: "joined" in hosts.client(0).call("GET", "/tables").text, 30, "the table on the other host")
    finally:
        assert joined.stop() == 0


@pytest.mark.parametrize("role", ["mirror", "beat"])
def test_another_one_takes_over_within_15_seconds(hosts: TwoHosts, role: str) -> None:
    wait_until(lambda: hosts.holder(role), 60, f"a {role} that works")
    pid = int(hosts.holder(role).partition("@")[0])
    (mine,) = [part for host in (hosts.a, hosts.b) for part in host.parts if _has(part, pid)]
    if role == "mirror":
        mine.process.send_signal(signal.SIGSTOP)  # only the end of its session shows that it is gone
    else:
        mine.kill()
    began = time.monotonic()
    wait_until(lambda: hosts.holder(role) not in ("", f"{pid}@{hosts.holder(role).partition('@')[2]}"), 15, "the other")
    assert time.monotonic() - began < 15
    if role == "mirror":
        mine.kill()
        hosts.client(1).create("later")
        wait_until(lambda: "later_OFFLINE" in hosts.tables(), 30, "the table in the database")
    else:
        (taken,) = [p for p in (*hosts.a.parts, *hosts.b.parts) if p is not mine and "beat" in p.log.name]
        poll(lambda: "fires the schedules now" in taken.log.read_text(), 15, "its word")
        waiting = hosts.waiting_tasks()
        wait_until(lambda: hosts.waiting_tasks() > waiting, 60, "what it fires")


def _has(part: Part, pid: int) -> bool:
    return part.process.pid == pid


def test_a_stopped_mirror_leaves_its_role_at_once(hosts: TwoHosts) -> None:
    again = hosts.a.run("mirror")
    poll(lambda: "takes over when it is gone" in again.log.read_text(), 60, "its word")
    holder = int(hosts.holder("mirror").partition("@")[0])
    (working,) = [part for host in (hosts.a, hosts.b) for part in host.parts if _has(part, holder)]
    assert working.stop() == 0
    wait_until(lambda: hosts.holder("mirror").startswith(f"{again.process.pid}@"), 5, "the one that waited")


def test_workers_come_up_by_the_documents_lines_too(hosts: TwoHosts) -> None:
    hosts.b.run("worker")
    hosts.b.run("upkeep")

    def states() -> list[bool]:
        found = hosts.client(0).call("GET", "/health/workers").json()["workers"]
        return [worker["ok"] for worker in found]

    poll(lambda: states() == [True] * len(POOLS), 150, "every pool of workers")
    poll(lambda: hosts.waiting_tasks() < 5, 60, "the end of what waited")


@pytest.mark.parametrize("role", ["worker", "upkeep"])
def test_nothing_of_a_killed_part_outlives_it(hosts: TwoHosts, role: str) -> None:
    """The test before this one started them; a worker has Spark's Java below it."""
    (part,) = [p for p in hosts.b.parts if f"-{role}-" in p.log.name]
    below = poll(lambda: _descendants(part.process.pid), 60, f"processes below the {role}")
    part.kill()
    poll(lambda: not [pid for pid in below if _lives(pid)], 60, f"the end of {below}")


def _descendants(pid: int) -> set[int]:
    return {pid for child in _children(pid) for pid in (child, *_descendants(child))}


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

"""Three ZooKeepers that elect a leader, each of which can be killed and started again."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real_parts import ZooKeeperProcess, free_ports
from tests.waiting import poll


@dataclass
class Ensemble:
    """The three; ``hosts`` is what clients connect to."""

    members: list[ZooKeeperProcess]

    @property
    def hosts(self) -> str:
        return ",".join(member.hosts for member in self.members)

    def leader(self) -> ZooKeeperProcess:
        """The one that the others follow, as soon as there is one."""
        return poll(lambda: next((m for m in self.members if _mode(m) == "leader"), None), 60, "a leader")

    def without_quorum(self) -> list[ZooKeeperProcess]:
        """Two of the three are killed: the third answers nobody. Those that are to be started again."""
        away = [self.leader(), next(m for m in self.members if _mode(m) == "follower")]
        for member in away:
            member.kill()
        return away

    def start_together(self, away: Sequence[ZooKeeperProcess]) -> None:
        """Neither answers without the other, should the third be behind."""
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda member: member.start(), away))


def _mode(member: ZooKeeperProcess) -> str:
    if member.process is None:
        return ""
    try:
        with socket.create_connection(("127.0.0.1", member.port), 2.0) as connection:
            connection.settimeout(2.0)
            connection.sendall(b"srvr")
            said = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    except OSError:
        return ""
    return said.partition("Mode: ")[2].split("\n")[0].strip()


@contextmanager
def running_ensemble(folder: Path) -> Iterator[Ensemble]:
    """Started together, since none answers alone."""
    first = free_ports(9)
    lines = [f"server.{n}=127.0.0.1:{first + 3 * n - 2}:{first + 3 * n - 1}" for n in (1, 2, 3)]
    members = []
    for number in (1, 2, 3):
        own = folder / f"zookeeper-{number}"
        (own / "data").mkdir(parents=True)
        (own / "data" / "myid").write_text(str(number))
        settings = [*lines, "initLimit=10", "syncLimit=5"]
        members.append(
            ZooKeeperProcess(own, first + 3 * (number - 1), settings=settings, jars=("snappy*", "metrics-core*"))
        )
    try:
        ensemble = Ensemble(members)
        ensemble.start_together(members)
        yield ensemble
    finally:
        for member in members:
            if member.process is not None:
                member.kill()

"""Chooses the cluster's ports once and remembers them: a server's instance id holds its port."""

from __future__ import annotations

import contextlib
import os
import random
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segments.errors import StateConflict
from segments.processes.machine.private_file import read_json, write_private_json

WEB_PORT = 9000
ZOOKEEPER_PORT = 2191
REDIS_PORT = 6390
FIRST_SERVER_PORT = 8098
_LOOPBACK = "127.0.0.1"
#: Below Linux's range for outgoing connections, so that a remembered port is still free at the next start.
_RANDOM_RANGE = (20_000, 32_000)


@dataclass(frozen=True)
class ServerPorts:
    """Ports of one server: ``port`` is in its instance id, ``admin`` serves HTTP."""

    port: int
    admin: int


@dataclass(frozen=True)
class Ports:
    """Every port of a cluster. ``own_web``: of each web process where several share ``web``; else none."""

    web: int
    zookeeper: int
    redis: int
    servers: tuple[ServerPorts, ...]
    own_web: tuple[int, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """What the person requested: ``web`` None means the remembered port or 9000, 0 a free one. ``web_processes`` share
    it.
    """

    web: int | None
    servers: int
    host: str = _LOOPBACK
    zookeeper: bool = True
    redis: bool = True
    web_processes: int = 1


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As the servers themselves do: connections in TIME_WAIT are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError:
            return False
        return True


class PortChooser:
    """Gives out ports that are free and not given out yet."""

    def __init__(self, *, preferred: bool, free: Callable[[str, int], bool] = is_free) -> None:
        """``preferred``: take the well-known number when it is free (a new data directory with a fixed web port)."""
        self._preferred = preferred
        self._free = free
        self._taken: set[int] = set()

    def take(self, remembered: int | None, preferred: int, *, what: str, fixed: bool) -> int:
        """The remembered port, else the preferred one, else a free one.

        Raises StateConflict when a remembered port that must not change (``fixed``) is in use.
        """
        if remembered is not None:
            if self._usable(remembered):
                return self._mark(remembered)
            if fixed:
                raise busy(what, remembered)
        if self._preferred and preferred and remembered is None and self._usable(preferred):
            return self._mark(preferred)
        return self._mark(self.any_port())

    def any_port(self, host: str = _LOOPBACK) -> int:
        """A random free port."""
        for _ in range(1000):
            port = random.randrange(*_RANDOM_RANGE)
            if self._usable(port, host):
                return port
        raise StateConflict("No free port was found between 20000 and 32000.", remedy="End processes that hold them.")

    def reserve(self, port: int) -> None:
        """Do not give this one out."""
        self._taken.add(port)

    def _usable(self, port: int, host: str = _LOOPBACK) -> bool:
        return port not in self._taken and self._free(host, port)

    def _mark(self, port: int) -> int:
        self._taken.add(port)
        return port


def choose_ports(path: Path, wanted: Wanted, *, free: Callable[[str, int], bool] = is_free) -> Ports:
    """Choose ports, write them to ``path`` (ports.json) and return them.

    The web, redis and server ports of an earlier run are kept, because table configs and znodes name them; ZooKeeper's
    and the admin ports may move. Raises StateConflict, naming the process in the way, when a port that must be kept is
    in use.
    """
    known = read_json(path)
    chooser = PortChooser(preferred=not known and wanted.web != 0, free=free)
    remembered = [ServerPorts(int(item["port"]), int(item["admin"])) for item in known.get("servers", [])]
    web = _web_port(wanted, known.get("web"), chooser, free)
    chooser.reserve(web)
    for server in remembered[: wanted.servers]:
        if not free(_LOOPBACK, server.port):
            raise busy("Server port", server.port)
        chooser.reserve(server.port)
    zookeeper = _part(chooser, known.get("zookeeper"), ZOOKEEPER_PORT, wanted.zookeeper, fixed=False)
    redis = _part(chooser, known.get("redis"), REDIS_PORT, wanted.redis, fixed=True)
    servers = tuple(_server_ports(chooser, remembered, index) for index in range(wanted.servers))
    own_web = _own_web(chooser, known.get("own_web", []), wanted.web_processes)
    record: dict[str, Any] = {
        **known,
        "web": web,
        "servers": [{"port": s.port, "admin": s.admin} for s in (*servers, *remembered[wanted.servers :])],
    }
    record |= {"zookeeper": zookeeper} if wanted.zookeeper else {}
    record |= {"redis": redis} if wanted.redis else {}
    record |= {"own_web": list(own_web)} if own_web else {}
    write_private_json(path, record)
    return Ports(web, zookeeper, redis, servers, own_web)


def _own_web(chooser: PortChooser, remembered: list[int], count: int) -> tuple[int, ...]:
    """They are part of the names under which web processes register, so they are kept where they can be."""
    if count == 1:
        return ()
    known = [*remembered, *[None] * count][:count]
    return tuple(chooser.take(port, 0, what="Port of a web process", fixed=False) for port in known)


def _part(chooser: PortChooser, remembered: int | None, preferred: int, needed: bool, *, fixed: bool) -> int:
    return chooser.take(remembered, preferred, what="Redis port" if fixed else "Port", fixed=fixed) if needed else 0


def _server_ports(chooser: PortChooser, remembered: list[ServerPorts], index: int) -> ServerPorts:
    preferred = FIRST_SERVER_PORT - 2 * index
    if index < len(remembered):
        admin = chooser.take(remembered[index].admin, preferred - 1, what="Admin port", fixed=False)
        return ServerPorts(remembered[index].port, admin)
    port = chooser.take(None, preferred, what="Server port", fixed=False)
    return ServerPorts(port, chooser.take(None, preferred - 1, what="Admin port", fixed=False))


def _web_port(wanted: Wanted, remembered: int | None, chooser: PortChooser, free: Callable[[str, int], bool]) -> int:
    if wanted.web == 0:
        return remembered if remembered is not None and free(wanted.host, remembered) else chooser.any_port(wanted.host)
    port = wanted.web if wanted.web is not None else remembered if remembered is not None else WEB_PORT
    if not free(wanted.host, port):
        raise busy("Web port", port, remedy="Choose another with --port N, or --port 0 for a free one.")
    return port


def busy(
    what: str, port: int, remedy: str = "End that process; this port cannot change, because stored records name it."
) -> StateConflict:
    """The error that names the port and, where /proc shows it, the process that listens on it."""
    holder = listener_of(port)
    return StateConflict(f"{what} {port} is in use{' by ' + holder if holder else ''}.", remedy=remedy)


def listener_of(port: int) -> str | None:
    """``process 12 (java)`` for the process that listens on this TCP port; None when that is unknown."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            rows = [line.split() for line in Path(table).read_text(encoding="ascii").splitlines()[1:]]
            inodes |= {
                f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port
            }
    for process in Path("/proc").glob("[0-9]*") if inodes else ():
        with contextlib.suppress(OSError):
            if any(os.readlink(link) in inodes for link in (process / "fd").iterdir()):
                return f"process {process.name} ({(process / 'comm').read_text(encoding='utf-8').strip()})"
    return None

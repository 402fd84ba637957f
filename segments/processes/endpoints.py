"""``DIR/endpoints.json``: where everything is, there exactly as long as all is healthy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segments.processes.machine.private_file import write_private_json


@dataclass(frozen=True)
class ServerEndpoint:
    """One embedded server: its child name, its instance id and the address of its HTTP endpoints."""

    child: str
    instance: str
    admin: str


@dataclass(frozen=True)
class Endpoints:
    """The addresses of a cluster; pids are added when the file is written."""

    web: str
    zookeeper: str
    redis: str
    cluster: str
    deep_store: str
    authorization: str
    servers: tuple[ServerEndpoint, ...]
    #: ``digest:USER:PASSWORD``; empty: its znodes are open.
    zookeeper_auth: str = ""
    #: The file by which the certificates of the others are checked; empty: the system's.
    authorities: str = ""

    def document(self, pids: dict[str, int]) -> dict[str, Any]:
        """The file's content; ``pids`` maps child names to process ids."""
        servers = [{"instance": s.instance, "admin": s.admin, "pid": pids.get(s.child)} for s in self.servers]
        names = {s.child for s in self.servers}
        return {
            "controller": self.web,
            "broker": self.web,
            "zookeeper": self.zookeeper,
            "zookeeper_auth": self.zookeeper_auth,
            "cluster": self.cluster,
            "redis": self.redis,
            "deep_store": self.deep_store,
            "authorization": self.authorization,
            "authorities": self.authorities,
            "servers": servers,
            "pids": {name: pid for name, pid in pids.items() if name not in names},
        }


FILE_NAME = "endpoints.json"


class EndpointsFile:
    """Writes the file when all is healthy and removes it when something is not."""

    def __init__(self, path: Path, endpoints: Endpoints) -> None:
        self._path = path
        self._endpoints = endpoints
        self.remove()

    def write(self, pids: dict[str, int]) -> None:
        """All is healthy with these processes."""
        write_private_json(self._path, self._endpoints.document(pids))

    def remove(self) -> None:
        """Something is not healthy."""
        self._path.unlink(missing_ok=True)

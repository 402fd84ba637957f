"""The two hosts: ``up`` with everything on 127.0.0.1, and the parts that answer on 127.0.0.2, which run by themselves.

Every part is told the same settings. People, pushes and queries come in through nginx, which knows the web processes of
both.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import requests

from tests.integration.running import Installation
from tests.integration.two_hosts.parts import Host
from tests.real_parts import free_ports
from tests.waiting import poll

PREFIX: Final = "/pinot"
_OTHER: Final = "127.0.0.2"
_ROLES: Final = ("web", "server", "mirror", "beat")


class Fronted(Installation):
    """``up`` on the first host; its ``endpoints`` are those that people have."""

    def __init__(self, folder: Path, *options: str, settings: Mapping[str, str]) -> None:
        super().__init__(folder, *options, settings=settings)
        self.front: dict[str, Any] = {}

    @property
    def endpoints(self) -> dict[str, Any]:
        """The contents of endpoints.json, with nginx as controller and broker."""
        return {**super().endpoints, **self.front}

    def is_behind(self, site: str, authority: Path) -> None:
        """From now on."""
        address = f"{site}{PREFIX}"
        self.front = {"controller": address, "broker": address, "authorities": str(authority)}


class OtherHost:
    """Web process, server, mirror and beat on the second address."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.host = Host(_OTHER, folder, settings)
        first = free_ports(3)
        self.web, self.admin = f"http://{_OTHER}:{first}", f"http://{_OTHER}:{first + 1}"
        self._ports = {"8098": str(first + 2), "8097": str(first + 1)}
        #: The store's own names are no settings of ours, so they do not belong into the file.
        self._environment = {name: text for name, text in settings.items() if name.startswith("AWS_")}
        lines = [f'{name} = "{text}"' for name, text in settings.items() if name not in self._environment]
        (folder / "pinotadmin.toml").write_text("\n".join([*lines, ""]))
        (folder / "pinotadmin.toml").chmod(0o600)

    def start(self) -> None:
        """All four; ``wait`` says when they work."""
        self.host.parts.clear()
        for role in _ROLES:
            self._run(role)

    def wait(self, seconds: float = 150) -> None:
        """Until web process and server are ready: the server has loaded what it had. Parts that ended by themselves,
        because the database was down when they started, are started again as their systemd unit does.
        """
        for address in (self.web, self.admin):
            what = f"{address}, see {[str(part.log) for part in self.host.parts]}"
            poll(lambda at=address: self._is_ready(at), seconds, what)  # type: ignore[misc]  # bound at once

    def _is_ready(self, address: str) -> bool:
        for number, role in enumerate(_ROLES):
            if self.host.parts[number].process.poll() is not None:
                self._run(role)
                self.host.parts[number] = self.host.parts.pop()
        return requests.get(f"{address}/health/readiness", timeout=5).ok

    def _run(self, role: str) -> None:
        more = {"PINOTADMIN_PORT": self.web.rpartition(":")[2]} if role == "web" else {}
        self.host.run(role, self._ports if role == "server" else None, **more, **self._environment)

    def kill(self) -> None:
        """kill -9 of everything there at one moment, as when the power goes."""
        for part in self.host.parts:
            part.process.kill()
        for part in self.host.parts:
            part.process.wait(20)

    def stop(self) -> None:
        """In order."""
        self.host.end()

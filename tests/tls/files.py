"""Authorities and certificates, made by the commands of docs/deployment.md."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from segments.gateways.tls.certificate import Certificate
from segments.gateways.tls.trust import Trust
from tests.integration.two_hosts.document import filled, lists_of

MISSING = "openssl is not installed"
HAS_OPENSSL = shutil.which("openssl") is not None


@dataclass(frozen=True)
class Authority:
    """One in a folder of its own."""

    folder: Path

    @property
    def file(self) -> Path:
        """What those have who believe it."""
        return self.folder / "ca.pem"

    @property
    def trust(self) -> Trust:
        """Of those who believe it."""
        return Trust(str(self.file))

    def sign(self, host: str, name: str = "tls", *, days: int = 365) -> Certificate:
        """A new certificate of this host in ``name``.pem, its key in ``name``.key."""
        commands = filled(lists_of("TLS between the parts")[1], {"ADDRESS": host})
        assert "-days 365" in commands
        run(self.folder, commands.replace("-days 365", f"-days {days}").replace("tls.", f"{name}."))
        return Certificate(str(self.folder / f"{name}.pem"), str(self.folder / f"{name}.key"))


def new_authority(folder: Path) -> Authority:
    """Another one for each folder."""
    folder.mkdir(parents=True, exist_ok=True)
    run(folder, lists_of("TLS between the parts")[0])
    return Authority(folder)


def run(folder: Path, commands: str) -> None:
    """A list of commands, as it stands."""
    done = subprocess.run(["sh", "-e", "-c", commands], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr

"""Starts parts by ``pinotadmin run`` as an operator does, on an address that stands for a host."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.two_hosts.document import filled, part_of
from tests.processes.conftest import PROJECT

SECRETS = {
    "PINOTADMIN_CLUSTER_SECRET": secrets.token_hex(32),
    "PINOTADMIN_SECRET_KEY": secrets.token_hex(32),
}
PASSWORD = "a-long-enough-secret"


@dataclass
class Part:
    """A running process; ``log`` is what it printed."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        """kill -9, as when its host dies."""
        self.process.kill()
        self.process.wait(20)

    def stop(self) -> int:
        """SIGTERM; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(40)


@dataclass
class Host:
    """One address, with its folder; ``settings`` are what all hosts share."""

    address: str
    folder: Path
    settings: Mapping[str, str]
    parts: list[Part] = field(default_factory=list)

    def environment(self, **more: str) -> dict[str, str]:
        """Of a process here; an empty value takes a setting out."""
        ours = ("PINOTADMIN_", "ZOOKEEPER_", "REDIS_", "DATABASE_", "DEEP_STORE_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        found = {**kept, "PYTHONPATH": str(PROJECT), **more}
        return {k: v for k, v in found.items() if v}

    def run(self, role: str, ports: Mapping[str, str] | None = None, **more: str) -> Part:
        """Start it by the document's lines, on these ports instead of its own; whoever calls waits for what it is to
        do.
        """
        log = self.folder / f"{self.address}-{role}-{len(self.parts)}.log"
        first, line = part_of(role)
        for documented, own in (ports or {}).items():
            line = line.replace(documented, own)
        here = filled(first, {"ADDRESS": self.address}).replace("/data", f"/{self.address}")
        script = f"{here}\nexec {filled(line, {})}"
        with log.open("ab") as out:
            process = subprocess.Popen(
                ["sh", "-c", script], cwd=self.folder, env=self.environment(**more), stdout=out, stderr=out
            )
        part = Part(process, log)
        self.parts.append(part)
        return part

    def follow(self, commands: str, **more: str) -> tuple[int, str]:
        """Status and words of a list of commands."""
        done = subprocess.run(
            ["sh", "-e", "-c", commands],
            cwd=self.folder, env=self.environment(**more), capture_output=True, text=True, timeout=150, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def tried(self, *arguments: str, **more: str) -> tuple[int, str]:
        """Status and words of a command that is to end, with the settings of all parts."""
        return self.follow(shlex.join([sys.executable, "-m", "pinotadmin", *arguments]), **{**self.settings, **more})

    def end(self) -> None:
        """Everything that still runs here."""
        for part in reversed(self.parts):
            if part.process.poll() is None:
                part.process.send_signal(signal.SIGTERM)
        for part in reversed(self.parts):
            try:
                part.process.wait(40)
            except subprocess.TimeoutExpired:
                part.kill()

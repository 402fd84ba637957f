"""Starts parts by ``pinotadmin run`` as an operator does, on an address that stands for a host."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.processes.conftest import PROJECT

SECRETS = {
    "PINOTADMIN_CLUSTER_SECRET": secrets.token_hex(32),
    "PINOTADMIN_SECRET_KEY": secrets.token_hex(32),
    "PINOTADMIN_ADMIN_PASSWORD": "a long enough secret",
}


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
    """One address with a data folder; ``settings`` are what all hosts share."""

    address: str
    folder: Path
    settings: Mapping[str, str]
    parts: list[Part] = field(default_factory=list)

    def environment(self, **more: str) -> dict[str, str]:
        """Of a process here; an empty value takes a setting out."""
        ours = ("PINOTADMIN_", "ZOOKEEPER_", "REDIS_", "DATABASE_", "DEEP_STORE_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        own = {"PINOTADMIN_HOST": self.address, "PINOTADMIN_DATA_DIR": str(self.folder)}
        found = {**kept, **self.settings, **own, **more}
        return {k: v for k, v in found.items() if v}

    def run(self, role: str, *arguments: str, **more: str) -> Part:
        """Start it; whoever calls waits for what it is to do."""
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / f"{role}-{len(self.parts)}.log"
        command = [sys.executable, "-m", "pinotadmin", "run", role, *arguments]
        with log.open("ab") as out:
            process = subprocess.Popen(command, cwd=PROJECT, env=self.environment(**more), stdout=out, stderr=out)
        part = Part(process, log)
        self.parts.append(part)
        return part

    def tried(self, *arguments: str, **more: str) -> tuple[int, str]:
        """Status and words of a command that is to end."""
        done = subprocess.run(
            [sys.executable, "-m", "pinotadmin", *arguments],
            cwd=PROJECT, env=self.environment(**more), capture_output=True, text=True, timeout=90, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

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

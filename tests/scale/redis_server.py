"""A Redis that outlives both hosts, and can be killed and started again at its port."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from redis import Redis, RedisError

from segments.processes.machine.valkey import redis_command
from tests.waiting import poll


@dataclass
class RedisServer:
    """``url`` is its address, with the password."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"redis://:secret@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Until it answers."""
        self.folder.mkdir(exist_ok=True)
        command = redis_command(self.folder, self.port, "secret")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        poll(self._answers, 20, "Redis")

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(20)
            self.process = None

    def _answers(self) -> bool:
        try:
            with Redis.from_url(self.url, socket_timeout=2) as client:
                return bool(client.ping())
        except RedisError:
            return False

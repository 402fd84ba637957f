"""Real parts for tests: a ZooKeeper from PySpark's jars on a free loopback port, with kill -9 and restart."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segments.processes.machine.java import find_java
from segments.processes.machine.zookeeper import zookeeper_command, zookeeper_jars
from segments.store.on_zookeeper.login import ZooKeeperLogin
from tests.waiting import wait_until


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody listens on now."""
    for _ in range(200):
        first = free_port()
        with ExitStack() as tried, suppress(OSError, OverflowError):
            for port in range(first, first + count):
                tried.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
    raise AssertionError(f"no {count} free ports in a row")


@contextmanager
def until_ended() -> Iterator[None]:
    """For commands that start parts: SIGTERM ends them as Ctrl-C does, silently and with all that they started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        yield


@dataclass
class ZooKeeperProcess:
    """A running ZooKeeper; ``hosts`` is what clients connect to. Data survives ``kill`` and ``restart``."""

    data_dir: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    #: Who may do everything on it, as on the server that ``up`` starts.
    login: ZooKeeperLogin | None = None
    #: Lines for zoo.cfg, and options of the JVM.
    settings: Sequence[str] = ()
    options: Sequence[str] = ()
    #: Of PySpark's, beside those that the embedded server needs.
    jars: Sequence[str] = ()

    @property
    def hosts(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        """Start it and wait until it takes connections and answers."""
        command = zookeeper_command(self.data_dir, self.port, find_java(os.environ).executable, self.login)
        if self.settings:
            with Path(command[-1]).open("a") as config:
                config.write("\n".join(self.settings) + "\n")
        # A killed process loses nothing that it wrote; only a machine does. A busy disk takes seconds for one fsync.
        folder, path = zookeeper_jars()[0].parent, command.index("-cp") + 1
        command[path] = os.pathsep.join(
            [command[path], *(str(jar) for pattern in self.jars for jar in folder.glob(pattern))]
        )
        command[1:1] = ["-Dzookeeper.forceSync=no", *self.options]
        with (self.data_dir / "zookeeper.out").open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=self.data_dir)
        wait_until(self._answers, 60.0, f"ZooKeeper on port {self.port} (see {self.data_dir}/zookeeper.out)")

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in an orderly way."""
        self._end(signal.SIGTERM)

    def freeze(self) -> None:
        """SIGSTOP, and wait until every thread of it stands still: some run on for a moment after the signal."""
        os.kill(self.pid, signal.SIGSTOP)
        wait_until(
            lambda: set(_thread_states(self.pid)) == {"T"}, 10.0, "the ZooKeeper that was stopped", every_s=0.001
        )

    def restart(self) -> None:
        """kill -9, then start on the same data and port."""
        self.kill()
        self.start()

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(20.0)
            self.process = None

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"ZooKeeper ended; see {self.data_dir}/zookeeper.out"
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1.0) as connection:
                connection.settimeout(1.0)
                connection.sendall(b"srvr")
                return b"Mode:" in connection.recv(4096)
        except OSError:
            return False


def start_zookeeper(data_dir: Path, **more: Any) -> ZooKeeperProcess:
    """A ZooKeeper of its own, data in ``data_dir``; ``more``: fields of ZooKeeperProcess. The caller stops it."""
    data_dir.mkdir(parents=True, exist_ok=True)
    zookeeper = ZooKeeperProcess(data_dir, free_port(), **more)
    zookeeper.start()
    return zookeeper


def _thread_states(pid: int) -> Iterator[str]:
    """The state letter of each thread, as the kernel shows it."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # it ended
            yield (thread / "stat").read_text().rpartition(")")[2].split()[0]

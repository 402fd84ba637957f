"""A real Apache Pinot 0.11.0 on loopback: ZooKeeper, controller, broker and two servers, each started here and ended by
its id.

``python -m tests.real_pinot.cluster`` starts one and stays in the foreground.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from segments.processes.machine.java import find_java
from tests.integration.running import Installation
from tests.maven import PINOT, Jars
from tests.real_parts import free_port, until_ended

CLUSTER = "realpinot"
ADMINISTRATOR = "org.apache.pinot.tools.admin.PinotAdministrator"
_OPENS = ("java.nio", "sun.nio.ch", "java.lang", "java.util", "java.lang.reflect")
#: Less work for the machine than the defaults, which are made for servers with many cores.
_LIGHT = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
#: Seconds until a process must be up; about 10 each on a quiet machine.
_PATIENCE = 180.0


def java_command(
    jars: Jars | Sequence[Path | str], heap: str, main: str, *arguments: str, is_light: bool = True
) -> list[str]:
    """The command that runs a main class of ``jars``, or of a class path, with the options that Pinot needs on Java 17.
    Not ``is_light``: it compiles and collects as Java does by default, for who measures it.
    """
    path = [f"{jars.lib}/*"] if isinstance(jars, Jars) else list(map(str, jars))
    opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENS]
    java = str(find_java(os.environ).executable)
    options = [
        f"-Xmx{heap}",
        "-Dpinot.admin.system.exit=true",
        *opens,
        "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    ]
    options += _LIGHT if is_light else ()
    return [java, *options, "-cp", os.pathsep.join(path), main, *arguments]


@dataclass
class RealPinot:
    """A running Pinot. ``controller`` and ``broker`` are URLs, ``zookeeper`` an address; logs are ``<process>.out`` in
    ``folder``.
    """

    folder: Path
    servers: int = 2
    has_broker: bool = True
    is_light: bool = True
    controller: str = ""
    broker: str = ""
    zookeeper: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    health: dict[str, str] = field(default_factory=dict)
    _commands: dict[str, list[str]] = field(default_factory=dict)

    @property
    def deep_store(self) -> Path:
        return self.folder / "deepstore"

    def start(self) -> None:
        """Start all processes and wait until each says that it is well."""
        zookeeper = free_port()
        self.zookeeper = f"127.0.0.1:{zookeeper}"
        self._plan(
            "zookeeper", "256m", "StartZookeeper", "-zkPort", str(zookeeper), "-dataDir", str(self.folder / "zk")
        )
        self._plan_controller()
        if self.has_broker:
            self._plan_broker()
        for number in range(1, self.servers + 1):
            self._plan_server(f"server{number}")
        self._run("zookeeper")
        self._wait("zookeeper", lambda: _accepts(zookeeper))
        self.restart("controller")
        others = [name for name in self._commands if name not in {"zookeeper", "controller"}]
        for name in others:
            self._run(name)
        for name in others:
            self.wait_well(name)

    def kill(self, name: str) -> None:
        """kill -9 of one process."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(30)

    def restart(self, name: str) -> None:
        """Start a process that does not run, on its ports and data, and wait until it is well."""
        self._run(name)
        self.wait_well(name)

    def wait_well(self, name: str) -> None:
        """Until the process says OK."""
        self._wait(name, lambda: _is_well(self.health[name]))

    def end(self) -> None:
        """Kill what was started, last first."""
        for name in reversed(list(self.processes)):
            self.kill(name)

    def call(
        self, method: str, path: str, body: bytes | dict[str, Any] | None = None, kind: str = "application/json"
    ) -> Any:
        """One request to the controller; the JSON of the answer, or its bytes. AssertionError with the text for any
        other status.
        """
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(self.controller + path, data, {"Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                got = answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(
                f"{method} {path}: {error.code} {error.read().decode(errors='replace')[-2000:]}"
            ) from error
        try:
            return json.loads(got)
        except ValueError:
            return got

    def upload(self, table: str, tar: Path) -> None:
        """Push one tar as a batch job's TAR push does."""
        line = b"--pinotadminboundary\r\n"
        head = line + f'Content-Disposition: form-data; name="segment"; filename="{tar.name}"\r\n\r\n'.encode()
        body = head + tar.read_bytes() + b"\r\n--pinotadminboundary--\r\n"
        path = f"/v2/segments?tableName={table}&tableType=OFFLINE"
        self.call("POST", path, body, "multipart/form-data; boundary=pinotadminboundary")

    def query(self, sql: str) -> list[list[Any]]:
        """Rows of one query, decimals exact. AssertionError when Pinot names an exception."""
        data = json.dumps({"sql": sql}).encode()
        request = urllib.request.Request(self.broker + "/query/sql", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.loads(answer.read(), parse_float=Decimal)
        assert not found.get("exceptions"), f"{sql}: {found['exceptions']}"
        rows: list[list[Any]] = found["resultTable"]["rows"]
        return rows

    def wait_for_rows(self, table: str, rows: int) -> None:
        """Until the table answers with that many rows."""
        deadline = time.monotonic() + 40
        seen: object = None
        while time.monotonic() < deadline:
            try:
                seen = self.query(f"SELECT COUNT(*) FROM {table}")
                if seen == [[rows]]:
                    return
            except (AssertionError, KeyError, OSError) as error:
                seen = error
            time.sleep(0.3)
        states = self.call("GET", f"/tables/{table}/externalview")
        log = "".join(p.read_text(errors="replace") for p in sorted(self.folder.glob("server*.out")))
        faults = [line for line in log.splitlines() if "ERROR" in line or "Exception" in line or "Caused by" in line]
        raise AssertionError(
            f"{table} does not answer with {rows} rows but {seen}; external view {states}\n" + "\n".join(faults[:40])
        )

    def _plan_controller(self) -> None:
        port = free_port()
        self.controller = f"http://127.0.0.1:{port}"
        self.health["controller"] = f"{self.controller}/health"
        self._plan_configured(
            "controller",
            "1g",
            "StartController",
            {
                "controller.helix.cluster.name": CLUSTER,
                "controller.zk.str": self.zookeeper,
                "controller.host": "127.0.0.1",
                "controller.data.dir": self.deep_store,
                "controller.local.temp.dir": self.folder / "controller-temp",
                "controller.access.protocols": "http",
                "controller.access.protocols.http.host": "127.0.0.1",
                "controller.access.protocols.http.port": port,
                "controller.port": port,
            },
        )

    def _plan_broker(self) -> None:
        port = free_port()
        self.broker = f"http://127.0.0.1:{port}"
        self.health["broker"] = f"{self.broker}/health"
        self._plan_configured(
            "broker",
            "512m",
            "StartBroker",
            {
                "pinot.cluster.name": CLUSTER,
                "pinot.zk.server": self.zookeeper,
                "pinot.broker.hostname": "127.0.0.1",
                "pinot.broker.client.queryPort": port,
                "pinot.broker.client.access.protocols": "http",
                "pinot.broker.client.access.protocols.http.host": "127.0.0.1",
                "pinot.broker.client.access.protocols.http.port": port,
            },
        )

    def _plan_server(self, name: str) -> None:
        netty, admin, grpc = free_port(), free_port(), free_port()
        self.health[name] = f"http://127.0.0.1:{admin}/health"
        self._plan_configured(
            name,
            "1g",
            "StartServer",
            {
                "pinot.cluster.name": CLUSTER,
                "pinot.zk.server": self.zookeeper,
                "pinot.server.netty.host": "127.0.0.1",
                "pinot.server.netty.port": netty,
                "pinot.server.adminapi.port": admin,
                "pinot.server.grpc.port": grpc,
                "pinot.server.adminapi.access.protocols": "http",
                "pinot.server.adminapi.access.protocols.http.host": "127.0.0.1",
                "pinot.server.adminapi.access.protocols.http.port": admin,
                "pinot.server.instance.dataDir": self.folder / name / "data",
                "pinot.server.instance.segmentTarDir": self.folder / name / "tar",
            },
        )

    def _plan_configured(self, name: str, heap: str, command: str, settings: dict[str, Any]) -> None:
        path = self.folder / f"{name}.conf"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self._plan(name, heap, command, "-configFileName", str(path))

    def _plan(self, name: str, heap: str, *arguments: str) -> None:
        self._commands[name] = java_command(PINOT, heap, ADMINISTRATOR, *arguments, is_light=self.is_light)

    def _run(self, name: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as out:
            self.processes[name] = subprocess.Popen(
                self._commands[name], stdout=out, stderr=subprocess.STDOUT, cwd=self.folder
            )

    def _wait(self, name: str, is_up: Any) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not is_up():
            log = self.folder / f"{name}.out"
            assert self.processes[name].poll() is None, f"{name} ended:\n{log.read_text(errors='replace')[-3000:]}"
            assert time.monotonic() < deadline, f"{name} is not up:\n{log.read_text(errors='replace')[-3000:]}"
            time.sleep(0.2)


@contextmanager
def running(
    has_failed: Callable[[], bool] = bool, *, servers: int = 2, has_broker: bool = True, is_light: bool = True
) -> Iterator[RealPinot]:
    """A Pinot for the time of the block. Its folder, with the logs, is kept when it does not start or ``has_failed``
    says so.
    """
    problem = PINOT.fetch()
    assert not problem, problem
    folder, is_kept = Path(tempfile.mkdtemp(prefix="realpinot-")), True
    pinot = RealPinot(folder, servers, has_broker, is_light)
    try:
        pinot.start()
        yield pinot
        is_kept = has_failed()
    finally:
        pinot.end()
        if is_kept:
            sys.stderr.write(f"\nThe logs of the real Pinot are kept in {folder}\n")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def add_to(installation: Installation, pinot: RealPinot, name: str, *, has_zookeeper: bool) -> None:
    """Have an installation drive this Pinot as cluster ``name``, reading its ZooKeeper or over REST alone."""
    options = [
        "--controller",
        pinot.controller,
        "--broker",
        pinot.broker,
        *(["--zookeeper", pinot.zookeeper] if has_zookeeper else []),
    ]
    done = installation.manage("cluster", "add", name, *options, seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr


def _is_well(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.read().strip() == b"OK")
    except OSError:
        return False


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 2):
            return True
    except OSError:
        return False


def main() -> None:
    """Start one, print how it is reached, and wait for Ctrl-C or SIGTERM."""
    with until_ended(), running() as pinot:
        sys.stdout.write(
            f"PINOT_CONTROLLER={pinot.controller}\nPINOT_BROKER={pinot.broker}\nPINOT_ZK={pinot.zookeeper}\nPINOT_CLUSTER={CLUSTER}\n"
        )
        sys.stdout.flush()
        signal.pause()


if __name__ == "__main__":
    main()

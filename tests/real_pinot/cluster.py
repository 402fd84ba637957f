"""A real Apache Pinot 0.11.0 on loopback: ZooKeeper, controller, broker and one server, each started here and ended by its id."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from segments.processes.java import find_java
from tests.real_parts import free_port

VERSION = "0.11.0"
_OPENS = ("java.nio", "sun.nio.ch", "java.lang", "java.util", "java.lang.reflect")
_MAIN = "org.apache.pinot.tools.admin.PinotAdministrator"
_CLUSTER = "realpinot"
#: Seconds until a process must be up; about 10 each on a quiet machine.
_PATIENCE = 120.0


def jar_folder() -> Path:
    """Where ``make test-real`` puts Pinot's jars: outside of the repository."""
    base = os.environ.get("PINOTADMIN_CACHE") or "~/.cache/pinotadmin"
    return Path(base).expanduser() / f"pinot-{VERSION}" / "lib"


@dataclass
class RealPinot:
    """A running Pinot. ``controller`` and ``broker`` are URLs."""

    folder: Path
    controller: str = ""
    broker: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self) -> None:
        """Start the four processes and wait until each says that it is well."""
        ports = {n: free_port() for n in ("zk", "controller", "broker", "netty", "admin", "grpc")}
        zk = f"127.0.0.1:{ports['zk']}"
        self.controller, self.broker = (f"http://127.0.0.1:{ports[n]}" for n in ("controller", "broker"))
        self._java("zookeeper", "256m", "StartZookeeper", "-zkPort", str(ports["zk"]), "-dataDir", str(self.folder / "zk"))
        self._wait("zookeeper", lambda: _says_imok(ports["zk"]))
        self._configured("controller", "1g", "StartController", {
            "controller.helix.cluster.name": _CLUSTER, "controller.zk.str": zk, "controller.host": "127.0.0.1",
            "controller.data.dir": self.folder / "deepstore", "controller.access.protocols": "http",
            "controller.access.protocols.http.host": "127.0.0.1", "controller.access.protocols.http.port": ports["controller"],
            "controller.port": ports["controller"],
        })  # fmt: skip
        self._wait("controller", lambda: _is_well(f"{self.controller}/health"))
        self._configured("broker", "512m", "StartBroker", {
            "pinot.cluster.name": _CLUSTER, "pinot.zk.server": zk, "pinot.broker.hostname": "127.0.0.1",
            "pinot.broker.client.queryPort": ports["broker"], "pinot.broker.client.access.protocols": "http",
            "pinot.broker.client.access.protocols.http.host": "127.0.0.1",
            "pinot.broker.client.access.protocols.http.port": ports["broker"],
        })  # fmt: skip
        self._configured("server", "1g", "StartServer", {
            "pinot.cluster.name": _CLUSTER, "pinot.zk.server": zk, "pinot.server.netty.host": "127.0.0.1",
            "pinot.server.netty.port": ports["netty"], "pinot.server.adminapi.port": ports["admin"],
            "pinot.server.adminapi.access.protocols": "http", "pinot.server.adminapi.access.protocols.http.host": "127.0.0.1",
            "pinot.server.adminapi.access.protocols.http.port": ports["admin"], "pinot.server.grpc.port": ports["grpc"],
            "pinot.server.instance.dataDir": self.folder / "server" / "data",
            "pinot.server.instance.segmentTarDir": self.folder / "server" / "tar",
        })  # fmt: skip
        self._wait("broker", lambda: _is_well(f"{self.broker}/health"))
        self._wait("server", lambda: _is_well(f"http://127.0.0.1:{ports['admin']}/health"))

    def end(self) -> None:
        """Kill what was started, last first."""
        for process in reversed(self.processes.values()):
            process.kill()
            process.wait(30)

    def call(self, method: str, path: str, body: bytes | dict[str, Any] | None = None, kind: str = "application/json") -> Any:
        """One request to the controller; the JSON of the answer, or its bytes. AssertionError with the text for any other status."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(self.controller + path, data, {"Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                got = answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode(errors='replace')[-2000:]}") from error
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
        log = (self.folder / "server.out").read_text(errors="replace")
        faults = [line for line in log.splitlines() if "ERROR" in line or "Exception" in line or "Caused by" in line]
        raise AssertionError(f"{table} does not answer with {rows} rows but {seen}; external view {states}\n" + "\n".join(faults[:40]))

    def _configured(self, name: str, heap: str, command: str, settings: dict[str, Any]) -> None:
        path = self.folder / f"{name}.conf"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self._java(name, heap, command, "-configFileName", str(path))

    def _java(self, name: str, heap: str, *arguments: str) -> None:
        java = find_java(os.environ).executable
        opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENS]
        command = [
            str(java), f"-Xmx{heap}", *opens, "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED", "-cp", f"{jar_folder()}/*", _MAIN,
            *arguments,
        ]  # fmt: skip
        with (self.folder / f"{name}.out").open("wb") as out:
            self.processes[name] = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=self.folder)

    def _wait(self, name: str, is_up: Any) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not is_up():
            log = self.folder / f"{name}.out"
            assert self.processes[name].poll() is None, f"{name} ended:\n{log.read_text(errors='replace')[-3000:]}"
            assert time.monotonic() < deadline, f"{name} is not up:\n{log.read_text(errors='replace')[-3000:]}"
            time.sleep(0.2)


@contextmanager
def running() -> Iterator[RealPinot]:
    """A Pinot for the time of the block."""
    with tempfile.TemporaryDirectory(prefix="realpinot-", ignore_cleanup_errors=True) as folder:
        pinot = RealPinot(Path(folder))
        try:
            pinot.start()
            yield pinot
        finally:
            pinot.end()


def _is_well(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.read().strip() == b"OK")
    except OSError:
        return False


def _says_imok(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 2):
            return True
    except OSError:
        return False

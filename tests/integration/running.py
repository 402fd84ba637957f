"""A whole installation started with ``manage.py up`` in a folder of its own, and a small client of it."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import requests

from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.segmentfile import build_segment, write_tar
from tests.waiting import poll

ROOT = Path(__file__).resolve().parents[2]
DAY0 = 19_000


class Installation:
    """One running ``up``; ``start`` may be called again after ``kill``."""

    def __init__(self, folder: Path, *options: str, settings: Mapping[str, str] | None = None) -> None:
        self.folder, self.options, self.settings = folder, options, dict(settings or {})
        self.process: subprocess.Popen[bytes] | None = None
        self.port = "0"
        #: Seconds that the last start took: what this machine is like, with all else that runs on it.
        self.start_s = 0.0

    @property
    def log(self) -> Path:
        """What ``up`` printed."""
        return self.folder.parent / f"{self.folder.name}.log"

    def start(self, seconds: float = 180) -> Installation:
        """Start and wait until all is healthy."""
        began = time.monotonic()
        environment = self.environment(self.settings)
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command(), cwd=ROOT, env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        try:
            self.wait_healthy(seconds)
        except BaseException as error:
            self._end()
            error.add_note(f"The end of its log:\n{self.log.read_text()[-4000:]}")
            raise
        self.port = self.endpoints["controller"].rsplit(":", 1)[1]
        self.start_s = time.monotonic() - began
        return self

    def environment(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Of a process with these settings, and none of ours."""
        ours = ("PINOTADMIN_", "ZOOKEEPER_", "REDIS_", "DATABASE_", "DEEP_STORE_")
        return {**{k: v for k, v in os.environ.items() if not k.startswith(ours)}, **settings}

    def command(self) -> list[str]:
        """What is run."""
        given = ("--data-dir", str(self.folder), "--port", self.port, *self.options)
        return [sys.executable, str(ROOT / "manage.py"), "up", *given]

    def wait_healthy(self, seconds: float = 180) -> None:
        """Wait for endpoints.json; shows the log when ``up`` ended instead."""

        def look() -> bool:
            assert self.process is not None
            if self.process.poll() is not None:
                raise SystemExit(f"up ended with {self.process.returncode}:\n{self.log.read_text()[-4000:]}")
            return (self.folder / "endpoints.json").exists()

        poll(look, seconds, "up healthy")

    @property
    def endpoints(self) -> dict[str, Any]:
        """The contents of endpoints.json."""
        found: dict[str, Any] = json.loads((self.folder / "endpoints.json").read_text())
        return found

    def stop(self) -> int:
        """Ctrl-C; returns the exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)

    def _end(self) -> None:
        """Leave nothing behind of an installation that did not become healthy."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:  # its guardian ends the others
                self.process.kill()

    def kill(self) -> None:
        """kill -9 of ``up`` itself."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def manage(self, *command: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Run another management command with this installation's data directory."""
        environment = {**os.environ, "PINOTADMIN_DATA_DIR": str(self.folder)}
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *command],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )


def administrator(endpoints: Mapping[str, Any]) -> tuple[str, str]:
    """Name and password of the first one."""
    user, _, password = base64.b64decode(endpoints["authorization"].removeprefix("Basic ")).decode().partition(":")
    return user, password


def schema_of(name: str) -> dict[str, Any]:
    """v STRING, n INT, day INT (days since epoch)."""
    return {
        "schemaName": name,
        "dimensionFieldSpecs": [{"name": "v", "dataType": "STRING"}, {"name": "n", "dataType": "INT"}],
        "dateTimeFieldSpecs": [{"name": "day", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}],
    }


def config_of(name: str, replication: int = 2) -> dict[str, Any]:
    """A REFRESH table with consistent push."""
    batch = {"segmentIngestionType": "REFRESH", "segmentIngestionFrequency": "DAILY", "consistentDataPush": True}
    return {
        "tableName": name,
        "tableType": "OFFLINE",
        "segmentsConfig": {"timeColumnName": "day", "replication": str(replication)},
        "tenants": {},
        "tableIndexConfig": {},
        "metadata": {},
        "ingestionConfig": {"batchIngestionConfig": batch},
    }


class Client:
    """REST and SQL as a user of the installation. One per thread."""

    def __init__(self, endpoints: dict[str, Any]) -> None:
        self.base = endpoints["controller"]
        self.http = requests.Session()
        self.http.headers["Authorization"] = endpoints["authorization"]
        # What the machine names in its environment would come before it.
        self.http.trust_env, self.http.verify = False, endpoints.get("authorities") or True

    def call(self, method: str, path: str, status: int = 200, **options: Any) -> requests.Response:
        """One request; the status must be the expected one."""
        response = self.http.request(method, self.base + path, timeout=options.pop("timeout", 60), **options)
        assert response.status_code == status, (method, path, response.status_code, response.text[:600])
        return response

    def create(self, name: str, replication: int = 2) -> None:
        """Schema and table."""
        self.call("POST", "/schemas", json=schema_of(name))
        self.call("POST", "/tables", json=config_of(name, replication))

    def upload(self, table: str, *segments: str, rows: int = 10, value: str | None = None) -> None:
        """TAR push of small segments whose column v holds the segment's name, or ``value``."""
        schema, config = parse_schema(schema_of(table)), parse_table_config(config_of(table))
        with tempfile.TemporaryDirectory() as folder:
            for segment in segments:
                data = pa.table(
                    {"v": [value or segment] * rows, "n": list(range(rows)), "day": [DAY0 + i % 5 for i in range(rows)]}
                )
                build_segment(data, schema, config, segment, Path(folder), creation_time_ms=int(time.time() * 1000))
                tar = Path(folder) / f"{segment}.tar.gz"
                write_tar(Path(folder) / segment, tar)
                with tar.open("rb") as body:
                    query = {"tableName": table, "tableType": "OFFLINE"}
                    self.call("POST", "/v2/segments", params=query, files={segment: (tar.name, body)})

    def start(self, table: str, old: list[str], new: list[str], *, force: bool = False) -> str:
        """Entry id of a started replacement."""
        query = {"type": "OFFLINE", "forceCleanup": str(force).lower()}
        body = {"segmentsFrom": old, "segmentsTo": new}
        return str(
            self.call("POST", f"/segments/{table}/startReplaceSegments", params=query, json=body).json()[
                "segmentLineageEntryId"
            ]
        )

    def end(self, table: str, entry: str) -> None:
        """End a replacement."""
        self.call(
            "POST", f"/segments/{table}/endReplaceSegments", params={"type": "OFFLINE", "segmentLineageEntryId": entry}
        )

    def revert(self, table: str, entry: str, *, force: bool = False) -> None:
        """Revert a replacement."""
        query = {"type": "OFFLINE", "segmentLineageEntryId": entry, "forceRevert": str(force).lower()}
        self.call("POST", f"/segments/{table}/revertReplaceSegments", params=query)

    def sql(self, sql: str) -> list[list[Any]]:
        """Rows; an exception in the answer fails."""
        body = self.call("POST", "/query/sql", json={"sql": sql}).json()
        assert not body.get("exceptions"), body["exceptions"]
        rows: list[list[Any]] = body["resultTable"]["rows"]
        return rows

    def counts(self, table: str) -> dict[str, int]:
        """{v: rows}"""
        return dict(self.sql(f"select v, count(*) from {table} group by v limit 1000"))  # type: ignore[arg-type]  # rows of two

    def online(self, table: str, *segments: str) -> None:
        """Wait until every replica of these is in the external view."""

        def look() -> bool:
            ideal = self.call("GET", f"/tables/{table}/idealstate").json()["OFFLINE"]
            view = self.call("GET", f"/tables/{table}/externalview").json()["OFFLINE"] or {}
            return all(view.get(s) == ideal[s] for s in segments)

        poll(look, 20, f"{segments} online")

"""Tries from outside, on a whole installation, to be taken for a process of the cluster, or to have one do what one may
not do oneself.
"""

from __future__ import annotations

import json
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from kazoo.client import KazooClient

from segments.segmentfile import write_tar
from tests.integration.running import Client, Installation
from tests.signed import Signed
from tests.waiting import poll, wait_until

pytestmark = pytest.mark.integration
NOBODY = ("nobody-special", "a long enough password")


class Trap:
    """Listens where a server is registered, keeps what comes, and answers as if it were the server."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.caught: list[bytes] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client:
            client.settimeout(5)
            try:
                while request := self._read(client):
                    self.caught.append(request)
                    client.sendall(
                        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-PinotAdmin-Answer: " + b"0" * 64 + b"\r\n\r\n{}"
                    )
            except OSError:
                return

    @staticmethod
    def _read(client: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = client.recv(65536)
            if not piece:
                return b""
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = [
            int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
        ]
        while lengths and len(body) < lengths[0]:
            body += client.recv(65536)
        return head + b"\r\n\r\n" + body

    def close(self) -> None:
        self._socket.close()


def replay(request: bytes, url: str) -> int:
    """Send the very bytes to ``url``; returns the status."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as client:
        client.sendall(request)
        return int(client.recv(200).split(b" ")[1])


@contextmanager
def zookeeper(installation: Installation) -> Iterator[KazooClient]:
    """The installation's ZooKeeper, as a process that has its login."""
    found = installation.endpoints
    scheme, _, login = found.get("zookeeper_auth", "").partition(":")
    client = KazooClient(found["zookeeper"], auth_data=[(scheme, login)] if login else None)
    client.start(20)
    try:
        yield client
    finally:
        client.stop()
        client.close()


@pytest.fixture
def secret(installation: Installation) -> str:
    """The secret itself, which only this test may know."""
    return str(json.loads((installation.folder / "secrets.json").read_text())["cluster_secret"])


@pytest.fixture
def servers(installation: Installation) -> list[str]:
    """Addresses of both servers."""
    return [s["admin"] for s in installation.endpoints["servers"]]


@pytest.fixture
def nobody(installation: Installation) -> requests.Session:
    """A login without rights."""
    code = (
        "from django.contrib.auth.models import User;"
        f"User.objects.filter(username='{NOBODY[0]}').exists() or User.objects.create_user('{NOBODY[0]}', "
        f"password='{NOBODY[1]}')"
    )
    assert installation.manage("shell", "-v", "0", "-c", code, seconds=120).returncode == 0
    session = requests.Session()
    session.auth = NOBODY
    return session


def test_a_login_without_rights_cannot_falsify_answers(
    client: Client, table: str, servers: list[str], nobody: requests.Session
) -> None:
    client.upload(table, "a")
    client.online(table, "a")
    wait_until(lambda: client.counts(table) == {"a": 10}, 20, "the rows")
    false = {
        "schemaName": table,
        "dimensionFieldSpecs": [{"name": "v", "dataType": "STRING", "defaultNullValue": "false"}],
    }
    for url in servers:
        for version in range(1, 200, 40):
            body = {
                "sql": f"select v from {table}",
                "table": f"{table}_OFFLINE",
                "segments": ["a"],
                "schemaVersion": version,
                "schema": false,
            }
            assert nobody.post(f"{url}/query", json=body).status_code == 403
        for path in (f"/segments/{table}_OFFLINE/a/upload", f"/tables/{table}_OFFLINE/segments/profile"):
            assert nobody.post(url + path).status_code == 403
        assert nobody.get(f"{url}/segments/{table}_OFFLINE/a").status_code == 403
        assert nobody.get(f"{url}/tables/{table}_OFFLINE/size").json()["segments"].keys() == {"a"}
        assert requests.get(f"{url}/tables/{table}_OFFLINE/size").status_code == 401
        assert requests.get(f"{url}/health").status_code == 200
    assert client.counts(table) == {"a": 10}


def test_the_secret_itself_opens_nothing_anywhere(client: Client, servers: list[str], secret: str) -> None:
    for url in (client.base, *servers):
        answer = requests.get(f"{url}/tables", headers={"Authorization": f"Bearer {secret}"})
        assert answer.status_code == 401, url


def test_a_process_of_the_cluster_changes_nothing_by_a_get_that_data_named(client: Client, secret: str) -> None:
    import httpx

    for path in (
        "/periodictask/run?taskname=RetentionManager",
        "/tables",
        "/api/v1/audit",
        "/query/sql?sql=select%201",
    ):
        assert httpx.get(client.base + path, auth=Signed(secret)).status_code == 403, path
    assert httpx.post(f"{client.base}/schemas", json={}, auth=Signed(secret)).status_code == 403
    said = httpx.get(f"{client.base}/segmentConsumed", auth=Signed(secret))
    assert (said.status_code, said.json()["status"]) == (200, "FAILED")
    assert len(said.headers["X-PinotAdmin-Answer"]) == 64


def test_an_address_that_was_changed_in_zookeeper_gets_nothing_that_could_be_used(
    client: Client, table: str, installation: Installation, servers: list[str], secret: str
) -> None:
    client.upload(table, "a")
    client.online(table, "a")
    wait_until(lambda: client.counts(table) == {"a": 10}, 20, "the rows")
    instance, real = installation.endpoints["servers"][0]["instance"], servers[0]
    path = f"/{installation.endpoints['cluster']}/CONFIGS/PARTICIPANT/{instance}"
    with closing(Trap()) as trap, zookeeper(installation) as keeper:
        before, stat = keeper.get(path)
        record = json.loads(before)
        record["simpleFields"]["adminPort"] = str(trap.port)
        keeper.set(path, json.dumps(record).encode(), stat.version)
        try:

            def is_caught() -> bool:
                assert client.counts(table) == {"a": 10}  # from the other replica: what is not signed is not an answer
                return any(request.startswith(b"POST /query") for request in trap.caught)

            poll(is_caught, 30, "the broker asks where it was led to")
        finally:
            keeper.set(path, before)
    caught = [request for request in trap.caught if b"authorization" in request.lower()]
    assert caught
    moved = [request.replace(str(trap.port).encode(), str(urlsplit(real).port).encode()) for request in caught]
    for request in (*caught, *moved):
        assert secret.encode() not in request
        assert replay(request, real) == 401
    wait_until(lambda: client.counts(table) == {"a": 10}, 20, "the rows")


def push_metadata(client: Client, table: str, segment: str, address: str) -> requests.Response:
    """A METADATA push of a segment whose file is declared to be at ``address``."""
    import pyarrow as pa

    from segments.domain.tables.schema import parse_schema
    from segments.domain.tables.table_config import parse_table_config
    from segments.segmentfile import build_segment
    from segments.segmentfile.format.info import find_files
    from tests.integration.running import config_of, schema_of

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = pa.table({"v": [segment], "n": [1], "day": [19_000]})
        schema, config = parse_schema(schema_of(table)), parse_table_config(config_of(table))
        build_segment(data, schema, config, segment, folder, creation_time_ms=int(time.time() * 1000))
        small = folder / "small" / segment
        small.mkdir(parents=True)
        for part in ("metadata.properties", "creation.meta"):
            (small / part).write_bytes((find_files(folder / segment) / part).read_bytes())
        write_tar(small, folder / "small.tar.gz")
        with (folder / "small.tar.gz").open("rb") as body:
            headers = {
                "UPLOAD_TYPE": "METADATA",
                "DOWNLOAD_URI": address,
                "Authorization": client.http.headers["Authorization"],
            }
            query = {"tableName": table, "tableType": "OFFLINE"}
            return requests.post(
                f"{client.base}/v2/segments", params=query, files={segment: body}, headers=headers, timeout=60
            )  # type: ignore[arg-type]


def runs(client: Client) -> list[dict[str, Any]]:
    """Periodic tasks that somebody started."""
    found = client.call("GET", "/api/v1/audit", params={"limit": 500}).json()
    events = found if isinstance(found, list) else found.get("events") or found.get("results") or []
    return [e for e in events if e.get("action") == "start RetentionManager"]


@pytest.mark.parametrize(
    "path", ["/periodictask/run?taskname=RetentionManager", "/segments/{table}/../../periodictask/run"]
)
def test_a_push_that_names_our_own_controller_has_no_server_send_its_request(
    client: Client, table: str, servers: list[str], path: str
) -> None:
    before = runs(client)
    address = client.base + path.format(table=table)
    answer = push_metadata(client, table, "led", address)
    if answer.status_code == 200:

        def failures() -> list[str]:
            found = [client.http.get(f"{url}/tables/{table}_OFFLINE/errors").json().get("led", "") for url in servers]
            return found if all(found) else []

        for failure in wait_until(failures, 30, "both servers gave up"):
            assert "not that of the file of segment 'led'" in failure
    else:
        assert answer.status_code in (400, 403), answer.text
    assert runs(client) == before

"""Who administers one table tries to make the installation call other machines, load libraries and read files: from
outside, over HTTP.
"""

from __future__ import annotations

import http.server
import io
import socket
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.segmentfile import build_segment
from segments.segmentfile.format.info import find_files
from tests.integration.running import DAY0, Client, Installation, config_of, schema_of
from tests.waiting import poll

pytestmark = pytest.mark.integration

KAFKA = {"streamType": "kafka", "stream.kafka.topic.name": "x", "stream.kafka.decoder.class.name": "json"}
REDIS = {"streamType": "redis", "stream.redis.topic.name": "x"}
AVRO = {**REDIS, "stream.redis.decoder.class.name": "confluent-avro"}


@pytest.fixture
def trap() -> Iterator[tuple[int, list[str]]]:
    """A port of this machine that notes who comes; over HTTP it redirects to a cloud's own services."""
    came: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            came.append(f"{self.path} {self.headers['Authorization']}")
            self.send_response(302)
            self.send_header("Location", "http://169.254.169.254/latest/meta-data?SECRET")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server.server_address[1], came
    server.shutdown()
    server.server_close()


def realtime(name: str, stream: dict[str, str]) -> dict[str, Any]:
    return {
        "tableName": name, "tableType": "REALTIME", "tenants": {}, "tableIndexConfig": {}, "metadata": {},
        "segmentsConfig": {"timeColumnName": "day", "replication": "1"},
        "ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [stream]}},
    }  # fmt: skip


@pytest.mark.parametrize(
    "stream",
    [
        {**KAFKA, "stream.kafka.consumer.prop.plugin.library.paths": "/tmp/evil"},
        {**KAFKA, "ssl.engine.location": "/tmp/evil.so"},
        {**KAFKA, "sasl.kerberos.kinit.cmd": "touch /tmp/evil"},
        {**KAFKA, "ssl.ca.location": "/etc/passwd", "stream.kafka.broker.list": "127.0.0.1:1"},
        {**KAFKA, "stream.kafka.broker.list": "169.254.169.254:80"},
        {**KAFKA, "stream.kafka.broker.list": "127.0.0.1:1,10.0.0.1:22"},
        {**REDIS, "stream.redis.url": "redis://10.0.0.1:22/0"},
        {**REDIS, "stream.redis.url": "unix:///var/run/docker.sock"},
        {**REDIS, "stream.redis.url": "redis://127.0.0.1:1/0?unix_socket_path=/var/run/docker.sock"},
        {**AVRO, "stream.redis.decoder.prop.schema.registry.rest.url": "http://169.254.169.254/latest"},
        {**AVRO, "stream.redis.decoder.prop.schema.registry.rest.url": "file:///etc/passwd"},
    ],
)
def test_a_table_with_such_a_stream_is_neither_made_nor_changed_to_it(
    client: Client, table: str, stream: dict[str, str]
) -> None:
    for method, path in (("POST", "/tables"), ("POST", "/tables/validate"), ("PUT", f"/tables/{table}")):
        if method == "PUT":
            client.call("POST", "/tables", json=realtime(table, {**REDIS, "stream.redis.topic.name": table}))
        answer = client.http.request(method, client.base + path, json=realtime(table, stream), timeout=60)
        assert answer.status_code == 400, (method, answer.text)
        assert any(word in answer.text for word in ("stream", "allow", "address"))
    client.call("DELETE", f"/tables/{table}", params={"type": "realtime"})


def test_what_answers_at_a_port_is_not_reported(client: Client, table: str, trap: tuple[int, list[str]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        closed = free.getsockname()[1]
    told = set()
    for port in (trap[0], closed):
        for stream in (
            {**REDIS, "stream.redis.url": f"redis://127.0.0.1:{port}/0"},
            {
                **KAFKA,
                "stream.kafka.broker.list": f"127.0.0.1:{port}",
                "stream.kafka.connection.timeout.millis": "1000",
            },
        ):
            answer = client.http.post(f"{client.base}/tables", json=realtime(table, stream), timeout=120)
            assert answer.status_code == 503, answer.text
            told.add((stream["streamType"], answer.json()["error"]))
    assert len(told) == 2, told


def test_a_metadata_push_makes_no_server_call_what_nothing_allows(
    client: Client, table: str, trap: tuple[int, list[str]], installation: Installation, tmp_path: Path
) -> None:
    schema, config = parse_schema(schema_of(table)), parse_table_config(config_of(table))
    rows = pa.table({"v": ["x"] * 10, "n": list(range(10)), "day": [DAY0] * 10})
    build_segment(rows, schema, config, f"{table}_0", tmp_path, creation_time_ms=1)
    segment = find_files(tmp_path / f"{table}_0")
    small = tmp_path / "small.tar.gz"
    with tarfile.open(small, "w:gz") as out:
        for name in ("metadata.properties", "creation.meta"):
            data = (segment / name).read_bytes()
            info = tarfile.TarInfo(f"{table}_0/{name}")
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    deep_store = f"file://{installation.folder}/deepstore"
    for uri in (
        "http://169.254.169.254/latest",
        "http://[::ffff:a9fe:a9fe]/latest",
        "http://10.0.0.1/x",
        "file:///etc/passwd",
        "s3://bucket/x?endpoint_override=127.0.0.1:1&scheme=http",
        f"{deep_store}/another/segment",
    ):
        push(client, table, small, uri, 400)
    redirect = f"http://127.0.0.1:{trap[0]}/segments/{table}/x"
    refused = push(client, table, small, redirect, 400, copy="true")
    assert "redirects" in refused
    assert "SECRET" not in refused
    push(client, table, small, redirect, 200)  # without a copy the servers fetch it, and meet the redirect
    poll(lambda: len(trap[1]) >= 2, 30, "the servers tried")
    assert {line.rpartition(" ")[2] for line in trap[1]} == {"None"}, "nobody sent a secret"


def push(client: Client, table: str, tar: Path, uri: str, status: int, copy: str = "false") -> str:
    headers = {"UPLOAD_TYPE": "METADATA", "DOWNLOAD_URI": uri, "COPY_SEGMENT_TO_DEEP_STORE": copy}
    with tar.open("rb") as body:
        answer = client.call(
            "POST",
            "/v2/segments",
            status,
            params={"tableName": table, "tableType": "OFFLINE"},
            headers=headers,
            files={"segment": body},
        )
    return answer.text


def test_an_installation_that_others_reach_calls_nothing_on_its_own_machine(
    tmp_path: Path, trap: tuple[int, list[str]]
) -> None:
    """It answers to the name that a proxy on this machine gives it: its users are on other machines."""
    names = "127.0.0.1,localhost,pinot.example"
    folder = tmp_path / "installation" / "data"
    folder.parent.mkdir()
    started = Installation(folder, "--servers", "1", settings={"PINOTADMIN_ALLOWED_HOSTS": names}).start()
    try:
        client = Client(started.endpoints)
        client.create("t", replication=1)
        headers = {"UPLOAD_TYPE": "URI", "DOWNLOAD_URI": f"http://127.0.0.1:{trap[0]}/s0"}
        client.call("POST", "/v2/segments", 400, params={"tableName": "t"}, headers=headers, json={})
        for stream in (
            {**REDIS, "stream.redis.url": f"redis://127.0.0.1:{trap[0]}/0"},
            {**KAFKA, "stream.kafka.broker.list": f"127.0.0.1:{trap[0]}"},
        ):
            client.call("POST", "/tables", 400, json=realtime("t", stream))
        client.call(
            "POST",
            "/tables",
            json=realtime("t", {**REDIS, "stream.redis.url": without_login(started.endpoints["redis"])}),
        )
        assert trap[1] == []
    finally:
        assert started.stop() == 0, started.log.read_text()[-4000:]


def without_login(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"

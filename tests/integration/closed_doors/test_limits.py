"""Limits of bodies, uploads and queries, tried from outside on a whole installation."""

from __future__ import annotations

import gzip
import http.client
import io
import json
import socket
import tarfile
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.integration.running import Client, Installation

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
GIB = 1 << 30
UPLOAD = {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": str(50 * GIB)}


def ask(
    installation: Installation, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> tuple[int, dict[str, str], Any]:
    """Send the head and what is given of a body, and read the answer while the rest is still to come."""
    address = urlsplit(installation.endpoints["controller"])
    lines = [f"{method} {path} HTTP/1.1", f"Host: {address.netloc}", *(f"{k}: {v}" for k, v in headers.items()), "", ""]
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall("\r\n".join(lines).encode() + body)
        response = http.client.HTTPResponse(connection)
        response.begin()
        content = response.read()
    return response.status, {k.lower(): v for k, v in response.getheaders()}, json.loads(content)


@pytest.mark.parametrize(
    "path",
    ["/v2/segments?tableName=t", "/segments/batchUpload", "/segmentUpload", "/tables", "/api/v1/pushes", "/query/sql"],
)
def test_nobody_sends_a_byte_of_a_body_before_the_401(installation: Installation, client: Client, path: str) -> None:
    assert ask(installation, "POST", path, UPLOAD)[0] == 401
    assert ask(installation, "POST", path, {"Transfer-Encoding": "chunked"})[0] == 401


def test_a_body_beyond_the_limit_of_its_path_is_413_and_says_so(installation: Installation, client: Client) -> None:
    known = {**UPLOAD, "Authorization": installation.endpoints["authorization"]}
    for path, most in (("/v2/segments?tableName=t", (5 << 30) + (1 << 20)), ("/tables", 20 << 20)):
        status, _, said = ask(installation, "POST", path, known)
        assert (status, f"takes at most {most}" in said["error"]) == (413, True)


def test_a_shared_library_in_an_upload_is_refused_by_name(
    installation: Installation, client: Client, table: str
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        folder, library = tarfile.TarInfo("s"), tarfile.TarInfo("s/evil.so")
        folder.type, library.size = tarfile.DIRTYPE, 4
        tar.addfile(folder)
        tar.addfile(library, io.BytesIO(b"\x7fELF"))
    body = (
        b'--x\r\nContent-Disposition: form-data; name="s"; filename="s"\r\n\r\n' + packed.getvalue() + b"\r\n--x--\r\n"
    )
    known = {**UPLOAD, "Content-Length": str(len(body)), "Authorization": installation.endpoints["authorization"]}
    status, _, said = ask(installation, "POST", f"/v2/segments?tableName={table}", known, body)
    assert (status, "evil.so' is not a file of a Pinot segment" in said["error"]) == (400, True), said


def test_a_batch_that_would_fill_the_memory_is_refused(installation: Installation, client: Client, table: str) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 100 << 20
    packed = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(100 << 20), 1)
    body = b'--x\r\nContent-Disposition: form-data; name="b"; filename="b"\r\n\r\n' + packed + b"\r\n--x--\r\n"
    known = {
        **UPLOAD,
        "Content-Length": str(len(body)),
        "UPLOAD_TYPE": "METADATA",
        "Authorization": installation.endpoints["authorization"],
    }
    status, _, said = ask(
        installation, "POST", f"/segments/batchUpload?tableName={table}&tableType=OFFLINE", known, body
    )
    assert (status, "header claims" in said["error"]) == (400, True), said


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("select * from {} limit 2147483647", "exceeds maximum allowed value of 1000000"),
        (
            "select replace(replace(replace(v,'a','aaaaaaaaaa'),'a','aaaaaaaaaa'),'a','aaaaaaaaaa') from {}",
            "at most 65536 are allowed",
        ),
    ],
)
def test_a_query_that_may_make_too_much_is_refused(
    installation: Installation, client: Client, table: str, sql: str, words: str
) -> None:
    body = json.dumps({"sql": sql.format(table)}).encode()
    known = {"Content-Length": str(len(body)), "Authorization": installation.endpoints["authorization"]}
    status, _, said = ask(installation, "POST", "/query/sql", known, body)
    assert status == 200
    assert said["exceptions"][0]["errorCode"] == 700
    assert words in said["exceptions"][0]["message"]

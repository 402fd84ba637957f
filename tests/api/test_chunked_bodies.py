"""Bodies that come in chunks, without a length: Pinot's Java clients and ``curl -T -`` send files so."""

from __future__ import annotations

import io
from typing import Any

from django.http import HttpRequest

from pinotadmin.handler import ThreadedHandler

_BOUNDARY = b"aboundary"
_FORM = (
    b"--aboundary\r\n" + b'Content-Disposition: form-data; name="s0"; '
    b'filename="s0"\r\nContent-Type: application/octet-stream\r\n'
    + (b"Content-Transfer-Encoding: binary\r\n\r\nthe bytes\r\n--aboundary--\r\n")
)


def request_of(body: bytes, *headers: tuple[bytes, bytes], method: str = "POST") -> HttpRequest:
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": "/v2/segments",
        "query_string": b"",
        "headers": [*headers],
    }
    request, refusal = ThreadedHandler().create_request(scope, io.BytesIO(body))
    assert refusal is None
    assert isinstance(request, HttpRequest)
    return request


def test_a_file_in_chunks_is_read_as_one_with_a_length() -> None:
    kind = (b"content-type", b"multipart/form-data; boundary=" + _BOUNDARY)
    for headers in ([kind, (b"transfer-encoding", b"chunked")], [kind, (b"content-length", str(len(_FORM)).encode())]):
        assert request_of(_FORM, *headers).FILES["s0"].read() == b"the bytes"


def test_a_request_without_a_body_gets_no_length() -> None:
    assert "CONTENT_LENGTH" not in request_of(b"", method="GET").META


def test_a_length_that_was_named_is_left_as_it_is() -> None:
    assert request_of(b"abcdef", (b"content-length", b"3")).META["CONTENT_LENGTH"] == "3"

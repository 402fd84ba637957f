"""What a part shows, and what others say about it: right ones, wrong ones, and ones that are replaced."""

from __future__ import annotations

import http.client
import logging
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette

from segments.dataplane.server.http.http_endpoint import HttpEndpoint
from segments.errors import InvalidInput
from segments.gateways.tls.certificate import CERTIFICATE, KEY, Certificate
from segments.gateways.tls.trust import CA, Trust
from tests.tls.files import Authority

DAY_S = 86_400


def test_a_right_certificate_is_accepted_and_says_how_long_it_lasts(
    authority: Authority, certificate: Certificate
) -> None:
    assert certificate.check("127.0.0.1", authority.trust) == pytest.approx(365 * DAY_S, abs=DAY_S)


def test_a_key_in_the_certificates_file_needs_no_file_of_its_own(
    authority: Authority, certificate: Certificate, tmp_path: Path
) -> None:
    both = tmp_path / "both.pem"
    both.write_text(Path(certificate.file).read_text() + Path(certificate.key).read_text())
    assert Certificate(str(both)).check("127.0.0.1", authority.trust) > DAY_S


def test_a_wrong_certificate_is_refused_with_its_file_and_the_reason(authority: Authority, stranger: Authority) -> None:
    def refused(certificate: Certificate, host: str = "127.0.0.1", trust: Trust = authority.trust) -> str:
        with pytest.raises(InvalidInput) as caught:
            certificate.check(host, trust)
        return str(caught.value)

    own, expired = authority.sign("127.0.0.1", "own"), authority.sign("127.0.0.1", "expired", days=-1)
    foreign = stranger.sign("127.0.0.1", "foreign")
    for said, words in (
        (refused(own, "127.0.0.2"), (own.file, "127.0.0.2", "IP address mismatch")),
        (refused(own, "host.example"), (own.file, "Hostname mismatch")),
        (refused(expired), (expired.file, CERTIFICATE, "certificate has expired")),
        (refused(foreign), (foreign.file, str(authority.file), CA, "unable to get local issuer")),
        (refused(own, trust=Trust()), (CERTIFICATE, f"{CA} is not")),
        (refused(Certificate(own.file, foreign.key)), (own.file, foreign.key, KEY, "not a certificate and its key")),
        (refused(Certificate(own.file, "/nowhere/tls.key")), (KEY, "/nowhere/tls.key", "cannot be read")),
        (refused(Certificate("/nowhere/tls.pem", own.key)), (CERTIFICATE, "/nowhere/tls.pem", "cannot be read")),
        (refused(own, trust=Trust("/nowhere/ca.pem")), (CA, "/nowhere/ca.pem", "cannot be read")),
        (refused(own, trust=Trust(own.key)), (CA, own.key, "cannot be read as certificates")),
    ):
        for word in words:
            assert word in said


def test_a_certificate_of_a_host_signs_no_others(authority: Authority, tmp_path: Path) -> None:
    own = authority.sign("127.0.0.1", "leaf")
    shutil.copy(own.file, tmp_path / "ca.pem")
    shutil.copy(own.key, tmp_path / "ca.key")
    below = Authority(tmp_path).sign("127.0.0.2", "below")
    Path(below.file).write_text(Path(below.file).read_text() + Path(own.file).read_text())
    with pytest.raises(InvalidInput, match="invalid CA certificate"):
        below.check("127.0.0.2", authority.trust)


@contextmanager
def listening(certificate: Certificate) -> Iterator[tuple[str, int]]:
    endpoint = HttpEndpoint("127.0.0.1", 0, certificate)
    endpoint.start(Starlette())
    try:
        yield "127.0.0.1", endpoint.port
    finally:
        endpoint.stop()


def test_a_replaced_certificate_is_shown_to_new_connections_and_a_broken_one_is_not(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    def shown() -> str:
        return ssl.get_server_certificate(address, ca_certs=str(authority.file)).strip()

    used = authority.sign("127.0.0.1", "used")
    first, caplog.handler.level = Path(used.file).read_text().strip(), logging.WARNING
    with listening(used) as address:
        assert shown() == first
        authority.sign("127.0.0.1", "used")
        second = Path(used.file).read_text().strip()
        assert (shown(), second != first) == (second, True)
        Path(used.file).write_text("half of a file")
        assert shown() == second
        assert f"{used.file} ({CERTIFICATE})" in caplog.text
        authority.sign("127.0.0.1", "used")
        assert shown() == Path(used.file).read_text().strip()


def test_plain_http_gets_no_answer(certificate: Certificate) -> None:
    with listening(certificate) as address, socket.create_connection(address, 5) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert not plain.recv(100).startswith(b"HTTP")


def test_an_idle_connection_does_not_hold_up_the_end(authority: Authority, certificate: Certificate) -> None:
    with listening(certificate) as (host, port):
        idle = http.client.HTTPSConnection(host, port, timeout=5, context=authority.trust.context)
        idle.request("GET", "/")
        idle.getresponse().read()
        began = time.monotonic()
    assert time.monotonic() - began < 1.5, "the other side's word was waited for"
    idle.close()

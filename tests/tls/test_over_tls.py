"""Servers, a broker and downloads over TLS in one process: everything answers, and nobody else can answer for them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from segments.dataplane.server.held.peer_download import ClusterFiles
from segments.dataplane.server.web_processes import WebProcesses
from segments.errors import Unavailable
from segments.gateways.controller_protocol import NOT_SENT, HttpController, Report
from segments.gateways.reingested_uploads import HttpReingestedUploads
from segments.gateways.set_aside_reports import HttpReports
from segments.gateways.signed_calls import CallSigner
from segments.gateways.tls.certificate import Certificate
from segments.gateways.tls.trust import CA, Trust
from segments.store import paths
from segments.store.memory import MemoryStore
from segments.store.records.instances import instance_configs
from segments.store.update import update_record
from tests.dataplane.world import SECRET, TABLE, World, config_of, counts, poll
from tests.signed import Signed
from tests.tls.files import Authority


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An empty cluster with a table."""
    made = World(tmp_path)
    made.create_table()
    yield made
    made.close()


def test_a_query_over_two_servers_and_their_other_answers_come_over_tls(
    world: World, authority: Authority, certificate: Certificate
) -> None:
    trust = authority.trust
    for number in (1, 2):
        world.start_server(number, certificate=certificate, trust=trust)
    world.push(["a"], (1,))
    world.push(["b"], (2,), rows=5000)
    broker = world.start_broker(trust=trust)
    urls = [instance_configs(world.store)[f"Server_127.0.0.1_{n}"].admin_url for n in (1, 2)]
    assert [url.partition("//")[0] for url in urls] == ["https:", "https:"]
    poll(lambda: counts(broker) == {"a": 10, "b": 5000}, what="both servers' rows")
    rows = broker.query("select n, v from t limit 5000")["resultTable"]["rows"]
    assert len(rows) == 5000
    gateway = world.gateway(trust=trust)
    assert (gateway.segments(urls[0], TABLE), gateway.is_alive(urls[0], 2.0)) == (["a"], True)


def test_a_connection_serves_many_queries(world: World, authority: Authority, certificate: Certificate) -> None:
    trust = authority.trust
    url = world.start_server(certificate=certificate, trust=trust).admin_url
    gateway = world.gateway(trust=trust)
    for _ in range(20):
        gateway.segments(url, TABLE)
    assert trust.context.session_stats()["connect"] == 1


def test_a_server_that_speaks_tls_and_one_that_does_not_work_together(
    world: World, authority: Authority, certificate: Certificate
) -> None:
    world.start_server(1, certificate=certificate, trust=authority.trust)
    world.start_server(2)
    world.push(["a"], (1,))
    world.push(["b"], (2,))
    broker = world.start_broker(trust=authority.trust)
    poll(lambda: counts(broker) == {"a": 10, "b": 10}, what="both servers' rows")
    world.servers.pop(1).stop()
    world.start_server(1)
    poll(lambda: not broker.query("select count(*) from t")["exceptions"], what="its return")
    assert counts(broker) == {"a": 10, "b": 10}
    known = instance_configs(world.store)
    assert [known[f"Server_127.0.0.1_{n}"].admin_url.partition(":")[0] for n in (1, 2)] == ["http", "http"]


def test_who_has_not_the_authority_or_another_one_calls_nobody_and_says_why(
    world: World, authority: Authority, stranger: Authority, certificate: Certificate
) -> None:
    url = world.start_server(certificate=certificate, trust=authority.trust).admin_url
    for trust, words in (
        (None, f"because {CA} is not set"),
        (stranger.trust, str(stranger.file)),
        (authority.trust, ""),
    ):
        gateway = world.gateway(trust=trust)
        if words:
            with pytest.raises(Unavailable) as caught:
                gateway.segments(url, TABLE)
            assert words in str(caught.value)
            assert caught.value.data["is_dead"]
            assert not gateway.is_alive(url, 2.0)
        else:
            assert gateway.segments(url, TABLE) == []


def test_a_certificate_of_another_host_does_not_do(world: World, authority: Authority) -> None:
    other = authority.sign("127.0.0.2", "other-host")
    url = world.start_server(certificate=other, trust=authority.trust).admin_url
    with pytest.raises(Unavailable, match=r"IP address mismatch"):
        world.gateway(trust=authority.trust).segments(url, TABLE)


class Impostor:
    """Listens where a part of ours should, with a certificate of its own, and keeps what it is sent."""

    def __init__(self, certificate: Certificate) -> None:
        self.heard = b""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._context = certificate.context()
        self.url = f"https://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return
            with accepted:
                accepted.settimeout(5)
                try:
                    self.heard += self._context.wrap_socket(accepted, server_side=True).recv(1000)
                except OSError:
                    continue

    def close(self) -> None:
        """Listen no more."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)


def test_somebody_on_the_network_without_a_certificate_of_the_authority_is_sent_nothing(
    world: World, authority: Authority, stranger: Authority, tmp_path: Path
) -> None:
    impostor, trust = Impostor(stranger.sign("127.0.0.1", "impostor")), authority.trust
    signer, url = CallSigner(SECRET), impostor.url
    metadata = tmp_path / "metadata.tar.gz"
    metadata.write_bytes(b"x")
    try:
        with pytest.raises(Unavailable, match="its certificate is not accepted"):
            world.gateway(trust=trust).segments(url, TABLE)
        controller = HttpController([url], signer, trust=trust)
        assert controller.consumed(Report("s", "i", "0")).status == NOT_SENT
        reports = HttpReports([url], signer, trust=trust)
        with pytest.raises(Unavailable, match="its certificate is not accepted"):
            reports.send(TABLE, b"{}")
        uploads = HttpReingestedUploads([url], signer, trust=trust)
        with pytest.raises(Unavailable, match="its certificate is not accepted"):
            uploads.register("t", "s", "x", metadata)
        files = ClusterFiles(WebProcesses(MemoryStore(), [url]), signer, trust)
        with pytest.raises(Unavailable, match="its certificate is not accepted"):
            files.from_web(files.web_addresses(TABLE, "s")[0], tmp_path / "target")
        for one in (controller, reports, uploads):
            one.close()
    finally:
        impostor.close()
    assert impostor.heard == b""


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_fetches_what_the_deep_store_lost_from_another_one_over_tls(
    world: World, authority: Authority, certificate: Certificate, scheme: str
) -> None:
    record = config_of().to_record()
    segments = record.simple["segmentsConfig"].replace("}", f', "peerSegmentDownloadScheme": "{scheme}"}}', 1)
    update_record(world.store, paths.table_config(TABLE), lambda _: record.with_simple(segmentsConfig=segments))
    first = world.start_server(1, certificate=certificate, trust=authority.trust)
    world.push(["a"], (1,))
    world.deep_store.delete(world.deep_store.segment_path("t", "a"))
    answer = httpx.get(
        f"{first.admin_url}/tables/{TABLE}/segments/a", auth=Signed(SECRET), verify=authority.trust.context
    )
    assert answer.status_code == 200
    world.start_server(2, certificate=certificate, trust=authority.trust)
    world.assign(["a"], (1, 2))
    poll(lambda: world.states("a").get("Server_127.0.0.1_2") == "ONLINE", what="the copy of the other server")


def test_a_table_of_scheme_https_is_not_fetched_from_a_server_without_tls(
    world: World, authority: Authority, certificate: Certificate
) -> None:
    record = config_of().to_record()
    segments = record.simple["segmentsConfig"].replace("}", ', "peerSegmentDownloadScheme": "https"}', 1)
    update_record(world.store, paths.table_config(TABLE), lambda _: record.with_simple(segmentsConfig=segments))
    world.start_server(1)
    world.push(["a"], (1,))
    world.deep_store.delete(world.deep_store.segment_path("t", "a"))
    world.start_server(2, certificate=certificate, trust=authority.trust)
    world.assign(["a"], (1, 2))
    poll(lambda: world.states("a").get("Server_127.0.0.1_2") == "ERROR", 60, "no copy")


def test_trust_says_what_is_no_fault_of_tls_as_it_is() -> None:
    assert Trust().why(ConnectionRefusedError(111, "refused")) == "[Errno 111] refused"
    assert Trust().why(ConnectionError("Closed without an answer.")) == "Closed without an answer"

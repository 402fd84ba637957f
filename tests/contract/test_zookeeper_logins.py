"""External ZooKeepers that ask for more than a digest login: SASL, TLS, a certificate instead of a password."""

from __future__ import annotations

import gc
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from segments.clusters.pinot.connections.cluster_context import zookeeper_of
from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Unavailable
from segments.models import Cluster
from segments.services.clusters.cluster_secrets import ZOOKEEPER
from segments.store import paths
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.on_zookeeper.login import DIGEST, SASL, X509, ZooKeeperLogin
from tests.real_parts import ZooKeeperProcess, free_port, start_zookeeper

# kazoo leaves a socket whose handshake failed to the garbage collector.
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

PATH = paths.lineage("t_OFFLINE")
RECORD = ZNRecord("t_OFFLINE", {"a": "1"})
PROVIDER = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
JAAS = """Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required
  user_pinotadmin="of the server";
};
"""


@pytest.fixture(autouse=True)
def _leave_no_sockets_to_other_tests() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(scope="module")
def with_sasl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    """A server that knows one user of DIGEST-MD5."""
    folder = tmp_path_factory.mktemp("sasl")
    (folder / "jaas.conf").write_text(JAAS)
    options = [f"-Djava.security.auth.login.config={folder}/jaas.conf"]
    process = start_zookeeper(folder, settings=[f"authProvider.1={PROVIDER}"], options=options)
    yield process
    process.stop()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and certificates that it signed for the server (as localhost and 127.0.0.1) and for us; one of a
    stranger.
    """
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("ca", "other"):
        openssl(
            folder, "req", "-x509", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", *NEW_KEY
        )
    for name, more in (("server", ("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")), ("us", ())):
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", f"{name}.key", "-out", f"{name}.pem")
        openssl(folder, "req", "-x509", "-subj", f"/CN={name}", *signed, *more, *NEW_KEY)
    (folder / "server.both.pem").write_text((folder / "server.key").read_text() + (folder / "server.pem").read_text())
    return folder


NEW_KEY = ("-newkey", "rsa:2048", "-nodes", "-days", "2")


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module", params=["need", "none"])
def with_tls(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, files: Path
) -> Iterator[tuple[str, str]]:
    """(its address for TLS, does it want a certificate of clients)"""
    port = free_port()
    settings = [
        f"secureClientPort={port}", "secureClientPortAddress=127.0.0.1", f"ssl.clientAuth={request.param}",
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
        f"ssl.keyStore.location={files}/server.both.pem", "ssl.keyStore.type=PEM",
        f"ssl.trustStore.location={files}/ca.pem", "ssl.trustStore.type=PEM",
    ]  # fmt: skip
    process = start_zookeeper(
        tmp_path_factory.mktemp("tls"), settings=settings, jars=["netty-transport-native-unix-common-*.jar"]
    )
    yield f"127.0.0.1:{port}", request.param
    process.stop()


def write(hosts: str, login: ZooKeeperLogin, root: str) -> None:
    """Make a cluster with this login, and read it again with another connection of the same login."""
    with closing(ZooKeeperStore(hosts, root, login=login)) as store:
        store.close_to_strangers()
        store.create(PATH, RECORD)
    with closing(ZooKeeperStore(hosts, root, login=login)) as again:
        again.close_to_strangers()
        assert again.get(PATH).record == RECORD  # type: ignore[union-attr]


def strangers_error(hosts: str, root: str, login: ZooKeeperLogin | None = None) -> None:
    stranger = KazooClient(hosts, **(login or ZooKeeperLogin()).client_options())
    stranger.start(20)
    try:
        for path in ("", PATH, paths.ACCESS):
            with pytest.raises(NoAuthError):
                stranger.get(f"/{root}{path}")
            with pytest.raises(NoAuthError):
                stranger.create(f"/{root}{path}/evil")
    finally:
        stranger.stop()
        stranger.close()


def test_znodes_made_with_sasl_are_for_that_user_alone(with_sasl: ZooKeeperProcess) -> None:
    login = ZooKeeperLogin(SASL, "pinotadmin", "of the server")
    write(with_sasl.hosts, login, "sasl")
    strangers_error(with_sasl.hosts, "sasl")
    strangers_error(with_sasl.hosts, "sasl", ZooKeeperLogin(DIGEST, "pinotadmin", "of the server"))


def test_a_session_with_sasl_goes_on_after_its_server_was_killed(with_sasl: ZooKeeperProcess) -> None:
    store = ZooKeeperStore(
        with_sasl.hosts, "killed", login=ZooKeeperLogin(SASL, "pinotadmin", "of the server"), connect_timeout=30.0
    )
    store.create(PATH, RECORD)
    with_sasl.restart()
    assert store.get(PATH).record == RECORD  # type: ignore[union-attr]
    store.close()


def test_a_wrong_password_of_sasl_is_reported_as_such(with_sasl: ZooKeeperProcess) -> None:
    with pytest.raises(Unavailable, match="refused the login"):
        ZooKeeperStore(
            with_sasl.hosts, "sasl", login=ZooKeeperLogin(SASL, "pinotadmin", "guessed"), connect_timeout=5.0
        )


@pytest.mark.parametrize("scheme", [DIGEST, X509])
def test_znodes_are_written_over_tls(with_tls: tuple[str, str], files: Path, scheme: str) -> None:
    hosts, asks = with_tls
    if scheme == X509 and asks == "none":
        with pytest.raises(Unavailable, match="takes nobody for logged in"):
            write(
                hosts,
                ZooKeeperLogin(
                    X509, tls=True, ca=f"{files}/ca.pem", certificate=f"{files}/us.pem", key=f"{files}/us.key"
                ),
                "x",
            )
        return
    user, password = ("pinotadmin", "secret") if scheme == DIGEST else ("", "")
    ours = {"certificate": f"{files}/us.pem", "key": f"{files}/us.key"} if asks == "need" else {}
    write(hosts, ZooKeeperLogin(scheme, user, password, tls=True, ca=f"{files}/ca.pem", **ours), f"tls-{scheme}")  # type: ignore[arg-type]


def row_of(zookeeper: str, user: str, **tls: str) -> Cluster:
    return Cluster(name="prod", zookeeper=zookeeper, zookeeper_user=user, zookeeper_source="stored", **tls)


def read_as(row: Cluster, root: str, password: str) -> ZNRecord | None:
    store = zookeeper_of(row, Path("/nowhere"), lambda: root, {ZOOKEEPER: password})
    with closing(store):
        node = store.get(PATH)
        return node.record if node else None


def make_pinot(hosts: str, login: ZooKeeperLogin, root: str) -> None:
    with closing(ZooKeeperStore(hosts, root, login=login)) as store:
        for path in (PATH, paths.IDEAL_STATES):
            if store.exists(path) is None:
                store.create(path, RECORD)


def test_the_zookeeper_of_a_pinot_cluster_is_read_by_sasl(with_sasl: ZooKeeperProcess) -> None:
    make_pinot(with_sasl.hosts, ZooKeeperLogin(SASL, "pinotadmin", "of the server"), "PinotSasl")
    assert read_as(row_of(with_sasl.hosts, "sasl:pinotadmin"), "PinotSasl", "of the server") == RECORD
    with pytest.raises(Unavailable, match="asks for a login"):
        read_as(row_of(with_sasl.hosts, "pinotadmin"), "PinotSasl", "of the server")


def test_the_zookeeper_of_a_pinot_cluster_is_read_over_tls(with_tls: tuple[str, str], files: Path) -> None:
    hosts, _ = with_tls
    tls = {"ca": f"{files}/ca.pem", "certificate": f"{files}/us.pem", "key": f"{files}/us.key"}
    make_pinot(hosts, ZooKeeperLogin(DIGEST, "reader", "secret", tls=True, **tls), "PinotTls")  # type: ignore[arg-type]
    row = row_of(f"tls://{hosts}", "reader", tls_ca=tls["ca"], tls_cert=tls["certificate"], tls_key=tls["key"])
    assert read_as(row, "PinotTls", "secret") == RECORD


def test_a_server_of_another_authority_is_not_talked_to(with_tls: tuple[str, str], files: Path) -> None:
    login = ZooKeeperLogin(DIGEST, "pinotadmin", "secret", tls=True, ca=f"{files}/other.pem")
    with pytest.raises(Unavailable, match="certificate"):
        ZooKeeperStore(with_tls[0], "tls", login=login, connect_timeout=3.0)


def test_a_file_that_is_missing_is_named(with_tls: tuple[str, str]) -> None:
    login = ZooKeeperLogin(DIGEST, "pinotadmin", "secret", tls=True, ca="/nowhere/ca.pem")
    with pytest.raises(Unavailable, match=r"/nowhere/ca\.pem"):
        ZooKeeperStore(with_tls[0], "tls", login=login, connect_timeout=3.0)

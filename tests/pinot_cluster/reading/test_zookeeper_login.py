"""A ZooKeeper whose znodes ask for a digest login: read and watched with it, distinguished from one that is down
without it.
"""

from __future__ import annotations

import io
import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from segments import wiring
from segments.clusters.pinot.connections.cluster_context import PinotClusterContext
from segments.domain.formats.znrecord import ZNRecord, encode
from segments.errors import Forbidden, InvalidInput, Unavailable
from segments.models import AuditEvent, Cluster
from segments.services.clusters import clusters
from segments.services.clusters.clusters import ClusterSpec
from segments.services.clusters.secret_protection import check_secret_use
from segments.services.core.context import Actor
from segments.store import paths
from segments.store.memory import MemoryStore
from segments.store.on_pinot import zookeeper as pinot_zookeeper
from segments.store.on_pinot.zookeeper import PinotZooKeeper
from segments.store.on_zookeeper.login import ZooKeeperLogin
from tests.real_parts import ZooKeeperProcess, start_zookeeper
from tests.waiting import wait_until

ANN = Actor("ann", "because")
USER, PASSWORD = "reader", "pass:word of the zookeeper"
TABLE = "flights_OFFLINE"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    """A ZooKeeper with a cluster that only the login may read."""
    process = start_zookeeper(tmp_path_factory.mktemp("zookeeper"))
    client = owner(process)
    acl = [make_digest_acl(USER, PASSWORD, all=True)]
    for parent in (
        paths.TABLE_CONFIGS,
        paths.SCHEMAS,
        paths.SEGMENTS,
        paths.IDEAL_STATES,
        paths.LINEAGE,
        paths.EXTERNAL_VIEWS,
    ):
        client.create(f"/PinotCluster{parent}", b"", acl=acl, makepath=True)
    client.create(f"/PinotCluster{paths.table_config(TABLE)}", encode(ZNRecord(TABLE)), acl=acl)
    client.create(f"/PinotCluster{paths.ideal_state(TABLE)}", encode(ZNRecord(TABLE)), acl=acl)
    client.stop()
    client.close()
    yield process
    process.stop()


def owner(process: ZooKeeperProcess) -> KazooClient:
    client = KazooClient(process.hosts, auth_data=[("digest", f"{USER}:{PASSWORD}")])
    client.start(30)
    return client


@pytest.fixture
def installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> Path:
    """A data directory and an own ZooKeeper."""
    settings.DATA_DIR, settings.CLUSTER_NAME = tmp_path, "pinotadmin"
    monkeypatch.setattr(wiring._parts, "store", MemoryStore())
    monkeypatch.setattr(wiring, "close", lambda: None)
    return tmp_path


def spec(**more: Any) -> ClusterSpec:
    login = {"zookeeper": "127.0.0.1:1", "zookeeper_user": USER, "zookeeper_secret": PASSWORD}
    return ClusterSpec(**{"name": "prod", "controller_urls": ("http://127.0.0.1:9",), **login, **more})


@pytest.mark.integration
@pytest.mark.parametrize("age", ["new", "old"])
def test_what_only_a_login_may_read_is_read_and_watched(
    guarded: ZooKeeperProcess, age: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    if age == "old":
        monkeypatch.setattr(pinot_zookeeper, "_NEW", (99, 0))
    store = PinotZooKeeper(
        guarded.hosts, lambda: "PinotCluster", login=lambda: ZooKeeperLogin("digest", USER, PASSWORD)
    )
    assert store.children(paths.TABLE_CONFIGS) == [TABLE]
    both = store.get_many([paths.table_config(TABLE), paths.ideal_state(TABLE)])
    assert [node.record.id for node in both if node and node.record] == [TABLE, TABLE]
    told: list[str | None] = []
    store.watch(paths.IDEAL_STATES, told.append)
    wait_until(lambda: None in told, 30)
    client = owner(guarded)
    client.set(f"/PinotCluster{paths.ideal_state(TABLE)}", encode(ZNRecord(TABLE, {"n": age})))
    client.stop()
    client.close()
    wait_until(lambda: paths.ideal_state(TABLE) in told, 30)
    store.close()
    assert PASSWORD not in "".join(
        r.getMessage() for r in caplog.records if r.name == "kazoo.discreet" or r.name.startswith("segments")
    )
    assert not logging.getLogger("kazoo.discreet").isEnabledFor(logging.DEBUG), "there kazoo writes down every request"


@pytest.mark.integration
@pytest.mark.parametrize("login", [ZooKeeperLogin, lambda: ZooKeeperLogin("digest", USER, "wrong")])
def test_without_the_right_login_the_reason_is_reported(guarded: ZooKeeperProcess, login: Any) -> None:
    store = PinotZooKeeper(guarded.hosts, lambda: "PinotCluster", login=login)
    for read in (lambda: store.children(paths.TABLE_CONFIGS), lambda: store.get(paths.table_config(TABLE))):
        with pytest.raises(Unavailable, match="asks for a login, or for another one"):
            read()
    with pytest.raises(Unavailable, match="asks for a login"):
        store.get_many([paths.table_config(TABLE), paths.ideal_state(TABLE)])
    store.close()


@pytest.mark.integration
@pytest.mark.django_db
def test_the_check_of_a_cluster_says_that_a_login_is_missing_and_that_it_is_right(
    guarded: ZooKeeperProcess, installation: Path
) -> None:
    clusters.add_cluster(spec(zookeeper=guarded.hosts, zookeeper_cluster="PinotCluster", zookeeper_secret="wrong"), ANN)

    def step() -> tuple[bool | None, str]:
        found = next(s for s in clusters.check_cluster("prod").steps if s.name == "zookeeper")
        return found.ok, found.message

    assert step() == (False, "ZooKeeper does not let us read: it asks for a login, or for another one.")
    clusters.change_cluster(spec(zookeeper=guarded.hosts, zookeeper_cluster="PinotCluster"), ANN)
    assert step()[0] is True
    parts = PinotClusterContext(Cluster.objects.get(name="prod"), wiring._installation())
    assert parts.pinot_store.children(paths.TABLE_CONFIGS) == [TABLE]
    parts.close()


@pytest.mark.django_db
def test_its_password_is_kept_as_the_controllers_is(installation: Path) -> None:
    row = clusters.add_cluster(spec(auth="bearer", secret="of the controller"), ANN)
    file = installation / "clusters.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (row.zookeeper_user, row.zookeeper_source, row.auth_source) == (USER, "stored", "stored")
    clusters.change_cluster(spec(auth="bearer", zookeeper_secret=""), ANN)
    assert json.loads(file.read_text()) == {"prod": "of the controller", "prod/zookeeper": PASSWORD}
    assert PASSWORD not in repr(spec())
    seen = json.dumps([list(Cluster.objects.values()), list(AuditEvent.objects.values())], default=str)
    assert PASSWORD not in seen
    clusters.change_cluster(spec(auth="bearer", zookeeper_user="", zookeeper_secret=""), ANN)
    assert json.loads(file.read_text()) == {"prod": "of the controller"}
    clusters.change_cluster(spec(auth="bearer"), ANN)
    clusters.remove_cluster("prod", ANN)
    assert json.loads(file.read_text()) == {}


@pytest.mark.django_db
def test_a_password_that_is_not_where_it_should_be_is_reported_when_it_is_needed(installation: Path) -> None:
    clusters.add_cluster(spec(zookeeper_secret="", zookeeper_secret_source="env:NO_SUCH_VARIABLE"), ANN)
    Cluster.objects.filter(name="prod").update(pinot_name="PinotCluster")
    parts = PinotClusterContext(Cluster.objects.get(name="prod"), wiring._installation())
    with pytest.raises(Unavailable, match="for its ZooKeeper is not in the environment variable NO_SUCH_VARIABLE"):
        parts.pinot_store.children("/")
    parts.close()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"zookeeper": ""}, "zookeeper_user"),
        ({"zookeeper_user": ""}, "zookeeper_user"),
        ({"zookeeper_user": "a:b"}, "zookeeper_user"),
        ({"zookeeper_user": "sasl:"}, "zookeeper_user"),
        ({"zookeeper": "ssl://127.0.0.1:1"}, "zookeeper"),
        ({"zookeeper_secret": ""}, "zookeeper_secret"),
        ({"zookeeper_secret_source": "env:X"}, "zookeeper_secret_source"),
        ({"zookeeper_secret": "", "zookeeper_secret_source": "stored"}, "zookeeper_secret_source"),
        ({"zookeeper_secret": "two\nlines"}, "zookeeper_secret"),
    ],
)
@pytest.mark.usefixtures("installation")
def test_what_cannot_be_a_login_is_refused_naming_the_field(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        clusters.add_cluster(spec(**wrong), ANN)
    assert refused.value.data["field"] == field
    assert PASSWORD not in str(refused.value)


@pytest.mark.django_db
@pytest.mark.usefixtures("installation")
def test_no_administrator_has_a_kept_password_sent_to_another_zookeeper() -> None:
    row = clusters.add_cluster(spec(zookeeper="zk1:2181,zk2:2181/pinot"), ANN)
    check_secret_use(None, spec(zookeeper="zk2:2181", zookeeper_secret=""), row)
    check_secret_use(None, spec(zookeeper="elsewhere:2181"), row)
    with pytest.raises(Forbidden, match="not sent to another host"):
        check_secret_use(None, spec(zookeeper="zk1:2181,elsewhere:2181", zookeeper_secret=""), row)
    with pytest.raises(Forbidden, match="not sent to another host"):
        check_secret_use(None, spec(zookeeper="tls://zk1:2181", zookeeper_secret=""), row)
    row.zookeeper, row.zookeeper_user = "tls://zk1:2181", f"sasl:{USER}"
    check_secret_use(
        None, spec(zookeeper="tls://zk1:2181/pinot", zookeeper_user=f"sasl:{USER}", zookeeper_secret=""), row
    )
    with pytest.raises(Forbidden, match="not sent to another host"):
        check_secret_use(None, spec(zookeeper="zk1:2181", zookeeper_user=f"sasl:{USER}", zookeeper_secret=""), row)
    with pytest.raises(Forbidden, match="over the wire as it is"):
        check_secret_use(None, spec(zookeeper="tls://zk1:2181", zookeeper_secret=""), row)
    with pytest.raises(Forbidden, match="Only a superuser may name a place"):
        check_secret_use(None, spec(zookeeper_secret="", zookeeper_secret_source="env:SECRET_KEY"), row)


@pytest.mark.django_db
@pytest.mark.usefixtures("installation")
def test_the_command_asks_for_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"of the controller\n{PASSWORD}\n"))
    out = io.StringIO()
    given = (
        "--controller",
        "http://127.0.0.1:9",
        "--auth",
        "bearer",
        "--zookeeper",
        "127.0.0.1:1",
        "--zookeeper-user",
        USER,
    )
    call_command("cluster", "add", "prod", *given, stdout=out)
    assert PASSWORD not in out.getvalue()
    row = Cluster.objects.get(name="prod")
    assert (row.zookeeper_user, row.zookeeper_source) == (USER, "stored")
    call_command("cluster", "change", "prod", "--zookeeper-secret-env", "ZK_PASSWORD", stdout=out)
    assert Cluster.objects.get(name="prod").zookeeper_source == "env:ZK_PASSWORD"
    call_command("cluster", "change", "prod", "--zookeeper-user", "", stdout=out)
    row.refresh_from_db()
    assert (row.zookeeper_user, row.zookeeper_source) == ("", "")

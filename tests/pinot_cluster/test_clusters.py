"""Adding, changing, checking and removing Pinot clusters: what cannot be is refused, and no secret is
ever seen again.
"""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import call_command

from segments import wiring
from segments.clusters.pinot.connections import cluster_context
from segments.clusters.pinot.connections.secret import find_secret
from segments.domain.formats.znrecord import ZNRecord, encode
from segments.errors import Forbidden, InvalidInput, NotFound, StateConflict, Unavailable
from segments.gateways.pinot import http_controller
from segments.models import AuditEvent, Cluster, Table
from segments.services.clusters import clusters
from segments.services.clusters.cluster_secrets import forget_secret, store_secret
from segments.services.clusters.clusters import ClusterSpec
from segments.services.core.context import Actor
from segments.store import paths
from segments.store.base import Store
from segments.store.memory import MemoryStore
from tests.pinot_cluster.fake_rest import FakePinot

pytestmark = pytest.mark.django_db

ANN = Actor("ann", "because")
SECRET = "hunter2-secret"


@pytest.fixture(autouse=True)
def installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> Iterator[Path]:
    """A data directory and an own ZooKeeper."""
    settings.DATA_DIR, settings.CLUSTER_NAME = tmp_path, "pinotadmin"
    own = MemoryStore()
    monkeypatch.setattr(wiring._parts, "store", own)
    monkeypatch.setattr(wiring, "close", lambda: None)
    yield tmp_path
    own.close()


@pytest.fixture
def pinot(monkeypatch: pytest.MonkeyPatch) -> FakePinot:
    """A controller whatever the address, with one table."""
    fake = FakePinot()
    fake.store.put_raw(f"{paths.CLUSTER_CONFIGS}/{fake.cluster}", encode(ZNRecord(fake.cluster)))
    fake.store.put_raw(paths.table_config("flights_OFFLINE"), b"{}")
    before = http_controller.open_client

    def opened(connection: Any, **more: Any) -> httpx.Client:
        return before(connection, **{**more, "transport": fake.transport()})

    monkeypatch.setattr(http_controller, "open_client", opened)
    return fake


def spec(**more: Any) -> ClusterSpec:
    return ClusterSpec(**{"name": "prod", "controller_urls": ("http://controller:9000/",), **more})


def test_a_cluster_is_a_row_with_its_addresses() -> None:
    row = clusters.add_cluster(spec(zookeeper="zk1:2181,zk2:2181/pinot", zookeeper_cluster="/PinotCluster/"), ANN)
    assert (row.kind, row.controller_urls, row.state) == ("pinot", ["http://controller:9000"], "unknown")
    assert (row.zookeeper, row.zookeeper_cluster) == ("zk1:2181,zk2:2181/pinot", "PinotCluster")
    assert [c.name for c in clusters.list_clusters()] == ["pinotadmin", "prod"]
    event = AuditEvent.objects.get(action="addCluster")
    assert (event.actor, event.reason, event.target) == ("ann", "because", "prod")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"name": "a b"}, "name"),
        ({"name": ""}, "name"),
        ({"controller_urls": ()}, "controller_urls"),
        ({"controller_urls": ("controller:9000",)}, "controller_urls"),
        ({"controller_urls": ("http://ann:pw@controller:9000",)}, "controller_urls"),
        ({"controller_urls": ("http://controller:99999",)}, "controller_urls"),
        ({"controller_urls": ("http://controller:9000/?x=1",)}, "controller_urls"),
        ({"broker_url": "ftp://broker"}, "broker_url"),
        ({"zookeeper": "http://zk:2181"}, "zookeeper"),
        ({"zookeeper_cluster": "PinotCluster"}, "zookeeper_cluster"),
        ({"zookeeper": "zk", "zookeeper_cluster": "a//b"}, "zookeeper_cluster"),
        ({"deep_store_url": "nonsense"}, "deep_store_url"),
        ({"auth": "digest"}, "auth"),
        ({"secret": SECRET}, "auth"),
        ({"auth": "basic", "secret": SECRET}, "auth_user"),
        ({"auth": "basic", "auth_user": "ann"}, "secret"),
        ({"auth": "bearer", "secret": SECRET, "secret_source": "env:X"}, "secret_source"),
        ({"auth": "bearer", "secret": "two\nlines"}, "secret"),
        ({"auth": "bearer", "secret_source": "stored"}, "secret_source"),
        ({"auth": "bearer", "secret_source": "file:relative"}, "secret_source"),
        ({"auth": "bearer", "secret_source": "env:not a name"}, "secret_source"),
        ({"tls_ca": "/no/such/file.pem"}, "tls_ca"),
        ({"tls_key": __file__}, "tls_cert"),
        ({"tls_ca": __file__, "tls_insecure": True}, "tls_insecure"),
    ],
)
def test_what_cannot_be_is_refused_naming_the_field(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        clusters.add_cluster(spec(**wrong), ANN)
    assert refused.value.data["field"] == named
    assert SECRET not in str(refused.value)
    assert not Cluster.objects.exists()


@pytest.mark.parametrize("name", ["prod", "PROD", "pinotadmin"])
def test_a_name_is_taken_once(name: str) -> None:
    clusters.add_cluster(spec(), ANN)
    with pytest.raises(StateConflict):
        clusters.add_cluster(spec(name=name), ANN)


def test_a_secret_lies_in_a_private_file_and_nowhere_else(installation: Path) -> None:
    row = clusters.add_cluster(spec(auth="basic", auth_user="ann", secret=SECRET), ANN)
    file = installation / "clusters.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert find_secret(installation, "prod", row.auth_source) == SECRET
    clusters.change_cluster(spec(auth="basic", auth_user="bob"), ANN)  # keeps it
    assert find_secret(installation, "prod", Cluster.objects.get().auth_source) == SECRET
    seen = json.dumps([list(Cluster.objects.values()), list(AuditEvent.objects.values())], default=str)
    assert SECRET not in seen
    clusters.change_cluster(spec(), ANN)
    assert SECRET not in file.read_text()


def test_of_secrets_that_come_at_the_same_moment_none_is_lost(installation: Path) -> None:
    names = [f"c{number}" for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda name: store_secret(installation, name, f"of {name}"), names))
        list(threads.map(lambda name: forget_secret(installation, name), names[::2]))
    assert json.loads((installation / "clusters.json").read_text()) == {name: f"of {name}" for name in names[1::2]}


def test_a_secret_may_be_named_instead(installation: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (installation / "token").write_text(SECRET + "\n")
    row = clusters.add_cluster(spec(auth="bearer", secret_source=f"file:{installation}/token"), ANN)
    assert find_secret(installation, "prod", row.auth_source) == SECRET
    assert find_secret(installation, "prod", "env:TOKEN", {"TOKEN": SECRET}) == SECRET
    with pytest.raises(Unavailable, match="the environment variable TOKEN"):
        find_secret(installation, "prod", "env:TOKEN", {})


def test_a_check_reports_version_and_name_and_learns_them(pinot: FakePinot) -> None:
    clusters.add_cluster(spec(), ANN)
    found = clusters.check_cluster("prod")
    assert found.is_ok
    assert found.steps[0].message == "Answers for the Pinot cluster 'PinotCluster', version 1.2.0."
    row = Cluster.objects.get()
    assert (row.state, row.version, row.pinot_name, row.last_error) == ("up", "1.2.0", "PinotCluster", "")
    pinot.cluster = "Other"
    found = clusters.check_cluster("prod")
    assert (found.state, found.is_ok) == ("wrong-cluster", False)
    assert "belongs to the Pinot cluster 'Other', not to 'PinotCluster'" in Cluster.objects.get().last_error


def test_a_check_with_a_wrong_secret_says_so_without_it(pinot: FakePinot) -> None:
    pinot.authorization = "Bearer right"
    clusters.add_cluster(spec(auth="bearer", secret=SECRET), ANN)
    found = clusters.check_cluster("prod", ANN)
    assert found.state == "refused"
    assert SECRET not in json.dumps(found.to_json())
    assert any(step.ok is None and "unencrypted" in step.message for step in found.steps)
    clusters.change_cluster(spec(auth="bearer", secret="right"), ANN)
    assert clusters.check_cluster("prod").state == "up"


def test_a_secret_that_is_gone_is_a_state_too(pinot: FakePinot, installation: Path) -> None:
    clusters.add_cluster(spec(auth="bearer", secret=SECRET), ANN)
    (installation / "clusters.json").unlink()
    found = clusters.check_cluster("prod")
    assert found.state == "refused"
    assert "clusters.json" in found.steps[0].message


def test_one_address_that_answers_is_enough_but_the_other_is_reported(pinot: FakePinot) -> None:
    pinot.down = {"second"}
    clusters.add_cluster(spec(controller_urls=("http://controller:9000", "http://second:9000")), ANN)
    found = clusters.check_cluster("prod")
    assert (found.state, [step.ok for step in found.steps]) == ("up", [True, False])


def given_zookeeper(monkeypatch: pytest.MonkeyPatch, store: Store | Exception) -> None:
    def opened(hosts: str, cluster: Any, login: Any = None) -> Store:
        if isinstance(store, Exception):
            raise store
        return store

    monkeypatch.setattr(cluster_context, "PinotZooKeeper", opened)


def test_a_check_compares_zookeeper_with_what_the_controller_reads(
    pinot: FakePinot, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters.add_cluster(spec(zookeeper="zk:2181"), ANN)
    given_zookeeper(monkeypatch, pinot.store.another_client())
    found = clusters.check_cluster("prod")
    assert found.is_ok
    assert found.steps[-1].message == "Holds the cluster 'PinotCluster' with 1 table."
    other = MemoryStore()
    other.put_raw("/X", b"")
    other.put_raw(f"{paths.CLUSTER_CONFIGS}/{pinot.cluster}", encode(ZNRecord(pinot.cluster)))
    given_zookeeper(monkeypatch, other)
    found = clusters.check_cluster("prod")
    assert (found.state, found.steps[-1].ok) == ("wrong-cluster", False)
    assert "another cluster" in Cluster.objects.get().last_error


def test_a_controller_that_hides_its_znodes_is_no_wrong_cluster(
    pinot: FakePinot, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters.add_cluster(spec(zookeeper="zk:2181"), ANN)
    given_zookeeper(monkeypatch, pinot.store.another_client())
    pinot.routes["GET", "/zk/stat"] = lambda request: httpx.Response(403, json={"error": "Permission is denied"})
    found = clusters.check_cluster("prod")
    assert found.is_ok
    assert "could not be compared" in found.steps[-1].message


def test_a_broker_is_asked_too(pinot: FakePinot) -> None:
    pinot.down = {"broker"}
    clusters.add_cluster(spec(broker_url="http://broker:8099"), ANN)
    found = clusters.check_cluster("prod")
    assert (found.state, found.is_ok, found.steps[-1].name) == ("up", False, "broker")


def test_removing_forgets_ours_and_sends_pinot_nothing(pinot: FakePinot, installation: Path) -> None:
    row = clusters.add_cluster(spec(auth="bearer", secret=SECRET), ANN)
    Table.objects.create(cluster=row, name="flights_OFFLINE")
    own = wiring.store()
    own.create(f"{paths.cluster_root('prod')}/JOBS/1", ZNRecord("1"))
    clusters.remove_cluster("prod", ANN)
    assert not Cluster.objects.filter(name="prod").exists()
    assert not Table.objects.exists()
    assert own.exists(paths.cluster_root("prod")) is None
    assert SECRET not in (installation / "clusters.json").read_text()
    assert pinot.calls.total() == 0
    assert AuditEvent.objects.filter(action="removeCluster", actor="ann").exists()


def test_the_own_cluster_is_neither_changed_nor_removed() -> None:
    clusters.list_clusters()
    for act in (
        lambda: clusters.remove_cluster("pinotadmin", ANN),
        lambda: clusters.change_cluster(spec(name="pinotadmin"), ANN),
    ):
        with pytest.raises(Forbidden):
            act()
    with pytest.raises(NotFound):
        clusters.check_cluster("none")


# The command


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("cluster", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.usefixtures("pinot")
def test_the_command_adds_lists_checks_changes_and_removes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(SECRET + "\n"))
    added = said(
        "add",
        "prod",
        "--kind",
        "pinot",
        "--controller",
        "http://controller:9000",
        "--auth",
        "basic:ann",
        "--reason",
        "try",
    )
    assert "Added cluster prod." in added
    assert "version 1.2.0" in added
    assert SECRET not in added
    assert "prod  pinot 1.2.0  http://controller:9000  up" in said("list")
    assert json.loads(said("list", "--json"))[1]["pinotCluster"] == "PinotCluster"
    assert json.loads(said("check", "prod", "--json"))["ok"] is True
    assert "Changed cluster prod." in said("change", "prod", "--broker", "http://broker:8099")
    row = Cluster.objects.get(name="prod")
    assert (row.broker_url, row.auth_user, row.auth_source) == ("http://broker:8099", "ann", "stored")
    assert "Pinot itself was not touched" in said("remove", "prod", "--yes")
    assert not Cluster.objects.filter(name="prod").exists()


def test_the_command_takes_no_password_on_its_line() -> None:
    with pytest.raises(Exception, match="Do not give the password on the command line"):
        said("add", "prod", "--controller", "http://controller:9000", "--auth", f"basic:ann:{SECRET}")

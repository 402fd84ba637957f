"""Nobody without our login reads or changes anything in ZooKeeper, but the few znodes that Pinot's clients need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import OPEN_ACL_UNSAFE

from segments.domain.formats.znrecord import ZNRecord, encode
from segments.errors import InvalidInput, Unavailable
from segments.store import paths
from segments.store.base import Create, Store
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.on_zookeeper.closed_tree import close_server
from segments.store.on_zookeeper.login import DIGEST, ZooKeeperLogin, parse_login
from segments.store.records.cluster_setup import ensure_cluster
from segments.store.records.instances import join
from tests.real_parts import ZooKeeperProcess, start_zookeeper

pytestmark = pytest.mark.integration

OURS = ZooKeeperLogin(DIGEST, "pinotadmin", "a password: with a colon")
VIEW = paths.external_view("brokerResource")
BROKER = paths.participant("Broker_127.0.0.1_9000")
SERVER = paths.participant("Server_127.0.0.1_8098")
RECORD = ZNRecord("x", {"a": "1"})


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    """A server as ``up`` starts and closes it, with a cluster."""
    process = start_zookeeper(tmp_path_factory.mktemp("zookeeper"), login=OURS)
    close_server(process.hosts, "test", OURS)
    yield process
    process.stop()


@pytest.fixture
def store(guarded: ZooKeeperProcess) -> Iterator[Store]:
    opened = ZooKeeperStore(guarded.hosts, "test", login=OURS)
    opened.close_to_strangers()
    ensure_cluster(opened, "test")
    yield opened
    opened.delete_tree("/")
    opened.close()


def client_of(hosts: str, login: ZooKeeperLogin | None = None) -> KazooClient:
    client = KazooClient(hosts, **(login or ZooKeeperLogin()).client_options())
    client.start(30)
    return client


@pytest.fixture(params=["nobody", "somebody else"])
def stranger(request: pytest.FixtureRequest, guarded: ZooKeeperProcess) -> Iterator[KazooClient]:
    """A local process without a login, and one that knows the user but not the password."""
    client = client_of(
        guarded.hosts, ZooKeeperLogin(*((DIGEST, OURS.user, "guessed") if request.param == "somebody else" else ()))
    )
    yield client
    client.stop()
    client.close()


def fill(store: Store) -> None:
    """Every way in which the store makes znodes."""
    store.create(paths.lineage("t_OFFLINE"), RECORD)
    store.create(f"{paths.UPLOAD_LOCKS}/t_OFFLINE/s", RECORD, ephemeral=True)
    store.transaction(
        [Create(paths.ideal_state("t_OFFLINE"), RECORD), Create(paths.segment("new_OFFLINE", "s"), RECORD)]
    )
    store.create(VIEW, RECORD)
    join(store, "Broker_127.0.0.1_9000", "127.0.0.1", 9000, ["broker"])
    join(store, "Server_127.0.0.1_8098", "127.0.0.1", 8098, ["server"])


def tree(client: KazooClient, node: str) -> Iterator[str]:
    yield node
    for name in client.get_children(node):
        yield from tree(client, f"{node.rstrip('/')}/{name}")


def test_every_znode_is_for_our_login_and_three_are_for_everybodys_eyes(
    guarded: ZooKeeperProcess, store: Store
) -> None:
    fill(store)
    client = client_of(guarded.hosts, OURS)
    nodes = [node for node in tree(client, "/") if not node.startswith("/zookeeper")]
    assert len(nodes) > 40
    for node in nodes:
        acl, _ = client.get_acls(node)
        assert acl == OURS.acl(node.removeprefix("/test")), node
        others = [one for one in acl if one.id.scheme != DIGEST]
        assert [one.perms for one in others] == ([1] if node.removeprefix("/test") in (VIEW, BROKER) else []), node
    client.stop()
    client.close()


def test_a_stranger_reads_where_brokers_are_and_nothing_else(stranger: KazooClient, store: Store) -> None:
    fill(store)
    for path in (VIEW, BROKER):
        assert stranger.get(f"/test{path}")[0]
    for path in (
        "",
        paths.lineage("t_OFFLINE"),
        paths.ideal_state("t_OFFLINE"),
        paths.segment("new_OFFLINE", "s"),
        SERVER,
        paths.ACCESS,
    ):
        for read in (stranger.get, stranger.get_children, stranger.get_acls):
            with pytest.raises(NoAuthError):
                read(f"/test{path}")


def test_a_stranger_changes_nothing_and_makes_nothing_anywhere(stranger: KazooClient, store: Store) -> None:
    fill(store)
    tries: list[Callable[[], object]] = []
    for path in ("", paths.IDEAL_STATES, paths.lineage("t_OFFLINE"), SERVER, VIEW, BROKER):
        node = f"/test{path}"
        tries += [
            lambda node=node: stranger.set(node, encode(ZNRecord("evil"))),
            lambda node=node: stranger.create(f"{node}/evil", b""),
            lambda node=node: stranger.create(f"{node}/evil", b"", ephemeral=True),
            lambda node=node: stranger.set_acls(node, OPEN_ACL_UNSAFE),
        ]
    for node in ("/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"):
        tries += [
            lambda node=node: stranger.create(f"{node.rstrip('/')}/evil", b""),
            lambda node=node: stranger.set_acls(node, OPEN_ACL_UNSAFE),
        ]
    tries += [lambda path=path: stranger.delete(f"/test{path}") for path in (paths.lineage("t_OFFLINE"), VIEW, BROKER)]
    for attempt in tries:
        with pytest.raises(NoAuthError):
            attempt()
    assert store.get(VIEW).record == RECORD  # type: ignore[union-attr]


def test_a_store_without_the_login_says_which_one_it_lacks(guarded: ZooKeeperProcess, store: Store) -> None:
    fill(store)
    other = ZooKeeperStore(guarded.hosts, "test")
    with pytest.raises(Unavailable, match="asks for a login, or for another one"):
        other.get(paths.lineage("t_OFFLINE"))
    with pytest.raises(Unavailable, match="belongs to another login") as refused:
        other.create(f"{paths.LINEAGE}/u_OFFLINE", RECORD)
    assert "ZOOKEEPER_AUTH" in (refused.value.remedy or "")
    other.close()
    wrong = ZooKeeperStore(guarded.hosts, "test", login=ZooKeeperLogin(DIGEST, OURS.user, "guessed"))
    with pytest.raises(Unavailable, match="belongs to another login"):
        wrong.close_to_strangers()
    wrong.close()


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """What a test opens; whatever happens it is closed, before others could meet its threads."""
    with ExitStack() as stack:
        yield stack


def test_what_an_earlier_version_left_open_is_closed_at_the_next_start_and_kept(
    tmp_path: Path, opened: ExitStack
) -> None:
    process = start_zookeeper(tmp_path)
    opened.callback(process.stop)

    def connected(login: ZooKeeperLogin | None = None) -> KazooClient:
        client = client_of(process.hosts, login)
        opened.callback(client.close)
        opened.callback(client.stop)
        return client

    before = ZooKeeperStore(process.hosts, "test")
    ensure_cluster(before, "test")
    fill(before)
    stranger = connected()
    stranger.create("/left/by/somebody", b"", makepath=True)
    before.close()
    process.kill()
    process.login = OURS
    process.start()
    close_server(process.hosts, "test", OURS)
    client = connected(OURS)
    assert all(
        client.get_acls(node)[0] == OURS.acl(node.removeprefix("/test")) for node in tree(client, "/") if node != VIEW
    )
    after = ZooKeeperStore(process.hosts, "test", login=OURS)
    opened.callback(after.close)
    assert after.get(paths.lineage("t_OFFLINE")).record == RECORD  # type: ignore[union-attr]
    with pytest.raises(NoAuthError):
        stranger.retry(stranger.get, "/left/by/somebody")  # its session may have ended with the process
    # The file with the password is lost: the next one takes the tree over.
    process.kill()
    process.login = ZooKeeperLogin(DIGEST, OURS.user, "another password")
    process.start()
    close_server(process.hosts, "test", process.login)
    again = ZooKeeperStore(process.hosts, "test", login=process.login)
    opened.callback(again.close)
    assert again.get(paths.lineage("t_OFFLINE")).record == RECORD  # type: ignore[union-attr]


def test_the_tree_is_walked_once(guarded: ZooKeeperProcess, store: ZooKeeperStore) -> None:
    client = client_of(guarded.hosts, OURS)
    path = f"/test{paths.lineage('t_OFFLINE')}"
    client.create(path, b"", acl=OPEN_ACL_UNSAFE)
    store.close_to_strangers()
    assert client.get_acls(path)[0] == OPEN_ACL_UNSAFE, "it is known that all is closed: starting costs one read"
    client.stop()
    client.close()


@pytest.mark.parametrize(
    "text", ["digest", "digest:user", "digest::password", "basic:user:password", "sasl:user:", "x509:a:b", "x509"]
)
def test_what_cannot_be_a_login_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_login(text)
    assert "password" not in refused.value.message


def test_a_login_is_read_and_shown_without_its_password() -> None:
    login = parse_login("digest:user:pass:word")
    assert (login.user, login.password, login.text) == ("user", "pass:word", "digest:user:pass:word")
    assert "pass:word" not in repr(login)
    assert parse_login("").acl("/") is None

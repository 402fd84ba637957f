"""The parts of a running installation, tried by a local process that has no password: ZooKeeper, Redis, the process
list.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from redis.backoff import NoBackoff
from redis.retry import Retry

from segments.store.on_zookeeper.login import ZooKeeperLogin, parse_login
from tests.integration.running import Client, Installation
from tests.integration.test_realtime_basic import Table
from tests.waiting import poll

pytestmark = pytest.mark.integration


@pytest.fixture
def busy(installation: Installation, client: Client, table: str) -> Iterator[str]:
    """A table with checks, a replacement that was ended in the background and a deletion, and another one that consumes
    and commits.
    """
    client.call("PUT", f"/api/v1/tables/{table}/checks", json={"checks": [{"kind": "rowCount", "min": 1}]})
    client.upload(table, "a", "gone")
    client.online(table, "a", "gone")
    entry = client.start(table, ["a"], ["b"])
    client.upload(table, "b")
    client.online(table, "b")
    query = {"type": "OFFLINE", "segmentLineageEntryId": entry, "async": "true"}
    client.call("POST", f"/segments/{table}/endReplaceSegments", params=query, status=202)
    poll(lambda: "b" in client.counts(table), 30, "the end in the background")
    client.call("DELETE", f"/segments/{table}/gone", params={"type": "OFFLINE"})
    consuming = Table(installation, client, "closed_doors", rows=20)
    poll(consuming.is_settled, 30, "consuming")
    consuming.send(30)
    poll(lambda: len(consuming.state()[0]) == 2, 30, "a commit")
    client.call("POST", "/tables/closed_doors/forceCommit")
    yield table
    client.call("DELETE", "/tables/closed_doors")
    client.call("DELETE", "/schemas/closed_doors")


def tree(client: KazooClient, node: str) -> Iterator[str]:
    yield node
    for name in client.get_children(node) if client.exists(node) else ():
        yield from tree(client, f"{node.rstrip('/')}/{name}")


def connect(installation: Installation, login: ZooKeeperLogin) -> KazooClient:
    client = KazooClient(installation.endpoints["zookeeper"], **login.client_options())
    client.start(30)
    return client


@pytest.mark.usefixtures("busy")
def test_every_znode_of_a_busy_installation_is_closed_but_those_that_pinots_clients_read(
    installation: Installation,
) -> None:
    login = parse_login(installation.endpoints["zookeeper_auth"])
    client, stranger = connect(installation, login), connect(installation, ZooKeeperLogin())
    own, kinds, readable = login.acl("/"), set(), set()
    for node in tree(client, "/"):
        acl = client.get_acls(node)[0] if client.exists(node) else own
        kinds.add("/".join(node.split("/")[:4]))
        if acl == own:
            with pytest.raises(NoAuthError):
                stranger.get(node)
        else:
            assert acl[0] == own[0], node  # type: ignore[index]
            assert [(one.id.id, one.perms) for one in acl[1:]] == [("anyone", 1)], node
            readable.add(node)
            assert stranger.get(node)
        with pytest.raises(NoAuthError):
            stranger.create(f"{node.rstrip('/')}/evil", b"")
    root, port = f"/{installation.endpoints['cluster']}", urlsplit(installation.endpoints["broker"]).port
    ours = {
        f"{root}/PINOTADMIN/{name}"
        for name in ("ACCESS", "JOBS", "CHECKS", "ROUTING_ACKS", "PENDING_DELETIONS", "UPLOAD_LOCKS", "COMPLETION")
    }
    assert ours | {f"{root}/PROPERTYSTORE/SEGMENT_LINEAGE", f"{root}/PROPERTYSTORE/CONTROLLER_JOBS"} <= kinds
    assert readable == {f"{root}/EXTERNALVIEW/brokerResource", f"{root}/CONFIGS/PARTICIPANT/Broker_127.0.0.1_{port}"}
    for one in (client, stranger):
        one.stop()
        one.close()


def test_redis_answers_nobody_without_the_password(installation: Installation) -> None:
    where = urlsplit(installation.endpoints["redis"])
    commands = (
        ["PING"],
        ["GET", "x"],
        ["SET", "x", "1"],
        ["KEYS", "*"],
        ["INFO"],
        ["CONFIG", "GET", "requirepass"],
        ["ACL", "LIST"],
        ["FLUSHALL"],
        ["SHUTDOWN", "NOSAVE"],
        ["REPLICAOF", "127.0.0.1", "1"],
        ["SUBSCRIBE", "x"],
        ["EVAL", "return 1", "0"],
        ["CLIENT", "LIST"],
        ["COMMAND"],
        ["DEBUG", "SLEEP", "0"],
        ["SYNC"],
        ["PSYNC", "?", "-1"],
        ["MONITOR"],
    )
    for command in commands:
        stranger = redis.Redis(where.hostname or "", where.port or 0, protocol=2, retry=Retry(NoBackoff(), 0))
        with stranger, pytest.raises(redis.AuthenticationError):
            stranger.execute_command(*command)


def test_no_secret_stands_in_the_process_list(installation: Installation) -> None:
    secrets = {
        value
        for value in json.loads((installation.folder / "secrets.json").read_text()).values()
        if isinstance(value, str)
    }
    assert len(secrets) >= 5
    pids = [*installation.endpoints["pids"].values(), *(s["pid"] for s in installation.endpoints["servers"])]
    lines = [path.read_text() for path in Path("/proc").glob("[0-9]*/cmdline") if _readable(path)]
    assert len(lines) > len(pids)
    assert [line for line in lines for secret in secrets if secret in line] == []


def test_nobody_else_reads_a_file_of_the_data_directory(installation: Installation) -> None:
    folder = installation.folder
    whole = (path for name in ("logs", "run", "zookeeper", "redis") for path in (folder / name).rglob("*"))
    found = {path: stat.S_IMODE(path.lstat().st_mode) for path in (folder, *folder.iterdir(), *whole) if path.exists()}
    assert {
        "secrets.json",
        "db.sqlite3",
        "db.sqlite3-wal",
        "endpoints.json",
        "control.sock",
        "zoo.cfg",
        "redis.conf",
    } < {p.name for p in found}
    assert {str(path): oct(mode) for path, mode in found.items() if mode & 0o077} == {}


def _readable(path: Path) -> bool:
    try:
        return bool(path.read_text())
    except OSError:
        return False

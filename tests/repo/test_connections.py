"""Everything that can open a connection is known: what is new goes through the gate, or is listed here with the reason
why it need not.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.repo.test_house_rules import tree

ROOT = Path(__file__).resolve().parents[2]

#: What opens a connection when it is called. ``from_uri`` and ``from_url`` read where to from their argument.
_OPENING = {
    "socket.socket",
    "socket.create_connection",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "http.client.HTTPConnection",
    "http.client.HTTPSConnection",
    "httpx.Client",
    "httpx.AsyncClient",
    "httpx.get",
    "httpx.post",
    "httpx.put",
    "httpx.delete",
    "httpx.request",
    "httpx.stream",
    "httpx.head",
    "urllib.request.urlopen",
    "urllib.request.Request",
    "urllib.request.build_opener",
    "urllib.request.urlretrieve",
    "asyncio.open_connection",
    "asyncio.create_connection",
    "asyncio.open_unix_connection",
    "smtplib.SMTP",
    "ftplib.FTP",
    "confluent_kafka.Consumer",
    "confluent_kafka.Producer",
    "confluent_kafka.DeserializingConsumer",
    "confluent_kafka.admin.AdminClient",
    "confluent_kafka.schema_registry.SchemaRegistryClient",
    "kazoo.client.KazooClient",
    "redis.Redis",
    "redis.StrictRedis",
    "redis.ConnectionPool",
    "redis.Connection",
    "redis.SSLConnection",
    "redis.from_url",
    "redis.Sentinel",
    "redis.RedisCluster",
    "redis.asyncio.Redis",
    "pyarrow.fs.S3FileSystem",
    "pyarrow.fs.GcsFileSystem",
    "pyarrow.fs.AzureFileSystem",
    "pyarrow.fs.HadoopFileSystem",
    "pyarrow.flight.connect",
    "pyarrow.flight.FlightClient",
    "django.core.mail.send_mail",
    "subprocess.Popen",
    "subprocess.run",
}
_METHODS = {"from_uri", "from_url", "urlopen", "create_connection", "open_connection"}
_LIBRARIES = {
    "requests",
    "aiohttp",
    "urllib3",
    "fsspec",
    "s3fs",
    "boto3",
    "paramiko",
    "grpc",
    "websockets",
    "websocket",
    "pycurl",
    "ldap3",
    "httplib2",
}

#: The gate itself.
_GATE = {
    "segments/gateways/outgoing/gate.py",
    "segments/gateways/outgoing/gated_http.py",
    "segments/gateways/outgoing/fetch.py",
    "segments/gateways/streams/kafka_brokers.py",
    "segments/gateways/streams/kafka.py",
    "segments/gateways/streams/redis_connections.py",
}
#: Who else opens connections or starts programs, and who says where to.
_OTHERS = {
    "segments/wiring.py": "the installation's own Redis, from its settings",
    "pinotadmin/configuration/part_connections.py": "the parts that the installation's settings name",
    "segments/gateways/worker_status.py": "the installation's own Redis, from its settings",
    "segments/gateways/streams/redis.py": "over the pool that redis_connections.py makes",
    "segments/gateways/deep_store/access.py": "the deep store, from the installation's settings or those "
    "of an administrator of clusters",
    "segments/gateways/input_files/stores.py": "addresses below the installation's input roots; an endpoint "
    "that a config names has passed the gate (store_endpoint.py)",
    "segments/gateways/identity_provider.py": "the identity provider of the installation's settings, and hosts that "
    "these name",
    "segments/gateways/servers.py": "servers that are registered in the cluster",
    "segments/gateways/controller_protocol.py": "the installation's own controllers, from its settings",
    "segments/gateways/reingested_uploads.py": "the installation's own web processes, from its settings",
    "segments/gateways/set_aside_reports.py": "the installation's own web processes, from its settings",
    "segments/gateways/pinot/client.py": "controllers and brokers of clusters that an "
    "administrator of the installation adds",
    "segments/store/on_zookeeper/client.py": "ZooKeepers of the installation's settings and of such clusters",
    "segments/store/on_zookeeper/chroot.py": "the ZooKeeper of the installation's settings",
    "segments/store/on_zookeeper/login.py": "a ZooKeeper of the installation's settings or of a "
    "cluster that an administrator adds",
    "segments/store/on_zookeeper/closed_tree.py": "the installation's own ZooKeeper, from its settings",
    "segments/dataplane/server/http/http_endpoint.py": "listens only",
    "segments/management/commands/demo.py": "REDIS_URL, as the installation was given it",
    "segments/management/commands/push.py": "the installation that the person at the command line names",
    "segments/management/running_installation.py": "starts the same command again",
    "segments/spark/executors.py": "asks whether the master that SPARK_MASTER names takes connections",
    "segments/processes/": "starts and asks the installation's own parts",
    "segments/spark/reading/sample/binary_rows.py": "starts a module of ours; its file passes the input roots",
    "segments/dataplane/server/held/peer_download.py": "peers and controllers of the cluster",
}


@cache
def opened_by(path: Path) -> set[str]:
    """Of a file, read once for all tests."""
    return opened(tree(path))


def opened(top: ast.Module) -> set[str]:
    """Names of what a module calls, inherits from or imports that opens connections."""
    names: dict[str, str] = {}
    found: set[str] = set()
    for node in ast.walk(top):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
                found |= {alias.name} if alias.name.partition(".")[0] in _LIBRARIES else set()
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module} if node.module.partition(".")[0] in _LIBRARIES else set()
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    types = {id(part) for node in ast.walk(top) for kind in _types(node) for part in ast.walk(kind)}
    for node in ast.walk(top):
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in types:
            first, _, rest = _dotted(node).partition(".")
            full = names.get(first, first) + (f".{rest}" if rest else "")
            if any(full == one or full.startswith(one + ".") for one in _OPENING) or (
                isinstance(node, ast.Attribute) and node.attr in _METHODS
            ):
                found.add(full)
    return found


def _dotted(node: ast.expr) -> str:
    """``a.b.c`` as it is written; of what is no name before the last dot, that stands for "?"."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _types(node: ast.AST) -> list[ast.expr]:
    """Annotations: they open nothing."""
    found = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    return [one for one in found if one is not None]


def listed(name: str) -> bool:
    return name in _GATE or any(name == one or (one.endswith("/") and name.startswith(one)) for one in _OTHERS)


def modules() -> list[Path]:
    return sorted(
        p for folder in ("segments", "pinotadmin") for p in (ROOT / folder).rglob("*.py") if "migrations" not in p.parts
    )


def test_only_the_gate_and_what_is_listed_opens_connections() -> None:
    strange = {}
    for path in modules():
        name = str(path.relative_to(ROOT))
        if not listed(name) and (calls := opened_by(path)):
            strange[name] = sorted(calls)
    assert not strange, "Send it through segments/gateways/outgoing/gate.py, or list it here with who says where to."


def test_every_listed_module_still_opens_some() -> None:
    names = [str(p.relative_to(ROOT)) for p in modules() if opened_by(p)]
    assert not [
        one
        for one in (*_GATE, *_OTHERS)
        if not any(n == one or (one.endswith("/") and n.startswith(one)) for n in names)
    ]


@pytest.mark.parametrize(
    "source",
    [
        "import httpx\nhttpx.get(u)",
        "from httpx import Client as C\nC()",
        "import socket as s\ns.create_connection(a)",
        "import redis\nredis.Redis.from_url(u)",
        "from redis import Redis\nRedis(host=h)",
        "import pyarrow.fs as pafs\npafs.FileSystem.from_uri(u)",
        "from pyarrow.fs import FileSystem\nFileSystem.from_uri(u)",
        "from confluent_kafka import Consumer\nclass Own(Consumer): pass",
        "import http.client\nopen_it = http.client.HTTPConnection",
        "from http.client import HTTPSConnection\nHTTPSConnection(h)",
        "import urllib.request\nurllib.request.urlopen(u)",
        "def late():\n    import requests",
        "import subprocess\nsubprocess.run(['curl', u])",
    ],
)
def test_a_new_connection_is_found_however_it_is_written(source: str) -> None:
    assert opened(ast.parse(source))

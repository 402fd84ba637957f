"""Gives znodes that exist already the access-control list that our login asks for: what an earlier version, or a
ZooKeeper without a login, left open to everybody is closed before anything else happens.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import InvalidACLError, KazooException, NoAuthError, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from segments.domain.formats.znrecord import ZNRecord, decode, encode
from segments.errors import Unavailable
from segments.store import paths
from segments.store.on_zookeeper.login import ZooKeeperLogin
from segments.store.on_zookeeper.replies import LOST, settle

log = logging.getLogger(__name__)

#: Requests that are sent before the first reply is awaited.
_TOGETHER: Final = 500
#: ZooKeeper's own, which are made open at the first start of a server.
_SYSTEM: Final = ("/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config")
#: Seconds until a server must have taken a connection.
_CONNECT_S: Final = 10.0
_IDENTITY: Final = "identity"


def close_server(hosts: str, cluster: str, login: ZooKeeperLogin) -> None:
    """Close everything on a server that is ours alone to everybody without the login. Unavailable when it does not
    answer.
    """
    client = KazooClient(hosts, **login.client_options())
    try:
        client.start(_CONNECT_S)
        close_tree(client, f"/{cluster}", login, whole=True)
    except KazooTimeoutError as error:
        raise Unavailable(
            f"ZooKeeper at {hosts} took no connection within {_CONNECT_S:g} s.", remedy="See its log."
        ) from error
    finally:
        client.stop()
        client.close()


def close_tree(client: KazooClient, root: str, login: ZooKeeperLogin, *, whole: bool = False) -> int:
    """Close every znode at and below ``root`` once; how many there were (0: it had been done before, or there is no
    login to close for).

    ``whole``: the server is ours alone, so close also its own root and whatever else lies there. Unavailable when
    ZooKeeper is lost meanwhile, or a znode belongs to another login.
    """
    if not login.identity:
        return 0
    try:
        if whole:
            _set(client, _SYSTEM, root, login)
        if _closed_for(client, root) == login.identity:
            return 0
        # From the top: once its parent is closed nobody puts anything there any more.
        count, level = 0, [f"/{name}" for name in _names(client, "/") if name != "zookeeper"] if whole else [root]
        while level:
            count += len(level)
            _set(client, level, root, login)
            level = _below(client, level)
        _remember(client, root, login)
    except NoAuthError as error:
        text = "A znode of this cluster belongs to another login, so that it cannot be given to ours."
        raise Unavailable(text, remedy="Use the login that made it, or give the tree to ours with setAcl.") from error
    except InvalidACLError as error:
        text = "ZooKeeper takes nobody for logged in on this connection."
        raise Unavailable(
            text, remedy="Check ZOOKEEPER_AUTH, and that the server knows that way of logging in."
        ) from error
    except (*LOST, KazooException) as error:
        raise Unavailable(
            f"ZooKeeper did not close its znodes to strangers: {type(error).__name__}.", remedy="See its log."
        ) from error
    if count > 1:
        log.info("%d znodes of %s are closed to everybody without our login now.", count, root)
    return count


def _set(client: KazooClient, nodes: Any, root: str, login: ZooKeeperLogin) -> None:
    for start in range(0, len(nodes), _TOGETHER):
        settle(
            [
                client.set_acls_async(node, login.acl(_relative(node, root)))
                for node in nodes[start : start + _TOGETHER]
            ],
            NoNodeError,
        )


def _relative(node: str, root: str) -> str:
    """Only what lies in our cluster is known to be for everybody's eyes."""
    return node.removeprefix(root) if node.startswith(root + "/") else "/"


def _names(client: KazooClient, node: str) -> list[str]:
    (names,) = settle([client.get_children_async(node)], NoNodeError)
    return list(names or ())


def _below(client: KazooClient, level: list[str]) -> list[str]:
    found: list[str] = []
    for start in range(0, len(level), _TOGETHER):
        part = level[start : start + _TOGETHER]
        replies = settle([client.get_children_async(node) for node in part], NoNodeError)
        found.extend(f"{node}/{name}" for node, names in zip(part, replies, strict=True) for name in names or ())
    return found


def _closed_for(client: KazooClient, root: str) -> str:
    try:
        data, _ = client.get(root + paths.ACCESS)
    except (NoNodeError, NoAuthError):
        return ""
    record = decode(data)
    return record.simple.get(_IDENTITY, "") if record else ""


def _remember(client: KazooClient, root: str, login: ZooKeeperLogin) -> None:
    data = encode(ZNRecord(paths.ACCESS.rpartition("/")[2], {_IDENTITY: login.identity}))
    try:
        client.create(root + paths.ACCESS, data, makepath=True)
    except NodeExistsError:
        client.set(root + paths.ACCESS, data)

"""The folder of a ZooKeeper address such as ``a:2181,b:2181/tenants/ours``: made before anybody works below it."""

from __future__ import annotations

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from segments.store.on_zookeeper.login import ZooKeeperLogin


def ensure_chroot(hosts: str, login: ZooKeeperLogin, timeout_s: float) -> None:
    """Create the address' folder where it is not there; without one nothing happens. Raises Unavailable when ZooKeeper
    does not answer in time, and for a login that it refuses.
    """
    servers, _, folder = hosts.partition("/")
    if not folder.strip("/"):
        return
    client = KazooClient(servers, timeout=timeout_s, **login.client_options())
    try:
        client.start(timeout=timeout_s)
        client.ensure_path(f"/{folder.strip('/')}")
    except (KazooTimeoutError, KazooException) as error:
        raise login.explain(hosts, timeout_s) from error
    finally:
        client.stop()
        client.close()

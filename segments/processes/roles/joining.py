"""A second `up` on a ZooKeeper of one's own joins the cluster that is there, and must have that cluster's secrets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from segments.errors import StateConflict
from segments.processes.machine.private_file import read_json
from segments.store.on_zookeeper.chroot import ensure_chroot
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.on_zookeeper.login import ZooKeeperLogin, parse_login
from segments.store.records.shared_secrets import agree_on_secrets, secrets_on_record

#: Seconds to wait for ZooKeeper.
_PATIENCE_S: Final = 8.0
#: Settings and what they are called in secrets.json.
_KEPT: Final = {"PINOTADMIN_CLUSTER_SECRET": "cluster_secret", "PINOTADMIN_SECRET_KEY": "secret_key"}


def check_secrets_to_join(secrets: Path, environ: Mapping[str, str]) -> None:
    """Before ``secrets`` (secrets.json) is made or used with the ZooKeeper that ``environ`` names. StateConflict when
    the cluster there has secrets that are not given, or others; Unavailable when ZooKeeper does not answer.
    """
    url, cluster = environ.get("ZOOKEEPER_URL", ""), environ.get("PINOTADMIN_CLUSTER") or "pinotadmin"
    if not url:
        return
    kept, login = read_json(secrets), _login(environ)
    given = {name: str(kept.get(field) or environ.get(name) or "") for name, field in _KEPT.items()}
    ensure_chroot(url, login, _PATIENCE_S)
    store = ZooKeeperStore(url, cluster, connect_timeout=_PATIENCE_S, login=login)
    try:
        known = secrets_on_record(store)
        missing = [name for name in known if not given.get(name)]
        if missing:
            raise StateConflict(
                f"The cluster '{cluster}' exists already, and {missing[0]} is not set.",
                remedy=f"To join it, set {' and '.join(known)} to what the host that made it has in its secrets.json. "
                "For a cluster of its own set PINOTADMIN_CLUSTER to another name.",
            )
        if known:
            agree_on_secrets(store, given)
    finally:
        store.close()


def _login(environ: Mapping[str, str]) -> ZooKeeperLogin:
    return parse_login(
        environ.get("ZOOKEEPER_AUTH", ""),
        tls=environ.get("ZOOKEEPER_TLS", "").lower() == "true",
        ca=environ.get("ZOOKEEPER_TLS_CA", ""),
        certificate=environ.get("ZOOKEEPER_TLS_CERT", ""),
        key=environ.get("ZOOKEEPER_TLS_KEY", ""),
    )

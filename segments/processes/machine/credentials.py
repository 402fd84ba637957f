"""Passwords and keys of one data directory: made once at random, kept in a private file."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from segments.domain.access.shared_secret import check_shared_secret
from segments.processes.machine.private_file import read_json, write_private_json
from segments.store.on_zookeeper.login import DIGEST, ZooKeeperLogin

ADMIN_USER = "admin"
ZOOKEEPER_USER = "pinotadmin"
#: Those with which signatures are made, and their variables.
_SHARED = {"cluster_secret": "PINOTADMIN_CLUSTER_SECRET", "secret_key": "PINOTADMIN_SECRET_KEY"}
_FIELDS = ("admin_password", "cluster_secret", "secret_key", "redis_password", "zookeeper_password")


@dataclass(frozen=True, repr=False)
class Credentials:
    """What the processes of one cluster prove themselves with; ``created`` is true on the run that made them."""

    admin_password: str
    cluster_secret: str
    secret_key: str
    redis_password: str
    zookeeper_password: str
    created: bool = False

    @property
    def zookeeper_login(self) -> ZooKeeperLogin:
        """Of the embedded ZooKeeper."""
        return ZooKeeperLogin(DIGEST, ZOOKEEPER_USER, self.zookeeper_password)

    @property
    def authorization(self) -> str:
        """The HTTP Basic header value of the user ``admin``."""
        pair = f"{ADMIN_USER}:{self.admin_password}".encode()
        return "Basic " + base64.b64encode(pair).decode("ascii")


def load_credentials(path: Path, environ: Mapping[str, str]) -> Credentials:
    """Read ``path`` (secrets.json), or make what it lacks and write it.

    A first run takes PINOTADMIN_ADMIN_PASSWORD, PINOTADMIN_CLUSTER_SECRET and PINOTADMIN_SECRET_KEY from the
    environment where they are set; later runs keep what is on record, because the database already knows that password.
    InvalidInput for a secret that is too weak.
    """
    known = read_json(path)
    given = {
        "admin_password": environ.get("PINOTADMIN_ADMIN_PASSWORD"),
        "cluster_secret": environ.get("PINOTADMIN_CLUSTER_SECRET"),
        "secret_key": environ.get("PINOTADMIN_SECRET_KEY"),
    }
    for name, variable in _SHARED.items():
        if known.get(name) or given.get(name):
            check_shared_secret(variable, str(known.get(name) or given.get(name)), str(path) if known.get(name) else "")
    values = {name: str(known.get(name) or given.get(name) or _random(name)) for name in _FIELDS}
    if any(known.get(name) != value for name, value in values.items()):
        write_private_json(path, {**known, **values})
    return Credentials(**values, created="admin_password" not in known)


def _random(name: str) -> str:
    # A person types the admin's password: letters and digits only, 20 of them (119 bits).
    if name == "admin_password":
        alphabet = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
        return "".join(secrets.choice(alphabet) for _ in range(20))
    return secrets.token_hex(32)

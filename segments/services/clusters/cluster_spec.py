"""A Pinot cluster as it is requested, and what cannot be: addresses, credentials and files are checked before a row
is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from segments.errors import InvalidInput
from segments.gateways.deep_store.deepstore import DeepStore
from segments.models import Cluster
from segments.secret_texts import mask_address
from segments.services.clusters.cluster_secrets import ENV, FROM_FILE, STORED
from segments.store.on_zookeeper.login import SASL

#: The columns that say how a cluster is reached; the rest of its row is what was found out with them.
CONFIGURED: Final = (
    "controller_urls",
    "broker_url",
    "zookeeper",
    "zookeeper_cluster",
    "zookeeper_user",
    "zookeeper_source",
    "deep_store_url",
    "auth",
    "auth_user",
    "auth_source",
    "tls_ca",
    "tls_cert",
    "tls_key",
    "tls_insecure",
    "configured_at",
)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ZOOKEEPER: Final = re.compile(r"(?:tls://)?[^\s,/:]+(:\d{1,5})?(,[^\s,/:]+(:\d{1,5})?)*(/[^\s]*[^\s/])?\Z")
_ZNODES: Final = re.compile(r"[^\s/]+(/[^\s/]+)*\Z")
_LONGEST_URL: Final = 255
_MOST_URLS: Final = 20


@dataclass(frozen=True)
class ClusterSpec:
    """A Pinot cluster as it is requested. ``secret`` is given as text (kept in a private file), or named by
    ``secret_source`` (``env:NAME`` or ``file:PATH``); both empty keep what is stored when the cluster is changed.
    ``zookeeper_secret`` likewise.
    """

    name: str
    controller_urls: tuple[str, ...]
    broker_url: str = ""
    zookeeper: str = ""
    zookeeper_cluster: str = ""
    zookeeper_user: str = ""
    zookeeper_secret: str = field(default="", repr=False)
    zookeeper_secret_source: str = ""
    deep_store_url: str = ""
    auth: str = ""
    auth_user: str = ""
    secret: str = field(default="", repr=False)
    secret_source: str = ""
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_insecure: bool = False


#: Its optional texts, of which none is a secret or says where one is; columns of the row have the same names.
TEXTS: Final = (
    "broker_url",
    "zookeeper",
    "zookeeper_cluster",
    "zookeeper_user",
    "deep_store_url",
    "auth",
    "auth_user",
    "tls_ca",
    "tls_cert",
    "tls_key",
)


def row_values(spec: ClusterSpec, known_source: str = "", known_zookeeper: str = "") -> dict[str, Any]:
    """Column values of a valid specification; InvalidInput, naming the ``field``, for any other. ``known_source``,
    ``known_zookeeper``: where the secrets of controller and ZooKeeper were so far.
    """
    if not _NAME.match(spec.name):
        raise _bad(
            "name", f"'{spec.name}' cannot be the name of a cluster", "Use letters, digits, '-' and '_', 64 at most."
        )
    urls = _controller_urls(spec)
    _check_zookeeper(spec)
    _check_files(spec)
    if spec.deep_store_url:
        _check_deep_store(spec.deep_store_url)
    values = {
        "kind": Cluster.Kind.PINOT,
        "controller_urls": urls,
        "broker_url": _address("broker_url", spec.broker_url) if spec.broker_url else "",
        "zookeeper": spec.zookeeper.strip(),
        "zookeeper_cluster": spec.zookeeper_cluster.strip().strip("/"),
        "zookeeper_user": spec.zookeeper_user,
        "zookeeper_source": _zookeeper_source(spec, known_zookeeper),
        "deep_store_url": spec.deep_store_url.rstrip("/"),
        "auth": spec.auth,
        "auth_user": spec.auth_user if spec.auth == Cluster.Auth.BASIC else "",
        "auth_source": _source(spec, known_source),
        "tls_ca": spec.tls_ca,
        "tls_cert": spec.tls_cert,
        "tls_key": spec.tls_key,
        "tls_insecure": spec.tls_insecure,
    }
    _check_lengths({**values, "name": spec.name})
    return values


def _controller_urls(spec: ClusterSpec) -> list[str]:
    urls = list(dict.fromkeys(_address("controller_urls", url) for url in spec.controller_urls))
    if not urls:
        raise _bad(
            "controller_urls",
            "A Pinot cluster needs the address of its controller",
            "Give one, such as http://host:9000.",
        )
    if len(urls) > _MOST_URLS:
        raise _bad(
            "controller_urls", f"{len(urls)} addresses of controllers are too many", f"Give at most {_MOST_URLS}."
        )
    return urls


def _check_lengths(values: dict[str, Any]) -> None:
    """As the database has room for them."""
    for name, value in values.items():
        most = getattr(Cluster._meta.get_field(name), "max_length", None)
        if isinstance(value, str) and ("\0" in value or (most is not None and len(value) > most)):
            raise _bad(name, f"It has {len(value)} characters, or U+0000 among them", f"Give at most {most}.")


def _source(spec: ClusterSpec, known_source: str) -> str:
    if spec.auth not in Cluster.Auth.values:
        raise _bad("auth", f"Credentials of kind '{spec.auth}' are not known", "Use basic or bearer.")
    if not spec.auth:
        if spec.secret or spec.secret_source:
            raise _bad("auth", "A secret is given, but not how it is to be sent", "Use basic with a user, or bearer.")
        return ""
    if spec.auth == Cluster.Auth.BASIC and (not spec.auth_user or ":" in spec.auth_user):
        raise _bad("auth_user", "Basic credentials need a user, without ':'", "Give it.")
    return _source_of("secret", spec.secret, spec.secret_source, known_source)


def _zookeeper_source(spec: ClusterSpec, known_source: str) -> str:
    """A digest login: ZooKeeper takes any, and shows it what its ACLs allow. ``sasl:`` before the user: DIGEST-MD5."""
    if not spec.zookeeper_user:
        if spec.zookeeper_secret or spec.zookeeper_secret_source:
            raise _bad(
                "zookeeper_user", "A password for ZooKeeper is given, but no user", "Give the user of the digest login."
            )
        return ""
    user = spec.zookeeper_user.removeprefix(f"{SASL}:")
    if not user or ":" in user or not user.isprintable():
        remedy = "Give the user alone, or with 'sasl:' before it, and the password separately."
        raise _bad("zookeeper_user", "The user of a login for ZooKeeper cannot hold ':'", remedy)
    if not spec.zookeeper:
        raise _bad("zookeeper_user", "A login for ZooKeeper is given, but not where ZooKeeper is", "Give its address.")
    return _source_of("zookeeper_secret", spec.zookeeper_secret, spec.zookeeper_secret_source, known_source)


def _source_of(name: str, secret: str, given: str, known: str) -> str:
    """Where a secret will be: what was given as ``name``, or the place that was named, or where it is known to be."""
    if secret and given:
        raise _bad(f"{name}_source", "The secret is given, and also where it is", "Give one of the two.")
    if secret:
        if not secret.isprintable():
            raise _bad(
                name,
                "The secret holds characters that no header can",
                "Check that it was copied whole, without line breaks.",
            )
        return STORED
    source = given or known
    if source == STORED and known == STORED:
        return STORED
    if source.startswith(ENV) and _ENV_NAME.match(source.removeprefix(ENV)):
        return source
    if source.startswith(FROM_FILE) and Path(source.removeprefix(FROM_FILE)).is_absolute():
        return source
    where = f"{name}_source" if given else name
    raise _bad(where, "The credentials lack their secret", "Give it, or env:NAME, or file:/absolute/path.")


def _address(name: str, text: str) -> str:
    url = text.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad(name, f"'{text[:200]}' is not an address", "Use http://host:port or https://host:port.") from None
    if parts.username or parts.password or "@" in parts.netloc:
        raise _bad(name, "An address must not hold credentials", "Give user and secret as credentials instead.")
    is_wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or port == 0
    if is_wrong or len(url) > _LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise _bad(
            name,
            f"'{text[:200]}' is not an address of a controller or broker",
            "Use http://host:port or https://host:port.",
        )
    return url


def _check_zookeeper(spec: ClusterSpec) -> None:
    if spec.zookeeper and not _ZOOKEEPER.match(spec.zookeeper.strip()):
        raise _bad(
            "zookeeper",
            f"'{spec.zookeeper[:200]}' is not an address of a ZooKeeper",
            "Use host:port,host:port, or with a path: host:port/path; tls:// before it for TLS.",
        )
    named = spec.zookeeper_cluster.strip().strip("/")
    if named and (not _ZNODES.match(named) or not spec.zookeeper or named in (".", "..")):
        remedy = "Give the cluster's name as it is below ZooKeeper's root, and the address of ZooKeeper."
        raise _bad("zookeeper_cluster", f"'{named[:200]}' cannot be a cluster in ZooKeeper", remedy)


def _check_files(spec: ClusterSpec) -> None:
    for name in ("tls_ca", "tls_cert", "tls_key"):
        path = getattr(spec, name)
        if path and not (Path(path).is_absolute() and Path(path).is_file()):
            raise _bad(
                name,
                f"'{path}' is not a file",
                "Give the whole path of a PEM file that web, worker and mirror can read.",
            )
    if spec.tls_key and not spec.tls_cert:
        raise _bad("tls_cert", "A key without a certificate proves nothing", "Give the file of the certificate too.")
    if spec.tls_ca and spec.tls_insecure:
        raise _bad(
            "tls_insecure",
            "Certificates are either checked against your authorities or not at all",
            "Leave one of the two.",
        )


def _check_deep_store(url: str) -> None:
    if mask_address(url) != url:
        raise _bad(
            "deep_store_url",
            "The address holds credentials",
            "Leave them out, and set DEEP_STORE_ACCESS_KEY and DEEP_STORE_SECRET_KEY where pinotadmin runs.",
        )
    try:
        DeepStore(url)
    except InvalidInput as error:
        raise _bad(
            "deep_store_url",
            error.message.rstrip("."),
            "Use file:///path, s3://bucket/path or another that pyarrow knows.",
        ) from error


def _bad(name: str, message: str, remedy: str) -> InvalidInput:
    return InvalidInput(f"{message}.", remedy=remedy, field=name)

"""Reads the text of a setting as an address: of this host, ZooKeeper, Redis, a deep store, or as names of hosts."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from pinotadmin.configuration.setting_texts import WrongText, between

_HOST: Final = r"(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.%]{2,60}\])"
_HOST_AND_PORT: Final = re.compile(rf"{_HOST}(?::([0-9]{{1,5}}))?")
_HOST_ALONE: Final = re.compile(rf"{_HOST}|[0-9A-Fa-f:.]{{2,45}}")
_HOST_OR_DOMAIN: Final = re.compile(rf"\.?{_HOST}")
_ORIGIN: Final = re.compile(rf"https?://(?:\*\.)?{_HOST_AND_PORT.pattern}")
_CHROOT: Final = re.compile(r"(?:/[^/\s]{1,200}){1,20}/?|/")
_MOST_PORT: Final = 65_535
#: What pyarrow has a file system for; ``none`` besides.
_STORES: Final = ("file", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")


def as_host(text: str) -> str:
    """A name or an address of a host, without a port: ``10.0.0.1``, ``::1`` or ``web.example``."""
    if not _HOST_ALONE.fullmatch(text):
        raise WrongText(f"a name or an address such as 10.0.0.1, without a port, not {text[:60]!r}")
    return text


def as_node_name(text: str) -> str:
    """What can be the name of a znode, and stand in addresses of pages."""
    if not re.fullmatch(r"[^/\s\x00-\x1f]{1,100}", text) or text in (".", ".."):
        raise WrongText(f"a name without spaces and slashes, not {text[:60]!r}")
    return text


def as_zookeeper(text: str) -> str:
    """``host:port,host:port…``, and a chroot behind the last."""
    hosts, slash, chroot = text.partition("/")
    if not _are_hosts(hosts) or (slash and not _CHROOT.fullmatch(slash + chroot)):
        raise WrongText(f"host:port[,host:port…][/chroot], not {text[:60]!r}")
    return text


def as_host_list(text: str) -> str:
    """``host:port,host:port…``, or nothing."""
    if text and not _are_hosts(text):
        raise WrongText(f"host:port[,host:port…], not {text[:60]!r}")
    return text


def as_redis(text: str) -> str:
    """``redis://…`` or ``rediss://…``; no message repeats it, since a password stands in it."""
    try:
        parts = urlsplit(text)
        is_one = parts.scheme in ("redis", "rediss") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none
        is_one = False
    if not is_one or not re.fullmatch(r"/?[0-9]{0,9}", parts.path):
        raise WrongText("an address such as redis://:PASSWORD@HOST:6379/0, or rediss:// with TLS")
    return text


def as_store(text: str) -> str:
    """The address of a deep store, or ``none``."""
    if text.strip().lower() != "none" and text.partition("://")[0] not in _STORES:
        raise WrongText("file:///path, s3://bucket/path or another that pyarrow knows, or none")
    return text


def as_host_names(text: str) -> list[str]:
    """Names with commas between, as requests say whom they want: without scheme and port; ``.example`` and all below,
    ``*``: any.
    """
    names = between(",")(text)
    for name in names:
        if name != "*" and not _HOST_OR_DOMAIN.fullmatch(name):
            raise WrongText(f"names of hosts without scheme and port, with commas between, not {name[:60]!r}")
    return names


def as_origins(text: str) -> list[str]:
    """``https://host[:port]`` with commas between."""
    origins = between(",")(text)
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise WrongText(f"addresses such as https://tools.example, with commas between, not {origin[:60]!r}")
    return origins


def _are_hosts(text: str) -> bool:
    found = [_HOST_AND_PORT.fullmatch(one.strip()) for one in text.split(",")]
    return all(one is not None and int(one[1] or "1") in range(1, _MOST_PORT + 1) for one in found)

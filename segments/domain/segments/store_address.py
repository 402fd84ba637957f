"""How a segment's record names its file: ``store:///segments/TABLE/FILE``, a path below the deep store,
wherever that is now, and of a web process that hands the file out.

Earlier versions recorded full addresses: ``s3://bucket/prefix?endpoint_override=.../TABLE/FILE`` or
``http://HOST:PORT/segments/TABLE/SEGMENT``. They are still understood, also when host, port or spelling changed since.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from segments.domain.access.cluster_signature import address_of

#: Before the path in a record.
RECORDED: Final = "store:///segments/"
#: What may follow a segment's name in its file's name: the CRC of its version, or the name of an upload under way.
_ENDING: Final = re.compile(r"(@\d{1,20}|\.tmp\.[\w-]{1,64})?")
_HTTP: Final = ("http", "https")


@dataclass(frozen=True)
class Earlier:
    """What an address of an earlier version names. ``path`` is below the store; ``origin`` is the store's address then,
    without options, or for one of a web process (``is_http``) its ``host:port``.
    """

    path: str
    origin: str
    is_http: bool

    def is_ours(self, root: str, webs: Collection[str]) -> bool:
        """Is that the store at ``root`` (without options), or one of the web processes (``host:port``)? If not, it may
        still be where the installation was before.
        """
        return self.origin in webs if self.is_http else self.origin == root


def recorded(path: str) -> str:
    """What stands in a record for this path below the deep store, its parts encoded."""
    return RECORDED + path


def path_of(address: str) -> str | None:
    """The path that a record names; None for any other address, and for a path that climbs or is none."""
    path = address.removeprefix(RECORDED)
    return path if address.startswith(RECORDED) and is_path(path) else None


def is_path(path: str) -> bool:
    """May this be a path below a store? No part is empty, climbs, or hides a separator."""
    parts = path.split("/")
    plain = [unquote(part) for part in parts]
    return all(parts) and not any(p in (".", "..") or "\0" in p or "\\" in p or ".." in p.split("/") for p in plain)


def encode(name: str) -> str:
    """A name as one part of a path (URL-encoded; '.' and '..' cannot pass)."""
    encoded = quote(name, safe="")
    return encoded.replace(".", "%2E") if set(encoded) <= {"."} else encoded


def is_file_of(path: str, raw_table: str, segment: str) -> bool:
    """Is this the name of a file of this very segment, of any version?"""
    folder, _, file = path.partition("/")
    rest = _after(file, segment)
    return folder == encode(raw_table) and rest is not None and _ENDING.fullmatch(rest) is not None


def earlier(address: str, raw_table: str, segment: str) -> Earlier | None:
    """What an address of an earlier version names, if it is that of a file of this segment; None for all others."""
    head, _, rest = _before_two(address)
    folder, _, file = rest.partition("/")
    if unquote(folder) not in (raw_table, f"{raw_table}_OFFLINE", f"{raw_table}_REALTIME") or ":/" not in head:
        return None
    path = f"{encode(raw_table)}/{file}"
    if head.partition("://")[0].lower() in _HTTP:
        return _of_web(head, raw_table, segment) if unquote(file) == segment else None
    is_it = unquote(folder) == raw_table and is_path(path) and is_file_of(path, raw_table, segment)
    return Earlier(path, without_options(head), False) if is_it else None


def without_options(address: str) -> str:
    """The address of a store without its options (``?endpoint_override=...``), a login and slashes at its end; a plain
    path and ``file:/path`` as ``file:///path``.
    """
    if address.startswith("/"):
        return f"file://{quote(address.rstrip('/'))}"
    bare = address.partition("?")[0].rstrip("/")
    scheme, found, rest = bare.partition("://")
    if not found:
        return f"file://{bare.removeprefix('file:')}" if bare.startswith("file:/") else bare
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2] if scheme.startswith('s3') else host}{slash}{path}"


def to_record(address: str) -> str:
    """An address outside of our store as it may stand in a record: what a store's address says of options (where it is,
    as whom it is read) is left out. Of HTTP the query is part of the address.
    """
    kept = (*_HTTP, "file")
    return address if address.partition(":")[0].lower() in kept else without_options(address)


def _of_web(head: str, raw_table: str, segment: str) -> Earlier | None:
    try:
        parts = urlsplit(head)
        if parts.path != "/segments" or parts.query or parts.fragment or parts.username is not None:
            return None
        return Earlier(f"{encode(raw_table)}/{encode(segment)}", address_of(head), True)
    except ValueError:
        return None


def _before_two(address: str) -> tuple[str, str, str]:
    """The address before its last two parts, the slash, and those two."""
    first, _, file = address.rpartition("/")
    head, slash, folder = first.rpartition("/")
    return head, slash, f"{folder}/{file}"


def _after(file: str, segment: str) -> str | None:
    """What follows the segment's name in a file's."""
    return next((file.removeprefix(n) for n in (encode(segment), segment) if file.startswith(n)), None)

"""Addresses of files in object stores and HDFS, such as ``s3://bucket/prefix``, and which of them lie below which."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from segments.errors import InvalidInput

S3: Final = "s3"
GCS: Final = "gs"
AZURE: Final = "abfss"
HDFS: Final = "hdfs"
#: Spellings that mean the same store.
_SAME: Final = {"s3a": S3, "s3n": S3, "gcs": GCS, "abfs": AZURE, "adl2": AZURE}
_AUTHORITIES: Final = {
    S3: re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]"),
    GCS: re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]"),
    AZURE: re.compile(r"[a-z0-9$][a-z0-9-]{1,61}[a-z0-9]@[a-z0-9]{3,24}\.dfs\.core\.windows\.net"),
    HDFS: re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,253}(:[0-9]{1,5})?"),
}
_EXAMPLES: Final = {
    S3: "s3://bucket/folder",
    GCS: "gs://bucket/folder",
    AZURE: "abfss://container@account.dfs.core.windows.net/folder",
    HDFS: "hdfs://host:8020/folder",
}
#: What different programs decode differently, so that a path would climb or split for one of them only.
_HIDDEN: Final = re.compile(r"%(2f|5c|2e|00|25)", re.IGNORECASE)
_LONGEST: Final = 2_000
#: Where a list of folders and addresses, separated by colons, is cut.
_BETWEEN: Final = re.compile(r":(?!//|[0-9]+(?:[/:]|$))")


@dataclass(frozen=True)
class StoreUri:
    """``scheme`` in its one spelling, ``authority`` (bucket, container@account, host:port), and ``key``: the path
    within it, without a slash at either end.
    """

    scheme: str
    authority: str
    key: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}/{self.key}" if self.key else f"{self.scheme}://{self.authority}"

    def below(self, key: str) -> StoreUri:
        """Another path in the same bucket."""
        return StoreUri(self.scheme, self.authority, key)

    def is_below(self, root: StoreUri) -> bool:
        """Is it the root, or in it?"""
        if (self.scheme, self.authority) != (root.scheme, root.authority):
            return False
        return not root.key or self.key == root.key or self.key.startswith(f"{root.key}/")


def is_remote(text: str) -> bool:
    """Does it name a place by a scheme other than ``file``?"""
    scheme, found, _ = text.partition("://")
    return bool(found) and not text.startswith("/") and scheme.lower() != "file"


def parse_file_uri(text: str) -> StoreUri:
    """An address as listings give it: nothing in its path is encoded. Raises InvalidInput."""
    scheme, _, rest = text.partition("://")
    authority, _, key = rest.partition("/")
    kind = _SAME.get(scheme.lower(), scheme.lower())
    form = _AUTHORITIES.get(kind)
    if form is None:
        raise _bad(text, f"there is no file system for '{scheme[:20]}'", " or ".join(_EXAMPLES.values()))
    if kind == AZURE and "@" in authority:
        container, _, account = authority.partition("@")
        authority = f"{container}@{account.partition('.')[0]}.dfs.core.windows.net" if _is_azure(account) else ""
    if not form.fullmatch(authority):
        raise _bad(text, "its host, bucket or container is not a valid name", _EXAMPLES[kind])
    return StoreUri(kind, authority, key)


def parse_folder_uri(text: str) -> StoreUri:
    """An address that a person wrote: spaces and other signs may be encoded, slashes and dots may not.

    Raises InvalidInput for options, logins, and what different programs read differently.
    """
    if len(text) > _LONGEST or not text.isprintable() or any(sign in text for sign in "\\?#"):
        raise _bad(text, "it has options or signs that do not belong there", "scheme, bucket and path only")
    if _HIDDEN.search(text):
        raise _bad(text, "its path has encoded slashes, dots or percent signs", "the path as it is")
    found = parse_file_uri(unquote(text).rstrip("/") if text.count("/") > 2 else unquote(text))
    if any(part in ("", ".", "..") for part in found.key.split("/")) and found.key:
        raise _bad(text, "its path climbs or has empty parts", "the path as it is")
    return found


def split_roots(text: str) -> list[str]:
    """The folders and addresses of a list separated by colons, as ``PATH`` has them:
    ``/a:s3://bucket/b:hdfs://h:1/c``.
    """
    return [part for part in _BETWEEN.split(text) if part]


def stores_of(roots: Sequence[str]) -> list[StoreUri]:
    """The addresses among roots. Raises InvalidInput for one that is none."""
    return [parse_folder_uri(root) for root in roots if is_remote(root)]


def _is_azure(account: str) -> bool:
    return account.partition(".")[2] in ("", "dfs.core.windows.net", "blob.core.windows.net")


def _bad(text: str, why: str, instead: str) -> InvalidInput:
    return InvalidInput(
        f"'{text[:200]}' is not an address of a folder: {why}.", remedy=f"Write {instead}.", field="inputDirURI"
    )

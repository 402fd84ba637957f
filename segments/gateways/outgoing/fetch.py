"""Fetch a file that a client named: only from allowed schemes, hosts and roots, bounded in size and time.

What is checked is what is read: see ``segments.gateways.outgoing.gate``; a local file must lie below its root after all
links are followed, also once it is open.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from segments.domain.access.outgoing import HTTP, Kind, Rules, split_url, store_address
from segments.errors import InvalidInput, PayloadTooLarge, Unavailable
from segments.gateways.outgoing.gated_http import check_url, gated_get

log = logging.getLogger(__name__)

_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class FetchRules:
    """``roots``: below these (``https://files.example/segments``, ``s3://bucket/prefix``, ``file:///data/drop``) files
    may be read.

    Without any root nothing is read but, where ``loopback`` says so, from this machine's own addresses; see
    ``segments.domain.access.outgoing.Rules``. At most ``max_bytes`` and ``timeout_s`` seconds, redirects included.
    """

    roots: Sequence[str] = ()
    loopback: bool = False
    max_bytes: int = 20 * 1024**3
    timeout_s: float = 600.0

    @property
    def addresses(self) -> Rules:
        """The rules of the gate."""
        return Rules(Kind.FILES, self.roots, loopback=self.loopback)


def fetch(uri: str, target: Path, rules: FetchRules) -> int:
    """Copy what ``uri`` names to ``target``; returns its bytes.

    Raises InvalidInput for what is not allowed, a file that is not there, or too many bytes; Unavailable when the host
    does not answer.
    """
    deadline = time.monotonic() + rules.timeout_s
    if split_url(uri, Kind.FILES).scheme not in HTTP:
        return _fetch_below_root(uri, target, rules, deadline)
    with gated_get(uri, rules.addresses, timeout_s=rules.timeout_s) as answer:
        if answer.status >= 500:
            raise Unavailable(f"'{uri}' answers {answer.status} instead of the file.", remedy="Try again later.")
        if answer.status != 200:
            raise InvalidInput(f"'{uri}' answers {answer.status} instead of the file.", remedy="Check the address.")
        _save(answer.pieces(), uri, target, rules, deadline)
    return target.stat().st_size


def check_address(uri: str, rules: FetchRules) -> None:
    """May a file be read from here? Raises InvalidInput."""
    if split_url(uri, Kind.FILES).scheme in HTTP:
        check_url(uri, rules.addresses)
    else:
        store_address(uri, rules.addresses)


def _fetch_below_root(uri: str, target: Path, rules: FetchRules, deadline: float) -> int:
    address, root = store_address(uri, rules.addresses)
    if urlsplit(uri).scheme == "file":
        with _open_local(uri, root) as reader:
            _save(iter(lambda: reader.read(_CHUNK), b""), uri, target, rules, deadline)
        return target.stat().st_size
    try:
        system, path = pafs.FileSystem.from_uri(address)
        with system.open_input_stream(path, compression=None) as reader:
            _save(iter(lambda: reader.read(_CHUNK), b""), uri, target, rules, deadline)
    except FileNotFoundError as error:
        raise InvalidInput(f"'{uri}' does not exist.", remedy="Check the address.") from error
    except (ValueError, pa.ArrowException) as error:
        log.warning("%s cannot be opened: %s", uri, error)
        raise InvalidInput(
            f"'{uri}' cannot be opened.", remedy="Check the address. The cause stands in the log."
        ) from error
    except OSError as error:
        log.warning("%s could not be read: %s", uri, error)
        raise Unavailable(
            f"'{uri}' could not be read.", remedy="Check the store and its credentials. The cause stands in the log."
        ) from error
    return target.stat().st_size


def _open_local(uri: str, root: str) -> BinaryIO:
    """The file, if it is a plain one below the root after all links are followed, before and after it is opened."""
    top = Path(os.path.realpath(unquote(urlsplit(root).path)))
    place = Path(os.path.realpath(unquote(urlsplit(uri).path)))
    refusal = InvalidInput(
        f"'{uri}' is not a plain file below an allowed root.", remedy="Copy the file itself below the root."
    )
    if top not in place.parents:
        raise refusal
    try:
        opened = os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    except OSError as error:
        raise refusal from error
    seen, now = os.fstat(opened.fileno()), Path(os.path.realpath(place))
    is_same = now == place and place.is_file() and os.path.samestat(seen, place.stat())
    if not is_same:
        opened.close()
        raise refusal
    return opened


def _save(chunks: Iterator[bytes], uri: str, target: Path, rules: FetchRules, deadline: float) -> None:
    size = 0
    with target.open("wb") as out:
        for chunk in chunks:
            size += len(chunk)
            if size > rules.max_bytes:
                raise PayloadTooLarge(
                    f"'{uri}' is larger than {rules.max_bytes} bytes.",
                    remedy="Split it, or raise PINOTADMIN_MAX_UPLOAD_BYTES.",
                )
            if time.monotonic() > deadline:
                raise Unavailable(f"'{uri}' took too long.", remedy="Try again, or upload the file.")
            out.write(chunk)

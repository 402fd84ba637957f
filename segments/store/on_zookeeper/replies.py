"""Reading kazoo's replies: which errors mean lost, refused or fine, and a znode's bytes as a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kazoo.exceptions import (
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    OperationTimeoutError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import ZnodeStat

from segments.domain.formats.znrecord import ZNRecord, decode, encode
from segments.errors import Conflict, InvalidInput, PinotAdminError, Unavailable
from segments.store.base import Versioned

#: The connection went while a request was out, or before it was sent: which of the two is unknown.
LOST = (ConnectionLoss, ConnectionClosedError, SessionExpiredError, OperationTimeoutError, KazooTimeoutError)
#: Seconds for a reply that neither comes nor is given up by kazoo, which notices a dead connection long before.
_REPLY_S = 60.0


def settle(results: Sequence[Any], *fine: type[Exception]) -> list[Any]:
    """Await all replies; None where the error is one of ``fine``, else the first error is raised after
    all have come.
    """
    settled, errors = [], []
    for result in results:
        try:
            settled.append(result.get(timeout=_REPLY_S))
        except fine:
            settled.append(None)
        except (KazooException, KazooTimeoutError) as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return settled


def refusal(path: str, error: Exception) -> PinotAdminError:
    """Our error for a write that ZooKeeper refused."""
    match error:
        case NodeExistsError():
            return Conflict(f"{path} exists already.", path=path)
        case BadVersionError():
            return Conflict(f"{path} was changed meanwhile.", path=path)
        case NoNodeError():
            return Conflict(f"{path} does not exist.", path=path)
        case NotEmptyError():
            return Conflict(f"{path} has children.", path=path)
        case NoChildrenForEphemeralsError():
            return InvalidInput(f"The parent of {path} is ephemeral and cannot have children.")
        case NoAuthError():
            text = f"ZooKeeper does not let us write {path}: it belongs to another login."
            return Unavailable(text, remedy="Give the login that made it: ZOOKEEPER_AUTH=digest:USER:PASSWORD.")
    return Unavailable(f"ZooKeeper refused to write {path}: {type(error).__name__}.", remedy="See ZooKeeper's log.")


def known(path: str, version: int) -> int:
    """The version; InvalidInput for -1, which ZooKeeper would take for "any"."""
    if version < 0:
        raise InvalidInput(f"Version {version} of {path} names no read.", remedy="Give the version that was read.")
    return version


def to_bytes(record: ZNRecord | None) -> bytes:
    """What to write for a record; nothing for None."""
    return b"" if record is None else encode(record)


def versioned(data: bytes | None, stat: ZnodeStat) -> Versioned:
    """The value that callers get for a read znode."""
    return Versioned(decode(data), stat.version, stat.mtime, stat.mzxid, stat.ephemeralOwner)

"""Salted fingerprints of the secrets that all processes of a cluster share, so that one with another secret says so
when it starts instead of failing at everything it does later.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import StateConflict
from segments.store import paths
from segments.store.base import Store, Versioned
from segments.store.update import update_record

_SALT: Final = "salt"


def agree_on_secrets(store: Store, given: Mapping[str, str]) -> None:
    """Compare ``given`` ({setting: secret}; empty ones are left out) with what is on record, and put there what is not.

    StateConflict names the first setting that is another one than the cluster's.
    """
    shared = {name: secret for name, secret in given.items() if secret}
    if not shared:
        return

    def decide(found: Versioned | None) -> ZNRecord:
        record = (found.record if found else None) or ZNRecord("SHARED_SECRETS", {_SALT: secrets.token_hex(16)})
        differing = [name for name in sorted(shared) if not _fits(record, name, shared[name])]
        if differing:
            raise StateConflict(
                f"{differing[0]} of this process is not that of the cluster, so it does not join.",
                remedy="Give every process of the cluster the same secrets. To change them, stop all processes, run "
                "'pinotadmin forget_secrets', and start them with the new ones.",
            )
        return record.with_simple_items({name: _fingerprint(record, name, secret) for name, secret in shared.items()})

    update_record(store, paths.SHARED_SECRETS, decide)


def secrets_on_record(store: Store) -> list[str]:
    """The settings whose fingerprints processes of this cluster put on record."""
    found = store.get(paths.SHARED_SECRETS)
    return sorted(found.record.simple.keys() - {_SALT}) if found and found.record else []


def forget_secrets(store: Store) -> bool:
    """The next process to start sets them. False: none were on record."""
    return store.delete(paths.SHARED_SECRETS)


def _fits(record: ZNRecord, name: str, secret: str) -> bool:
    known = record.simple.get(name)
    return known is None or hmac.compare_digest(known, _fingerprint(record, name, secret))


def _fingerprint(record: ZNRecord, name: str, secret: str) -> str:
    """Of 256 random bits, which nobody finds by trying: one hash is enough."""
    key = record.simple[_SALT].encode()
    return hmac.new(key, f"{name}={secret}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

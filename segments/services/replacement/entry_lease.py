"""Signs of life of the client of an unfinished replacement: heartbeats, uploads, and an end that waits (rule
`entry-lease`, decided in domain.lease).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from segments.domain.replacement import lease
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lease import LeaseTerms
from segments.domain.replacement.lineage import HEARTBEAT, UPLOAD, Entry, State
from segments.domain.tables.table_config import TableConfig
from segments.errors import PinotAdminError, StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import change_notes, read_lineage
from segments.services.tables.table_record import read_table_config
from segments.store.base import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LeaseState:
    """How long a replacement stays open without another sign of life (epoch ms), and how often to send one (s)."""

    entry_id: str
    table: str
    state: str
    is_leased: bool
    last_sign_ms: int
    given_up_at_ms: int
    heartbeat_every_s: float

    def to_json(self) -> dict[str, Any]:
        """The answer to a heartbeat."""
        return {
            "segmentLineageEntryId": self.entry_id,
            "table": self.table,
            "state": self.state,
            "leased": self.is_leased,
            "lastSignMs": self.last_sign_ms,
            "givenUpAtMs": self.given_up_at_ms,
            "heartbeatEverySeconds": self.heartbeat_every_s,
        }


def lease_terms(ctx: Context, config: TableConfig) -> LeaseTerms:
    """The cluster's lease and the table's period."""
    lease_ms = int(ctx.limits.entry_lease_s * 1000)
    return LeaseTerms(lease_ms, lease_ms // 2, config.entry_retention_ms)


def lease_state(entry: Entry, terms: LeaseTerms, table: TableName) -> LeaseState:
    """The lease of an entry as it stands."""
    return LeaseState(
        entry.id, table.typed, entry.state.value, lease.is_leased(entry), lease.last_sign_ms(entry),
        lease.given_up_at_ms(entry, terms), round(terms.lease_ms / 4000, 1),
    )  # fmt: skip


def heartbeat(ctx: Context, table: TableName, entry_id: str, actor: Actor) -> LeaseState:
    """The client of an unfinished replacement lives. From the first one on it must go on sending them.

    NotFound when there is no such entry; StateConflict when it is no longer IN_PROGRESS: its client must stop.
    """
    terms = lease_terms(ctx, read_table_config(ctx, table))
    before, after = _renew(ctx, table, entry_id, HEARTBEAT, terms)
    if not lease.is_leased(before):
        audit.record(actor, "leaseEntry", cluster=ctx.cluster, target=table.typed, entry=entry_id)
    return lease_state(after, terms, table)


def renew_for_upload(ctx: Context, config: TableConfig, segments: Collection[str]) -> None:
    """An upload of these segments is a sign of life of the open entries that list them. Never fails the upload.

    At most one write per entry and ``LeaseTerms.renew_every_ms``, and inside that time not even a read.
    """
    table, terms = config.table, lease_terms(ctx, config)
    wanted = set(segments)
    if _recent.covers(ctx.store, table, wanted, ctx.clock(), terms.renew_every_ms):
        return
    try:
        lineage = read_lineage(ctx, table) or lineages.empty(table.typed)
        for entry in lineage.entries.values():
            if entry.state is not State.IN_PROGRESS or wanted.isdisjoint(entry.segments_to):
                continue
            _recent.add(ctx.store, table, frozenset(entry.segments_to), ctx.clock(), terms.renew_every_ms)
            if lease.renewal(entry, UPLOAD, terms, ctx.clock()) is not None:
                _renew(ctx, table, entry.id, UPLOAD, terms)
    except PinotAdminError as error:
        log.warning("The upload into a replacement of %s could not be noted: %s", table, error)


def renew_if_leased(ctx: Context, table: TableName, entry_id: str) -> None:
    """A sign of life for a client that cannot send one now; nothing for one that never sent any, or whose entry is
    over.
    """
    lineage = read_lineage(ctx, table)
    entry = lineage.entries.get(entry_id) if lineage else None
    if entry is None or entry.state is not State.IN_PROGRESS or not lease.is_leased(entry):
        return
    with suppress(StateConflict):  # it was ended or reverted meanwhile
        # Only the terms' lease counts here; the period is for entries without one.
        _renew(ctx, table, entry_id, HEARTBEAT, LeaseTerms(int(ctx.limits.entry_lease_s * 1000), 0, 0))


def _renew(ctx: Context, table: TableName, entry_id: str, note: str, terms: LeaseTerms) -> tuple[Entry, Entry]:
    """(the entry before, and after one sign of life)."""

    def change(entry: Entry) -> Mapping[str, str | None] | None:
        if entry.state is not State.IN_PROGRESS:
            raise StateConflict(
                f"Lineage entry '{entry_id}' of table '{table}' is {entry.state} and needs no sign of life.",
                remedy="Stop the client; when its data is wanted, start a new replacement.",
                entry=entry_id,
                state=entry.state.value,
            )
        return lease.renewal(entry, note, terms, ctx.clock())

    return change_notes(ctx, table, entry_id, change)


class _Recent:
    """Which names were just renewed by this process: saves the read, never a renewal that is due."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: WeakKeyDictionary[Store, list[tuple[int, str, frozenset[str]]]] = WeakKeyDictionary()

    def covers(self, store: Store, table: TableName, wanted: Collection[str], now_ms: int, every_ms: int) -> bool:
        """Was an entry that lists all of these renewed within ``every_ms``?"""
        with self._lock:
            return any(
                t == table.typed and 0 <= now_ms - at < every_ms and names.issuperset(wanted)
                for at, t, names in self._of(store)
            )

    def add(self, store: Store, table: TableName, names: frozenset[str], now_ms: int, every_ms: int) -> None:
        """An entry with these names is being renewed now; what is too old is forgotten."""
        with self._lock:
            fresh = [
                item
                for item in self._of(store)
                if 0 <= now_ms - item[0] < every_ms and (item[1], item[2]) != (table.typed, names)
            ]
            self._seen[store] = [*fresh, (now_ms, table.typed, names)]

    def _of(self, store: Store) -> list[tuple[int, str, frozenset[str]]]:
        return self._seen.get(store, [])


_recent = _Recent()

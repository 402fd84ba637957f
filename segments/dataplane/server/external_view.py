"""Writes a table's external view: a pure function of what all live servers report, computed by whoever changed
something.

Invariant: the view is written on the version read BEFORE the states were read. A server that changes its states
afterwards computes the view again itself, so the last write has seen every state; a lost race is decided again.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments import ideal_state
from segments.errors import Conflict
from segments.store import paths
from segments.store.base import Store, Versioned
from segments.store.records.instances import live_instances

_ATTEMPTS: Final = 200
_PAUSE_S: Final = 0.01


def publish_view(store: Store, table: str) -> bool:
    """Bring EXTERNALVIEW/<table> up to date; True when it had to be written.

    It is deleted when the table has neither ideal state nor states, and not made before there is a state (rule
    `pinot-layout`). Conflict when it changed under every attempt.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return _try(store, table)
        except Conflict:
            time.sleep(random.random() * _PAUSE_S if attempt else 0.0)
    raise Conflict(
        f"The external view of {table} changed under each of {_ATTEMPTS} attempts.", remedy="Try again later."
    )


def _try(store: Store, table: str) -> bool:
    path = paths.external_view(table)
    before = store.get(path)
    ideal, states = _read_states(store, table)
    if ideal is None and not states:
        return before is not None and store.delete(path, before.version)
    if before is None and not states:
        return False
    wanted = ideal_state.external_view(ideal or _without_ideal(table, before), states)
    if before is None:
        store.create(path, wanted)
    elif before.record == wanted:
        return False
    else:
        store.replace(path, wanted, before.version)
    return True


def _read_states(store: Store, table: str) -> tuple[ZNRecord | None, dict[str, dict[str, str]]]:
    """(ideal state, {segment: {live instance: state}}); of each server only the session that lives now counts."""
    live = [i for i in live_instances(store).values() if i.instance.startswith("Server_")]
    nodes = store.get_many(
        [paths.ideal_state(table), *(paths.current_state(i.instance, i.session, table) for i in live)]
    )
    states: dict[str, dict[str, str]] = {}
    for instance, node in zip(live, nodes[1:], strict=True):
        for segment, fields in (node.record.maps if node and node.record else {}).items():
            states.setdefault(segment, {})[instance.instance] = fields.get("CURRENT_STATE", ideal_state.OFFLINE)
    return (nodes[0].record if nodes[0] else None), states


def _without_ideal(table: str, before: Versioned | None) -> ZNRecord:
    """A dropped table whose segments are not all gone yet keeps the simple fields it had."""
    record = before.record if before and before.record else ZNRecord(table)
    return replace(record, id=table, maps={})

"""Which tables a name in a query means: a typed name one, a raw name the OFFLINE and the REALTIME side with their time
boundary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from segments.dataplane.broker.routing import Routing
from segments.domain.tables.time_boundary import TimeBoundary, TimeFilter, time_boundary
from segments.errors import PinotAdminError
from segments.names import OFFLINE, REALTIME, check_raw_table_name, split_table_name, typed_names
from segments.store import paths
from segments.store.base import Store


@dataclass(frozen=True)
class Side:
    """One table's part in a query."""

    routing: Routing
    time_filter: TimeFilter | None = None


def sides_of(name: str, routings: Mapping[str, Routing], *, is_by_name: bool = False) -> list[Side]:
    """The sides of a raw or typed table name; [] when there is no such table.

    ``is_by_name``: the query names its segments, so there is one side (OFFLINE before REALTIME) and no boundary.
    """
    raw, kind = split_table_name(name)
    if kind is not None:
        return [Side(routings[name])] if name in routings else []
    offline, realtime = routings.get(f"{raw}_{OFFLINE}"), routings.get(f"{raw}_{REALTIME}")
    found = [Side(r) for r in (offline, realtime) if r is not None]
    if offline is None or realtime is None or is_by_name:
        return found[:1]
    boundary = boundary_of(offline)
    if boundary is None:
        return [Side(realtime)]
    return [Side(offline, boundary.offline), Side(realtime, boundary.realtime)]


def boundary_of(offline: Routing) -> TimeBoundary | None:
    """The time boundary of a hybrid table, from the very routing that its query is answered from."""
    if offline.config is None or offline.schema is None or offline.end_time_ms is None:
        return None
    return time_boundary(offline.config, offline.schema, [offline.end_time_ms])


def is_created(store: Store, name: str) -> bool:
    """Whether ZooKeeper has a table of this raw or typed name. One that was created this moment may not be in the
    routings yet.
    """
    try:
        check_raw_table_name(split_table_name(name)[0])
        return any(store.exists(paths.ideal_state(table)) is not None for table in typed_names(name))
    except PinotAdminError:
        # No name of a table, or ZooKeeper does not answer: the routings are all that is known.
        return False

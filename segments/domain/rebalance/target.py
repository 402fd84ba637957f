"""Where every segment of a table should be: what a rebalance moves is the difference to the ideal state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.realtime.pause import stream_partition
from segments.domain.realtime.realtime_assignment import servers_of_partition
from segments.domain.rebalance.balance import balanced, replica_groups
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE, ONLINE
from segments.errors import StateConflict

Row = Mapping[str, str]


@dataclass(frozen=True)
class Placement:
    """What decides where segments of a table belong, as of the rebalance's start.

    ``servers`` hold segments that no partition ties to its servers, in ``replicas`` groups when ``is_grouped``.
    ``consuming``: the servers of partitions in the table's order; ``by_partition``: committed segments stay with those
    that consume their partition. ``topics``: how many streams the table has. ``whole_partitions``: rows decide about
    one another, so all segments of a partition move at once, also the one that consumes.
    """

    table: str
    replicas: int
    servers: tuple[str, ...]
    consuming: tuple[str, ...] = ()
    by_partition: bool = False
    is_grouped: bool = False
    topics: int = 1
    whole_partitions: bool = False

    def to_json(self) -> dict[str, Any]:
        """As a document."""
        return asdict(self)


def placement_of(body: Mapping[str, Any]) -> Placement:
    """The placement in a document. Raises KeyError, TypeError."""
    lists = {name: tuple(body[name]) for name in ("servers", "consuming")}
    return Placement(**{**body, **lists})


def targets(placement: Placement, rows: Mapping[str, Row], *, include_consuming: bool) -> dict[str, tuple[str, ...]]:
    """{segment: the servers that should hold it}, of every segment that may be moved.

    Not among them: what consumes (unless ``include_consuming``), and what is switched off or has no server at all.
    StateConflict when partitions need more servers than there are, or one that moves whole is switched off in part.
    """
    tied: dict[str, tuple[str, ...]] = {}
    free: dict[str, Row] = {}
    for segment, row in rows.items():
        if placement.whole_partitions and row and is_llc_name(segment):
            tied[segment] = _of_whole(placement, segment, row)
            continue
        if not row or OFFLINE in row.values():
            continue
        is_consuming = CONSUMING in row.values()
        if is_consuming and not include_consuming:
            continue
        if is_llc_name(segment) and (is_consuming or placement.by_partition):
            tied[segment] = _of_partition(placement, segment)
        else:
            free[segment] = row
    groups = (
        replica_groups(placement.servers, placement.replicas) if placement.is_grouped else [list(placement.servers)]
    )
    copies = 1 if placement.is_grouped else placement.replicas
    return {**tied, **balanced({s: list(row) for s, row in free.items()}, groups, copies)}


def moves(targets: Mapping[str, tuple[str, ...]], rows: Mapping[str, Row]) -> dict[str, tuple[str, ...]]:
    """Those of the targets that differ from the ideal state, by name."""
    return {s: targets[s] for s in sorted(targets) if s in rows and set(targets[s]) != set(rows[s])}


def row_on(row: Row, servers: Iterable[str]) -> dict[str, str]:
    """The row with exactly these servers: those that are there keep their state, new ones get that of the others."""
    state = next((s for s in (CONSUMING, ONLINE) if s in row.values()), OFFLINE if row else ONLINE)
    return {server: row.get(server, state) for server in sorted(servers)}


def _of_whole(placement: Placement, segment: str, row: Row) -> tuple[str, ...]:
    """Also of a segment that is switched off everywhere: where the newest segment of a partition is, the next comes."""
    target, states = _of_partition(placement, segment), set(row.values())
    if OFFLINE in states and len(states) > 1 and set(target) != set(row):
        raise StateConflict(
            f"Segment '{segment}' is switched off on some of its servers, so its partition cannot move whole.",
            remedy="Repair the table's consumption, then rebalance.",
        )
    return target


def _of_partition(placement: Placement, segment: str) -> tuple[str, ...]:
    own = stream_partition(parse_llc_name(segment).partition, placement.topics)
    return tuple(sorted(servers_of_partition(placement.table, own, placement.replicas, placement.consuming)))

"""Upsert and dedup tables: all segments of a partition are read from one server: its masks fit only one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from segments.dataplane.broker.routing import Routing, ServerRef
from segments.domain.realtime.llc_name import partition_stem
from segments.domain.tables.keyed_tables import is_keyed

Replicas = Mapping[str, tuple[ServerRef, ...]]


def is_strict(routing: Routing) -> bool:
    """Have this table's partitions to be read whole?"""
    return routing.config is not None and is_keyed(routing.config)


def narrowed(routing: Routing, replicas: Replicas) -> Replicas:
    """For every segment the servers that serve its whole partition; none where no server does."""
    groups: dict[str, list[str]] = defaultdict(list)
    for segment in replicas:
        groups[partition_stem(segment)].append(segment)
    found: dict[str, tuple[ServerRef, ...]] = {}
    for segments in groups.values():
        whole = _common([replicas[s] for s in segments])
        # Of those, the ones that cannot show rows of the next segment in this one.
        sure = _common([tuple(routing.sure(s, whole)) for s in segments]) or whole
        found.update(dict.fromkeys(segments, sure))
    return {segment: found[segment] for segment in replicas}


def _common(choices: Sequence[tuple[ServerRef, ...]]) -> tuple[ServerRef, ...]:
    return tuple(s for s in choices[0] if all(s in choice for choice in choices[1:]))

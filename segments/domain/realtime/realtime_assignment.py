"""Which servers consume a partition: Pinot's fixed rule over the servers of the table's tenant."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence

from segments.domain.formats.plural import counted
from segments.domain.realtime.llc_name import LLCName, is_llc_name, parse_llc_name
from segments.domain.segments.ideal_state import CONSUMING
from segments.errors import StateConflict


def in_order(table: str, instances: Collection[str]) -> list[str]:
    """The tenant's servers in this table's order: by name, rotated by the table's name so that tables do not all begin
    with the same.
    """
    names = sorted(instances)
    shift = zlib.crc32(table.encode()) % len(names) if names else 0
    return names[shift:] + names[:shift]


def servers_of_partition(table: str, partition: int, replicas: int, instances: Sequence[str]) -> list[str]:
    """instances[(partition * replicas + r) % n] for each replica r. ``partition`` is the stream's own number.

    Raises StateConflict when there are fewer servers than replicas.
    """
    check_enough_servers(table, replicas, instances)
    return [instances[(partition * replicas + r) % len(instances)] for r in range(replicas)]


def check_enough_servers(table: str, replicas: int, instances: Sequence[str]) -> None:
    """StateConflict when there are fewer servers than replicas: no partition could consume."""
    if len(instances) < replicas:
        servers = counted(len(instances), "server")
        raise StateConflict(
            f"Table '{table}' wants {counted(replicas, 'replica')}, but its tenant has {servers}.",
            remedy="Start more servers with the tenant's REALTIME tag, or lower segmentsConfig.replication.",
            field="segmentsConfig.replication",
        )


def consuming_row_of(table: str, partition: int, replicas: int, instances: Sequence[str]) -> dict[str, str]:
    """{instance: CONSUMING} of a new segment of the partition."""
    return dict.fromkeys(sorted(servers_of_partition(table, partition, replicas, instances)), CONSUMING)


def kept_rows(segments: Mapping[str, Mapping[str, str]]) -> dict[int, dict[str, str]]:
    """{partition: {instance: CONSUMING}} of the servers of each partition's newest segment: those of a table in which
    a primary key has one row stay together.
    """
    newest: dict[int, LLCName] = {}
    for name in (parse_llc_name(s) for s in segments if is_llc_name(s)):
        if name.partition not in newest or newest[name.partition] < name:
            newest[name.partition] = name
    return {partition: dict.fromkeys(sorted(segments[name.text]), CONSUMING) for partition, name in newest.items()}


def most_partitions_per_server(partitions: int, replicas: int, servers: int) -> int:
    """ceil(P * R / n): by this ``realtime.segment.flush.threshold.rows`` is divided."""
    return max(1, -(-partitions * replicas // max(servers, 1)))

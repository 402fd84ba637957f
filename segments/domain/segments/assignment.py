"""Which servers hold a new segment: balanced over servers by their number of segments of the table."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from segments.domain.segments.ideal_state import ONLINE
from segments.errors import StateConflict


def choose_servers(
    table: str, replication: int, *, ready: Collection[str], known: Collection[str], tag: str
) -> list[str]:
    """Servers to assign over: the live and enabled ones, or all known ones while fewer than ``replication`` are alive.

    Both are servers with ``tag``. A known server that is down takes its share when it comes back. StateConflict when
    there is none.
    """
    if len(ready) >= replication:
        return sorted(ready)
    if not ready and not known:
        raise StateConflict(
            f"Table '{table}' has no server to hold segments: no enabled server carries the tag '{tag}'.",
            remedy="Start a server with it, enable one, or change the table's tenants, then upload again.",
        )
    return sorted(set(ready) | set(known))


def segments_per_server(rows: Iterable[Mapping[str, str]]) -> Counter[str]:
    """{instance: number of segments} over the rows of an ideal state."""
    return Counter(instance for row in rows for instance in row)


def assign(
    segments: Sequence[str], servers: Sequence[str], load: Mapping[str, int], replication: int
) -> dict[str, dict[str, str]]:
    """{segment: {instance: ONLINE}}: each segment on its ``replication`` (or all, if fewer) least loaded servers, ties
    by name.

    Invariant: afterwards the loads of two servers that began equal differ by at most one.
    """
    copies = min(replication, len(servers))
    heap = [(load.get(server, 0), server) for server in servers]
    heapq.heapify(heap)
    rows = {}
    for segment in segments:
        picked = [heapq.heappop(heap) for _ in range(copies)]
        for count, server in picked:
            heapq.heappush(heap, (count + 1, server))
        rows[segment] = {server: ONLINE for _, server in sorted(picked, key=lambda p: p[1])}
    return rows

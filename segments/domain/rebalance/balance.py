"""Balanced placement with as few moves as possible: which servers should hold each segment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence


def balanced(
    rows: Mapping[str, Collection[str]], groups: Sequence[Sequence[str]], copies: int
) -> dict[str, tuple[str, ...]]:
    """{segment: its servers}: ``copies`` of each segment in every group of servers (all of them where a group has
    fewer). ``rows`` are the servers that hold each segment now.

    Invariant: within a group the numbers of segments of two servers differ by at most one, and a replica stays where
    it is unless its server holds more than its share. The same input gives the same result, and a result that was
    carried out in part asks for the rest only.
    """
    placed = [_Group(rows, group, copies).place() for group in groups if group]
    return {segment: tuple(sorted(s for found in placed for s in found[segment])) for segment in rows}


def replica_groups(servers: Collection[str], replicas: int) -> list[list[str]]:
    """The servers in as many groups as a segment has replicas, in turn by name: each group holds every segment."""
    names = sorted(servers)
    return [names[number::replicas] for number in range(replicas)]


class _Group:
    """The placement in one group of servers."""

    def __init__(self, rows: Mapping[str, Collection[str]], servers: Sequence[str], copies: int) -> None:
        self._servers = sorted(servers)
        self._copies = min(copies, len(self._servers))
        self._now = {s: [i for i in sorted(row) if i in set(self._servers)] for s, row in sorted(rows.items())}
        self._load = Counter(i for row in self._now.values() for i in row)
        self._left = self._shares()
        self._wanted: dict[str, set[str]] = {s: set() for s in self._now}
        self._held: dict[str, dict[str, None]] = {i: {} for i in self._servers}

    def place(self) -> dict[str, set[str]]:
        """{segment: servers of this group}."""
        for segment in self._now:
            self._keep(segment)
        for segment, servers in self._wanted.items():
            for _ in range(self._copies - len(servers)):
                self._add(segment)
        return self._wanted

    def _shares(self) -> dict[str, int]:
        """How many each server should hold; those that hold most get what does not divide."""
        share, rest = divmod(len(self._now) * self._copies, len(self._servers))
        fullest = sorted(self._servers, key=lambda i: (-self._load[i], i))[:rest]
        return {i: share + (i in fullest) for i in self._servers}

    def _keep(self, segment: str) -> None:
        """Replicas stay where their server has room; of too many those on the least loaded servers."""
        fits = [i for i in self._now[segment] if self._left[i] > 0]
        for server in sorted(fits, key=lambda i: (self._load[i], i))[: self._copies]:
            self._give(segment, server)

    def _add(self, segment: str) -> None:
        free = [i for i in self._servers if self._left[i] > 0 and i not in self._wanted[segment]]
        if free:
            self._give(segment, min(free, key=lambda i: (i not in self._now[segment], -self._left[i], i)))
        elif not self._swap(segment):
            rest = [i for i in self._servers if i not in self._wanted[segment]]
            self._give(segment, min(rest, key=lambda i: (len(self._held[i]), i)))

    def _swap(self, segment: str) -> bool:
        """Only servers that have the segment already have room: another segment goes there, from a server that can
        take this one instead.
        """
        for room in (i for i in self._servers if self._left[i] > 0):
            for server in (i for i in self._servers if i not in self._wanted[segment]):
                fits = [s for s in self._held[server] if room not in self._wanted[s]]
                if fits:
                    other = min(fits, key=lambda s: (server in self._now[s], room not in self._now[s], s))
                    self._take(other, server)
                    self._give(other, room)
                    self._give(segment, server)
                    return True
        return False

    def _give(self, segment: str, server: str) -> None:
        self._wanted[segment].add(server)
        self._held[server][segment] = None
        self._left[server] -= 1

    def _take(self, segment: str, server: str) -> None:
        self._wanted[segment].discard(server)
        del self._held[server][segment]
        self._left[server] += 1

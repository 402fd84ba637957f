"""Which segments of a partition go when it is taken back to an earlier sequence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from segments.domain.realtime.llc_name import LLCName, is_llc_name, parse_llc_name


@dataclass(frozen=True)
class PartitionDeletion:
    """Segments of one partition that go, by sequence."""

    segments: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Pinot's form."""
        return {
            "segmentsToDelete": list(self.segments),
            "oldestSegment": self.segments[0],
            "latestSegment": self.segments[-1],
            "segmentCount": len(self.segments),
        }


def plan_deletion(assigned: Collection[str], given: Sequence[str]) -> dict[int, PartitionDeletion]:
    """{partition: what goes}: from the lowest given sequence on. Names that are unknown or no consuming segments' names
    are ignored.
    """
    known = sorted(
        (parse_llc_name(s) for s in assigned if is_llc_name(s)), key=lambda n: (n.partition, n.sequence, n.text)
    )
    by_text = {n.text: n for n in known}
    lowest: dict[int, LLCName] = {}
    for name in (by_text[s] for s in given if s in by_text):
        before = lowest.get(name.partition)
        if before is None or name.sequence < before.sequence:
            lowest[name.partition] = name
    return {
        p: PartitionDeletion(tuple(n.text for n in known if n.partition == p and n.sequence >= low.sequence))
        for p, low in lowest.items()
    }

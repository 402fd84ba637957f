"""What failed of the segments of a partition: what a server tries again and again in vain is one failure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from segments.services.realtime.segment_lives import Life


@dataclass(frozen=True)
class Failure:
    """A step that failed, the last time at ``at_ms``; ``times``: in the same way."""

    at_ms: int
    segment: str
    server: str
    kind: str
    problem: str
    times: int = 1


def failures(lives: Iterable[Life]) -> list[Failure]:
    """Of all these, newest first."""
    return sorted((failure for life in lives for failure in _of(life)), key=lambda failure: -failure.at_ms)


def _of(life: Life) -> Iterable[Failure]:
    found: dict[tuple[str, str], list[int]] = {}
    for step in life.steps:
        if step.problem:
            found.setdefault((step.kind, step.problem), []).append(step.ended_ms or step.began_ms)
    for (kind, problem), times in found.items():
        yield Failure(max(times), life.segment, life.server, kind, problem, len(times))

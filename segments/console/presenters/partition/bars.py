"""The lives of a partition's last segments: how long each was consumed, and what followed on every server, as bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from segments.console.presenters.badges import Mark, mark
from segments.console.presenters.partition.failures import Failure, failures
from segments.models import Segment
from segments.services.realtime.segment_lives import Life, Step

#: Units of the two bars of a segment, of a server's lane, and the least that is still seen.
CONSUMED_WIDTH: Final = 150
AFTER_WIDTH: Final = 330
LANE: Final = 14
_LEAST: Final = 2.0
_TIMES_USUAL: Final = 4
_WORDS: Final = {"build": "built", "upload": "uploaded", "commit": "committed", "download": "downloaded"}
#: A commit is what its other steps lie in: drawn behind them.
_ORDER: Final = ("commit", "build", "upload", "download")


@dataclass(frozen=True)
class Bar:
    """One step in the lane of its server; ``kind`` is its class, ``text`` for those who cannot see it."""

    x: float
    y: float
    width: float
    kind: str
    text: str


@dataclass(frozen=True)
class Done:
    """What a server did with the segment in one line, and what failed of it."""

    server: str
    words: tuple[tuple[str, int], ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True)
class SegmentBars:
    """A segment. ``consumed_ms`` None: nobody knows; ``is_consuming``: it is to be consumed; ``is_consumed``: it is.
    ``after``: what followed, in lanes by server.
    """

    segment: Segment
    mark: Mark
    consumed_ms: int | None
    consumed_width: float
    is_consuming: bool
    is_consumed: bool
    after: tuple[Bar, ...]
    height: int
    done: tuple[Done, ...]


def segment_bars(
    segments: Sequence[Segment], lives: Iterable[Life], now_ms: int, unread: Mark | None = None
) -> list[SegmentBars]:
    """Newest first, as ``segments`` are. Bars of one kind have one scale, so that they can be compared. ``unread``: the
    badge of the partition where no server says that it consumes it.
    """
    by_segment: dict[str, list[Life]] = {}
    for life in lives:
        by_segment.setdefault(life.segment, []).append(life)
    spans = [
        _consumed_ms(segments, n, by_segment.get(s.name, []), now_ms, is_consumed=unread is None)
        for n, s in enumerate(segments)
    ]
    longest = max((span for span in spans if span is not None), default=0)
    longest_after = _usual_ms([_after_ms(life, now_ms) for of in by_segment.values() for life in of if _later(life)])
    return [
        _row(segment, by_segment.get(segment.name, []), span, longest, longest_after, now_ms, unread)
        for segment, span in zip(segments, spans, strict=True)
    ]


def _usual_ms(spans: Sequence[int]) -> int:
    """The width of the second bars: the longest, but a few times the usual one at most. What is longer is cut there:
    one that hangs would make all others a hair.
    """
    return min(max(spans), round(_TIMES_USUAL * median(spans))) if spans else 0


def _row(
    segment: Segment,
    lives: list[Life],
    span: int | None,
    longest: int,
    longest_after: int,
    now_ms: int,
    unread: Mark | None,
) -> SegmentBars:
    is_consumed = segment.is_consuming and unread is None
    consuming = unread or mark("CONSUMING")
    after = tuple(bar for lane, life in enumerate(lives) for bar in _lane(life, lane, longest_after, now_ms))
    return SegmentBars(
        segment,
        consuming if segment.is_consuming and segment.status != "COMMITTING" else mark(_state(segment)),
        span,
        max(_LEAST, CONSUMED_WIDTH * span / longest) if span is not None and longest else 0.0,
        segment.is_consuming,
        is_consumed,
        after,
        LANE * max(1, len(lives)),
        tuple(_done(life, now_ms) for life in lives),
    )


def _state(segment: Segment) -> str:
    """Of one whose end is fixed; ERROR where no server has it."""
    if segment.status == "COMMITTING":
        return "COMMITTING"
    return "ERROR" if segment.replicas_wanted and not segment.replicas_online else "DONE"


def _consumed_ms(
    segments: Sequence[Segment], number: int, lives: list[Life], now_ms: int, *, is_consumed: bool
) -> int | None:
    """As servers report it; else from its creation to that of the next one, or to now."""
    steps = [step for life in lives for step in life.steps if step.kind == "consume"]
    if steps:
        return max(step.ended_ms or now_ms for step in steps) - min(step.began_ms for step in steps)
    segment, following = segments[number], segments[number - 1] if number else None
    if segment.creation_ms is None:
        return None
    if segment.is_consuming:
        return max(0, now_ms - segment.creation_ms) if is_consumed else None
    return max(0, following.creation_ms - segment.creation_ms) if following and following.creation_ms else None


def _later(life: Life) -> list[Step]:
    return sorted((s for s in life.steps if s.kind != "consume"), key=lambda step: _ORDER.index(step.kind))


def _from_ms(life: Life) -> int:
    """When what followed began on this server."""
    return min((step.began_ms for step in _later(life)), default=0)


def _after_ms(life: Life, now_ms: int) -> int:
    return max((step.ended_ms or now_ms for step in _later(life)), default=0) - _from_ms(life)


def _lane(life: Life, lane: int, longest: int, now_ms: int) -> Iterable[Bar]:
    scale, began = (AFTER_WIDTH - _LEAST) / max(1, longest), _from_ms(life)
    for step in _later(life):
        ended = step.ended_ms or now_ms
        kind = "failed" if step.problem else step.kind
        x = min(AFTER_WIDTH - _LEAST, scale * (step.began_ms - began))
        width = min(AFTER_WIDTH - x, max(_LEAST, scale * (ended - step.began_ms)))
        yield Bar(x, lane * LANE + 2.0, width, f"bar-{kind}", _text(life, step, ended))


def _text(life: Life, step: Step, ended_ms: int) -> str:
    took = f"{ended_ms - step.began_ms} ms on {life.server}"
    return f"{step.kind} failed after {took}: {step.problem}" if step.problem else f"{_WORDS[step.kind]} in {took}"


def _done(life: Life, now_ms: int) -> Done:
    words = [
        (_WORDS[step.kind], (step.ended_ms or now_ms) - step.began_ms)
        for step in sorted(_later(life), key=lambda step: step.ended_ms or now_ms)
        if not step.problem and step.ended_ms is not None
    ]
    return Done(life.server, tuple(words), tuple(failures([life])))

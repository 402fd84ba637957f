"""What a stream brought after a snapshot of a REALTIME table: it stays whatever is gone back to."""

from __future__ import annotations

from collections.abc import Iterable

from segments.domain.realtime.llc_name import LLCName, is_llc_name, parse_llc_name


def streamed_since(snapshot: Iterable[str], names: Iterable[str]) -> list[str]:
    """Of these ``names`` the segments that come after the last one of their partition in the snapshot, those that are
    consumed now among them.
    """
    last: dict[int, int] = {}
    for name in _streamed(snapshot):
        last[name.partition] = max(name.sequence, last.get(name.partition, -1))
    return [n.text for n in _streamed(names) if n.sequence > last.get(n.partition, -1)]


def _streamed(names: Iterable[str]) -> list[LLCName]:
    return [parse_llc_name(name) for name in names if is_llc_name(name)]

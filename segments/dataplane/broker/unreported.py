"""Segments of upsert and dedup tables that a server reads behind the ones it reports.

All of a partition is read from one server. While a commit goes on, a server that has the whole partition may not report
the next segment yet, whose rows it shows behind the last one that it reports; another server that lacks older segments
may. Then nobody has all that is reported, and the first one still answers for all of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name, partition_stem
from segments.domain.segments.ideal_state import CONSUMING, ERROR

Rows = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Behind:
    """``segments`` are not asked for; their rows come with those of another one: ``readers`` are {that one: the servers
    that have them}.
    """

    segments: frozenset[str] = frozenset()
    readers: Mapping[str, frozenset[str]] = field(default_factory=dict)


def read_behind(
    segments: Sequence[str], growing: Collection[str], holders: Mapping[str, Collection[str]], ideal: Rows, view: Rows
) -> Behind:
    """The newest growing ones, where nobody has their partition whole, but without them a server has it which still
    consumes the last one before them and is on its way to report them. ``holders``: {segment: servers that serve it}.
    """
    partitions: dict[str, list[str]] = defaultdict(list)
    for segment in segments:
        if is_llc_name(segment):
            partitions[partition_stem(segment)].append(segment)
    behind: set[str] = set()
    readers: dict[str, frozenset[str]] = {}
    for names in partitions.values():
        names.sort(key=lambda s: parse_llc_name(s).sequence)
        kept, sure = _kept(names, growing, holders, ideal, view)
        if sure:
            behind.update(names[kept:])
            readers[names[kept - 1]] = sure
    return Behind(frozenset(behind), readers)


def _kept(
    names: list[str], growing: Collection[str], holders: Mapping[str, Collection[str]], ideal: Rows, view: Rows
) -> tuple[int, frozenset[str]]:
    """(how many of the partition's segments are asked for, the servers that read the others behind them: none where all
    are asked for).
    """
    if _common(names, holders):
        return len(names), frozenset()
    for kept in range(len(names) - 1, 0, -1):
        if names[kept] not in growing:
            break
        before = view.get(names[kept - 1], {})
        consuming = {i for i in _common(names[:kept], holders) if before.get(i) == CONSUMING}
        if sure := frozenset(i for i in consuming if _is_coming(i, names[kept:], ideal, view)):
            return kept, sure
    return len(names), frozenset()


def _common(names: list[str], holders: Mapping[str, Collection[str]]) -> set[str]:
    return set.intersection(*(set(holders.get(s, ())) for s in names))


def _is_coming(instance: str, names: list[str], ideal: Rows, view: Rows) -> bool:
    return all(instance in ideal.get(s, {}) and view.get(s, {}).get(instance) != ERROR for s in names)

"""Offsets of a new table's partitions whose first segments did not fit into its creation: in its ideal state until those are made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from segments.domain.znrecord import ZNRecord

_KEY: Final = "pinotadmin.firstOffsets"


def of(ideal: ZNRecord) -> dict[int, str]:
    """{partition: offset} of those that are still to be made."""
    pairs = (entry.partition("=") for entry in ideal.lists.get(_KEY, ()))
    return {int(partition): offset for partition, _, offset in pairs}


def noted(ideal: ZNRecord, starts: Mapping[int, str]) -> ZNRecord:
    """A copy with these offsets; the very record when there are none."""
    lists = {k: v for k, v in ideal.lists.items() if k != _KEY}
    kept = {_KEY: [f"{partition}={offset}" for partition, offset in sorted(starts.items())]} if starts else {}
    return ideal if lists == ideal.lists and not kept else replace(ideal, lists={**lists, **kept})


def without(ideal: ZNRecord, partitions: Collection[int]) -> ZNRecord:
    """A copy without the partitions whose first segments are made now."""
    before = of(ideal)
    after = {p: offset for p, offset in before.items() if p not in partitions}
    return noted(ideal, after) if after != before else ideal

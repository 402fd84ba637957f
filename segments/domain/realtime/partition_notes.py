"""A text per partition, kept in a list field of a table's ideal state (``["0=150", "1=170"]``) until it is not needed
any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from segments.domain.formats.znrecord import ZNRecord


def read_notes(ideal: ZNRecord, key: str) -> dict[int, str]:
    """{partition: text} below ``key``; empty when there is none."""
    pairs = (entry.partition("=") for entry in ideal.lists.get(key, ()))
    return {int(partition): text for partition, _, text in pairs}


def with_notes(ideal: ZNRecord, key: str, notes: Mapping[int, str]) -> ZNRecord:
    """A copy with exactly these notes below ``key``; the very record when nothing changes."""
    if notes == read_notes(ideal, key):
        return ideal
    lists = {k: v for k, v in ideal.lists.items() if k != key}
    entries = {key: [f"{partition}={text}" for partition, text in sorted(notes.items())]} if notes else {}
    return replace(ideal, lists={**lists, **entries})


def without_notes(ideal: ZNRecord, key: str, partitions: Collection[int]) -> ZNRecord:
    """A copy without the notes of these partitions."""
    return with_notes(ideal, key, {p: text for p, text in read_notes(ideal, key).items() if p not in partitions})

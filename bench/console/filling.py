"""Puts the figures of a large installation into the database, as the mirror would: one row of a kind is made, and the
database copies it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, Final

#: It has half of all segments.
LARGE: Final = "large_OFFLINE"
#: It has all snapshots; the cluster in memory has it, too, with these segments.
LONG: Final = "long_OFFLINE"
LONG_SEGMENTS: Final = tuple(f"l_{n}" for n in range(10_000))
#: Replacements of that table, one of the other, and the segments of each side.
_ENTRIES: Final = 60
_OF_AN_ENTRY: Final = 500
_BATCH: Final = 5_000
_ACTIONS: Final = ("push", "rollback", "pauseConsumption", "runSchedule")


@dataclass(frozen=True)
class Figures:
    """How much there is of everything."""

    tables: int = 10_000
    segments: int = 1_000_000
    events: int = 100_000
    snapshots: int = 10_000


def fill(figures: Figures) -> None:
    """Needs a database that is migrated and empty."""
    _fill_tables(figures)
    _fill_segments(figures)
    _fill_snapshots(figures)
    _fill_events(figures)


def _fill_tables(figures: Figures) -> None:
    from segments.models import Table
    from tests.factories import NOW_MS, make_entry, make_finding, make_push, make_push_segment, make_table

    large = make_table(LARGE, segments_total=figures.segments // 2)
    long = make_table(LONG, segments_total=len(LONG_SEGMENTS))
    for n in range(_ENTRIES):
        sides = [[f"side_{at}_{i}" for i in range(_OF_AN_ENTRY)] for at in (n, n + 1)]
        make_entry(long, f"entry-{n}", segments_from=sides[0], segments_to=sides[1], timestamp_ms=NOW_MS + n)
    make_finding(table_name=LARGE)
    make_push_segment(make_push(table_name=long.raw_name))
    columns = [f.name for f in Table._meta.fields if f.name not in ("id", "name", "raw_name", "updated_at")]
    like = {name: getattr(large, name) for name in columns}
    rows = (Table(**like, name=f"t{i:05d}_OFFLINE", raw_name=f"t{i:05d}") for i in range(figures.tables - 2))
    _insert(Table, rows)


def _fill_segments(figures: Figures) -> None:
    from segments.models import Table
    from tests.factories import make_segments

    make_segments(Table.objects.get(name=LONG), *LONG_SEGMENTS)
    half = figures.segments // 2
    _copy(make_segments(Table.objects.get(name=LARGE), "s_10000000")[0], half - 1, name="'s_' || (10000000 + n)")
    small = Table.objects.exclude(name__in=(LARGE, LONG)).order_by("pk")
    first = make_segments(small[0], "r_10000000")[0]
    rest = figures.segments - half - 1 - len(LONG_SEGMENTS)
    _copy(first, rest, name="'r_' || (10000000 + n)", table_id=f"{small[0].pk} + n % {small.count()}")


def _copy(row: Any, count: int, **varied: str) -> None:
    """Copies of a row, numbered from 1; ``varied``: {column: SQL expression of the number ``n``}."""
    from django.db import connection

    table = row._meta.db_table
    columns = [f.column for f in row._meta.fields if not f.primary_key]
    named = ", ".join(f'"{c}"' for c in columns)
    values = ", ".join(varied.get(c, f'"{c}"') for c in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < "
            f'{count}) INSERT INTO "{table}" ({named}) SELECT {values} FROM "{table}", numbers WHERE id = {row.pk}'
        )


def _fill_snapshots(figures: Figures) -> None:
    from segments.domain.replacement.history.contents import pack_changes
    from segments.models import Snapshot
    from tests.factories import make_snapshot

    first = make_snapshot(1, LONG, *LONG_SEGMENTS, rows=10_000)
    kept = {f.name: getattr(first, f.name) for f in Snapshot._meta.fields if f.name not in ("id", "number", "whole")}
    kept["changes"] = pack_changes(dict.fromkeys(LONG_SEGMENTS[:3], (1, 2)))
    rows = (
        Snapshot(
            **{**kept, "at": first.at + timedelta(minutes=number)},
            number=number,
            whole=first.whole if number % 50 == 1 else None,
        )
        for number in range(2, figures.snapshots + 1)
    )
    _insert(Snapshot, rows)


def _fill_events(figures: Figures) -> None:
    from segments.models import AuditEvent
    from tests.factories import CLUSTER

    rows = (
        AuditEvent(
            actor=f"person{i % 50}",
            action=_ACTIONS[i % 4],
            cluster=CLUSTER,
            target=f"t{i % 10_000:05d}_OFFLINE",
            reason=f"ticket {i}",
        )
        for i in range(figures.events)
    )
    _insert(AuditEvent, rows)


def _insert(model: Any, rows: Iterator[Any]) -> None:
    while batch := list(islice(rows, _BATCH)):
        model.objects.bulk_create(batch)

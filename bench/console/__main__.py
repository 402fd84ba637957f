"""Times the console's pages over a database with the figures of a large installation, and counts what each costs.

Usage: ``python -m bench.console [--tables 10000] [--segments 1000000] [--events 100000] [--snapshots 10000]
[--visits 40]``. One table has half of the segments and all the snapshots. Rows are put into the database as the mirror
would; the cluster is in memory. A visit is a request of somebody who is logged in, without a network in between.
Fails when a page is over an aim: 300 ms for 95 of 100 visits, 30 SQL statements, 200 kB.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final

AIM_MS: Final = 300.0
AIM_SQL: Final = 30
AIM_BYTES: Final = 200_000
LARGE: Final = "large_OFFLINE"
_BATCH: Final = 5_000


def main() -> int:
    """Fill, visit, print; the exit status is 1 when a page is over an aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, count in (("tables", 10_000), ("segments", 1_000_000), ("events", 100_000), ("snapshots", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--visits", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-console-") as folder:
        _settle(Path(folder))
        began = time.perf_counter()
        _fill(options)
        print(f"  filled in {time.perf_counter() - began:.0f} s")
        return _visit_all(Path(folder), options.visits)


def _settle(folder: Path) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinotadmin.settings")
    os.environ["DATA_DIR"] = str(folder)
    os.environ["DATABASE_URL"] = f"sqlite:///{folder}/bench.sqlite3"
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def _fill(options: argparse.Namespace) -> None:
    from segments.models import AuditEvent, Segment, Snapshot, Table
    from tests.factories import CLUSTER, make_segments, make_snapshot, make_table

    large = make_table(LARGE, segments_total=options.segments // 2)
    columns = [f.name for f in Table._meta.fields if f.name not in ("id", "name", "raw_name", "updated_at")]
    like = {name: getattr(large, name) for name in columns}
    _insert(Table, (Table(**like, name=f"t{i:05d}_OFFLINE", raw_name=f"t{i:05d}") for i in range(options.tables - 1)))
    first = make_segments(large, "s_0000000")[0]
    given = {f.name: getattr(first, f.name) for f in Segment._meta.fields if f.name not in ("id", "name", "table")}
    half = options.segments // 2
    _insert(Segment, (Segment(**given, table=large, name=f"s_{i:07d}") for i in range(1, half)))
    small = list(Table.objects.exclude(pk=large.pk)) or [large]
    _insert(Segment, (Segment(**given, table=small[i % len(small)], name=f"r_{i:07d}") for i in range(half)))
    snapshot = make_snapshot(1, LARGE, "s_0000000", cluster=large.cluster)
    kept = {f.name: getattr(snapshot, f.name) for f in Snapshot._meta.fields if f.name not in ("id", "number", "whole")}
    at = snapshot.at
    for number in range(2, options.snapshots + 1, _BATCH):
        last = min(number + _BATCH, options.snapshots + 1)
        rows = [
            Snapshot(
                **{**kept, "at": at + timedelta(minutes=n), "whole": snapshot.whole if n % 50 == 1 else None}, number=n
            )
            for n in range(number, last)
        ]
        Snapshot.objects.bulk_create(rows)
    actions = ("push", "rollback", "pauseConsumption", "runSchedule")
    _insert(
        AuditEvent,
        (
            AuditEvent(
                actor=f"person{i % 50}", action=actions[i % 4], cluster=CLUSTER, target=f"t{i % 10_000:05d}_OFFLINE",
                reason=f"ticket {i}",
            )
            for i in range(options.events)
        ),
    )  # fmt: skip


def _insert(model: Any, rows: Iterator[Any]) -> None:
    while batch := list(islice(rows, _BATCH)):
        model.objects.bulk_create(batch)


def _visit_all(folder: Path, visits: int) -> int:
    from dataclasses import replace

    from django.contrib.auth.models import User
    from django.test import Client

    from segments import wiring
    from tests.console.conftest import FakeBroker
    from tests.factories import CLUSTER
    from tests.services.world import World

    world = World(folder / "store")
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    user = User.objects.create_user("bench", is_superuser=True, is_staff=True)
    client = Client()
    client.force_login(user)
    print(f"  {'page':<44}{'p50 ms':>8}{'p95 ms':>8}{'SQL':>5}{'kB':>7}")
    with wiring.use(world.ctx, FakeBroker()):
        return max([_visit(client, page, visits) for page in _pages()])


def _pages() -> list[str]:
    table = f"/console/tables/{LARGE}/"
    return [
        "/", "/?q=t09", table, f"{table}segments/", f"{table}segments/?page=100", f"{table}segments/?q=s_04",
        f"{table}history/", f"{table}history/?page=150", f"{table}audit/", "/console/pushes/", "/console/findings/",
        "/console/audit/", "/console/audit/?q=ticket+777", "/console/audit/?page=1500", "/console/search/?q=t0042",
        "/console/query/", "/console/servers/", "/console/passes/", "/console/settings/",
    ]  # fmt: skip


def _visit(client: Any, page: str, visits: int) -> int:
    """Print the page's row; 1 when it is over an aim."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        response = client.get(page)  # the first reads its templates
    statements = len(captured)  # the next request empties the log
    assert response.status_code == 200, (page, response.status_code)
    took = []
    for _ in range(visits):
        began = time.perf_counter()
        size = len(client.get(page).content)
        took.append((time.perf_counter() - began) * 1000)
    p95 = statistics.quantiles(took, n=20)[-1]
    is_over = p95 > AIM_MS or statements > AIM_SQL or size > AIM_BYTES
    print(
        f"  {page:<44}{statistics.median(took):>8.0f}{p95:>8.0f}{statements:>5}{size / 1000:>7.0f}"
        f"{'  over its aim' if is_over else ''}",
        flush=True,
    )
    return int(is_over)


if __name__ == "__main__":
    sys.exit(main())

"""Visits pages as somebody who is logged in, without a network in between: milliseconds, SQL statements, bytes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.console.filling import LARGE, LONG, LONG_SEGMENTS

AIM_MS: Final = 300.0
AIM_SQL: Final = 30
AIM_BYTES: Final = 200_000


@contextmanager
def cluster_in_memory(folder: Path) -> Iterator[None]:
    """It has the table with the long history."""
    from dataclasses import replace

    from segments import wiring
    from segments.domain.segments import ideal_state
    from segments.domain.tables.table_config import parse_table_config
    from segments.store import paths
    from tests.console.conftest import FakeBroker
    from tests.factories import CLUSTER, CONFIG
    from tests.services.world import World

    world = World(folder)
    config = parse_table_config({**CONFIG, "tableName": LONG.removesuffix("_OFFLINE")})
    world.memory.create(paths.table_config(LONG), config.to_record())
    online = {"Server_a_1": ideal_state.ONLINE, "Server_b_1": ideal_state.ONLINE}
    rows = dict.fromkeys(LONG_SEGMENTS, online)
    world.memory.create(paths.ideal_state(LONG), ideal_state.with_rows(ideal_state.new_ideal_state(LONG, 2), rows))
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    with wiring.use(world.ctx, FakeBroker()):
        yield


def pages() -> list[str]:
    """Of the installation, of the table with most segments, of the one with the long history, of the admin."""
    from segments.models import AuditEvent, Push

    large, long, push = f"/console/tables/{LARGE}/", f"/console/tables/{LONG}/", Push.objects.get().pk
    of_all = [
        "/", "/?page=200", "/?q=t09", "/console/pushes/", f"/console/pushes/{push}/", "/console/pushes/new/",
        "/console/findings/", "/console/audit/", "/console/audit/?q=ticket+777", "/console/audit/?q=no+such+text",
        "/console/audit/?actor=person7", "/console/audit/?target=t04217", "/console/audit/?page=1500",
        f"/console/audit/{AuditEvent.objects.all()[0].pk}/", "/console/search/?q=t0042", "/console/search/?q=s_10042",
        "/console/query/", "/console/servers/", "/console/passes/", "/console/settings/", "/console/deleted-tables/",
    ]  # fmt: skip
    of_large = [
        large, f"{large}segments/", f"{large}segments/?page=100", f"{large}segments/?page=9000",
        f"{large}segments/?q=s_1004", f"{large}segments/?q=no+such", f"{large}segments/?sort=-rows",
        f"{large}segments/s_10004217/", f"{large}audit/", f"{large}lineage/", f"{large}passes/",
    ]  # fmt: skip
    of_long = [
        long, f"{long}history/", f"{long}history/?page=150", f"{long}history/?page=400", f"{long}lineage/",
        f"{long}config/", f"{long}audit/",
    ]  # fmt: skip
    of_admin = [
        "/admin/", *(f"/admin/segments/{model}/" for model in ("table", "segment", "auditevent", "push")),
        "/admin/segments/segment/?q=s_10042", "/admin/segments/auditevent/?q=ticket+777",
    ]  # fmt: skip
    return [*of_all, *of_large, *of_long, *of_admin]


def visit(client: Any, page: str, visits: int) -> int:
    """Print the page's row; 1 when it is over an aim."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        response = client.get(page)  # the first reads its templates
    statements = len(captured)  # the next request empties the log
    assert response.status_code == 200, (page, response.status_code)
    took, used = [], []
    for _ in range(visits):
        began, before = time.perf_counter(), time.process_time()
        size = len(client.get(page).content)
        took.append((time.perf_counter() - began) * 1000)
        used.append((time.process_time() - before) * 1000)
    p95 = statistics.quantiles(took, n=20)[-1]
    figures = f"{statistics.median(took):>8.0f}{p95:>8.0f}{statistics.median(used):>8.0f}"
    is_over = p95 > AIM_MS or statements > AIM_SQL or size > AIM_BYTES
    print(
        f"  {page:<46}{figures}{statements:>5}{size / 1000:>7.0f}{'  over its aim' if is_over else ''}",
        flush=True,
    )
    return int(is_over)

"""Each part of an installation dies while it is queried and pushed to: no query fails, each push ends, nothing is a
500. ``make test-scale`` has S3 frozen for 30 s and prints the table.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest

from tests.integration.browser.pushing import push
from tests.integration.running import Client
from tests.scale.watching import AWAY, Watch
from tests.scale.world import IS_SHORT, PUSHED_S, SLOWEST_S, SPARK_STARTS_AGAIN, World
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


ROWS = (
    "web", "worker", "mirror", "beat", "server", "database", "ZooKeeper's leader", "S3 frozen", "Spark executor",
    "Spark master", "nginx reload", "the other host", "two ZooKeepers", "Redis",
)  # fmt: skip


@pytest.mark.parametrize("row", [row for row in ROWS if not (IS_SHORT and row in SPARK_STARTS_AGAIN)])
def test_a_part_dies_under_queries_and_a_push(world: World, row: str) -> None:
    installation, client = world.installation, Client(world.installation.endpoints)
    with Watch(installation.endpoints) as watch:
        poll(lambda: len(watch.took) >= 20, 30, "the first queries")
        name = row.replace(" ", "_").replace("'", "")
        if row == "Spark master":  # the next one finds out, whose context nobody knows any more
            world.fault(row)()
        made = push(installation, client, "pushed", name, 50, wait=False)
        if row != "Spark master":
            world.fault(row)()
        began = time.monotonic()
        poll(lambda: _state(client, made) == "DONE", PUSHED_S, f"the push next to '{row}'")
        pushed_s = time.monotonic() - began
        poll(lambda: client.sql("select count(*) from pushed") == [[50]], 20, "its rows")
        world.wait_whole()
    _print(row, watch, pushed_s)
    assert watch.failed == []
    assert max(watch.took) <= SLOWEST_S
    assert {s for s in watch.others if s >= 500} <= AWAY, watch.others


def _state(client: Client, made: str) -> Any:
    answer = client.http.get(f"{client.base}/api/v1/pushes/{made}", timeout=30)
    assert answer.status_code in (200, 503), answer.text[:500]
    return answer.json().get("state")


def _print(row: str, watch: Watch, pushed_s: float) -> None:
    slow = sorted(watch.took)
    line = (
        f"\n{row:20} {len(slow):6} queries, {len(watch.failed)} failed, {watch.repeated} sent again,"
        f" p99 {1000 * slow[int(len(slow) * 0.99)]:6.0f} ms, slowest {1000 * slow[-1]:6.0f} ms;"
        f" push DONE {pushed_s:5.1f} s later; other answers {dict(watch.others)}\n"
    )
    sys.stdout.write(line)

"""Parts die by chance while queries, pushes, rollbacks and undos, a stream with commits and a followed folder go on:
nothing is lost or doubled, no query fails, nothing is a 500.

Twenty seconds by default; ``make chaos-scale`` sets half an hour (SCALE_CHAOS_SECONDS). A failure names its seed;
SCALE_CHAOS_SEED repeats a run's choices.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from contextlib import ExitStack
from typing import Final

import pytest

from bench.realtime_table import RedisFeed, Table
from tests.background import Background
from tests.chaos.history_walk import Walk
from tests.chaos.streaming import Producer, chain_is_whole, visible
from tests.integration.running import Client
from tests.scale.loads import Followed, Pushes
from tests.scale.strikes import Strikes
from tests.scale.watching import AWAY, Watch
from tests.scale.world import SLOWEST_S, World
from tests.waiting import poll

SECONDS: Final = float(os.environ.get("SCALE_CHAOS_SECONDS", "20"))
SEED: Final = int(os.environ.get("SCALE_CHAOS_SEED", str(random.SystemRandom().randrange(10**6))))
#: Rows a second and partition; a segment ends every ten seconds or so.
_RATE, _FLUSH = 100, 1_000

pytestmark = [pytest.mark.integration, pytest.mark.timeout(SECONDS + 900)]


def test_whatever_dies_nothing_is_lost_or_doubled_and_no_query_fails(world: World) -> None:
    sys.stdout.write(f"\nSCALE_CHAOS_SEED={SEED}\n")
    found = world.installation.endpoints
    strikes, walk = Strikes(world, SEED), Walk(world.installation, SEED, strikes=0.0)
    with ExitStack() as opened:
        feed = RedisFeed(found["redis"])
        opened.callback(feed.client.close)
        client = Client(found)
        table = Table(client, feed, "streamed", 2).create(rows=_FLUSH, replication=2)
        pushes = Pushes(found, world.installation.folder / "input")
        followed = Followed(world.installation)
        walk.begin()
        watch = opened.enter_context(Watch(found))
        producer = Producer(table, _RATE)
        # Whoever comes first ends last: answers are compared until nothing changes any more.
        work = [pushes.answers.background, pushes.background, followed.background, Background(strikes.strike, 0.1)]
        for one in work[1:]:
            one.start()
        poll(lambda: pushes.count > 1, 120, "the first push")
        work[0].start()
        until = time.monotonic() + SECONDS
        opened.callback(_print, strikes, walk, pushes, followed, table, watch)
        while time.monotonic() < until and all(one.works for one in work):
            walk.step()
        for one in reversed(work):
            one.stop(400)
        world.wait_whole(150)
        producer.stop()
        walk.answers.background.stop()
        _ends_whole(client, table, followed)
    assert walk.is_shown()
    assert (walk.answers.wrong, pushes.answers.wrong, watch.failed) == ([], [], []), f"seed {SEED}: {strikes.done}"
    assert max(watch.took) <= SLOWEST_S
    assert {status for status in watch.others if status >= 500} <= AWAY, watch.others


def _ends_whole(client: Client, table: Table, followed: Followed) -> None:
    what, total = f"seed {SEED}: every row of", sum(table.sent.values())
    poll(lambda: visible(client, table) >= total, 60, f"{what} the stream")
    poll(table.whole, 30, f"{what} the stream exactly once")
    chain_is_whole(client, table)
    poll(followed.is_whole, 60, f"{what} the folder exactly once")


def _print(strikes: Strikes, walk: Walk, pushes: Pushes, followed: Followed, table: Table, watch: Watch) -> None:
    slow = sorted(watch.took)
    sys.stdout.write(
        f"struck {len(strikes.done)}: {dict(Counter(strikes.done))}\n"
        f"{len(walk.done)} changes of the history, {pushes.count} pushes, {len(followed.rows)} files,"
        f" {sum(table.sent.values())} rows of the stream;"
        f" {walk.answers.whole + pushes.answers.whole} answers compared\n"
        f"{len(slow)} queries, {len(watch.failed)} failed, {watch.repeated} sent again,"
        f" p99 {1000 * slow[int(len(slow) * 0.99)]:.0f} ms, slowest {1000 * slow[-1]:.0f} ms;"
        f" other answers {dict(watch.others)}\n"
        + "".join(f"  {took:.1f} s, begun {strikes.last_before(began)}\n" for began, took in watch.slow)
    )

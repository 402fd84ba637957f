"""Moves the segments of a table to a third server while queries run, and counts those that failed.

Usage: ``python -m bench.rebalance [--segments 1000] [--rows 100] [--clients 2]``. Real servers over HTTP and a broker
share one process here; ZooKeeper is a real one unless ``--memory``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from segments.store.on_zookeeper.client import ZooKeeperStore
from tests.dataplane.world import World
from tests.real_parts import start_zookeeper


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinotadmin.settings")
    import django

    django.setup()
    from tests.rebalance.under_queries import measure  # it needs Django's settings

    with tempfile.TemporaryDirectory() as folder:
        zookeeper = None if given.memory else start_zookeeper(Path(folder) / "zookeeper")
        client = None if zookeeper is None else (lambda: ZooKeeperStore(zookeeper.hosts, "test"))
        world = World(Path(folder), client() if client else None, client)
        try:
            found = measure(world, given.segments, given.rows, given.clients)
        finally:
            world.close()
            if zookeeper is not None:
                zookeeper.stop()
    answers = found.answers
    times = sorted(answers.times)
    print(f"  {given.segments} segments, two replicas, to a third server: {found.moved} replicas loaded")
    print(f"  in {found.seconds:.1f} s; {found.load}")
    print(f"  queries meanwhile: {len(times)}, of them failed: {answers.failed.total()} {dict(answers.failed) or ''}")
    print(f"  median {statistics.median(times) * 1000:.0f} ms, p99 {times[int(len(times) * 0.99)] * 1000:.0f} ms")
    print(f"  fewest replicas of a segment: {found.least}")


if __name__ == "__main__":
    main()

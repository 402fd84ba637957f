"""Times the data plane: ideal state write -> ONLINE, lineage write -> acknowledgement, small queries.

Usage: ``python -m bench.dataplane [--rounds 60]``. Prints milliseconds (median / p99), once on a store in memory and
once on a real ZooKeeper. Servers and broker share one process here; between processes queries are faster, not slower.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from segments.store import paths
from segments.store.on_zookeeper.client import ZooKeeperStore
from tests.dataplane.world import TABLE, World, entry, poll
from tests.real_parts import start_zookeeper

_QUERIES = (
    "select v, count(*) from t group by v",
    "select count(*) from t where n > 5",
    "select a.v, count(*) from t a join t b on a.n = b.n group by a.v",
    "with w as (select n, row_number() over (order by n) r from t) select max(r) from w",
)


def timed(rounds: int, act: Callable[[int], None]) -> str:
    """Median / p99 in milliseconds."""
    times = []
    for number in range(rounds):
        began = time.perf_counter()
        act(number)
        times.append((time.perf_counter() - began) * 1000)
    times.sort()
    return f"{statistics.median(times):6.1f} / {times[min(len(times) - 1, int(len(times) * 0.99))]:6.1f} ms"


def measure(world: World, rounds: int) -> None:
    """Two servers, one broker, small segments on both."""
    world.create_table()
    world.start_server(1)
    world.start_server(2)
    world.push(["a1", "a2", "a3"], servers=(1, 2))
    broker = world.start_broker()
    world.write_lineage(entry(["a1", "a2", "a3"], ["b1", "b2"], "IN_PROGRESS"))
    world.push(["b1", "b2"], servers=(1, 2))
    for number in range(rounds):
        world.record(f"n{number}", world.build(f"n{number}"))

    def online(number: int) -> None:
        world.assign([f"n{number}"], servers=(1, 2))
        poll(lambda: len(world.states(f"n{number}")) == 2)

    def acknowledged(number: int) -> None:
        zxid = world.write_lineage(entry(["a1", "a2", "a3"], ["b1", "b2"], ("COMPLETED", "REVERTED")[number % 2]))
        while world.acknowledged(broker) < zxid:
            time.sleep(0.0002)

    def written(number: int) -> None:
        world.write_lineage(entry(["a1", "a2", "a3"], ["b1", "b2"], ("COMPLETED", "REVERTED")[number % 2]))

    print("  ideal state write -> ONLINE on both servers", timed(rounds, online))
    world.unassign(*(f"n{number}" for number in range(rounds)))
    poll(lambda: not any(n.startswith("n") for n in world.store.get(paths.external_view(TABLE)).record.maps))
    time.sleep(0.5)
    print("  lineage write alone                        ", timed(rounds, written))
    time.sleep(0.5)
    print("  lineage write -> acknowledged (both)       ", timed(rounds, acknowledged))
    for sql in _QUERIES:

        def ask(_: int, sql: str = sql) -> None:
            assert not broker.query(sql)["exceptions"]

        print(f"  {sql if len(sql) <= 43 else sql[:40] + '...':<43}", timed(rounds * 3, ask))


def main() -> None:
    """Memory first, then ZooKeeper."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        print("memory (median / p99)")
        measure(world, rounds)
        world.close()
    with tempfile.TemporaryDirectory() as folder:
        zookeeper = start_zookeeper(Path(folder) / "zookeeper")
        try:
            world = World(
                Path(folder), ZooKeeperStore(zookeeper.hosts, "bench"), lambda: ZooKeeperStore(zookeeper.hosts, "bench")
            )
            print("ZooKeeper (median / p99)")
            measure(world, rounds)
            world.close()
        finally:
            zookeeper.stop()


if __name__ == "__main__":
    main()

"""Times the validation of many partitions with nothing wrong, and counts what it reads of ZooKeeper in a minute.

Usage: ``python -m bench.recovery.validation [--partitions 10000] [--memory]``. One table, two replicas; ZooKeeper is a
real one unless ``--memory``. The stream answers at once.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from segments.store.base import Store
from segments.store.on_zookeeper.client import ZooKeeperStore
from tests.real_parts import start_zookeeper

if TYPE_CHECKING:
    from tests.services.realtime_world import RealtimeWorld

#: Seconds that a validation is to take at most.
WANTED_S = 30.0
#: Runs of each pass in a minute, as ``segments/services/upkeep/periodic_passes.py`` declares them.
A_MINUTE = {"repair": 1, "copies": 1, "every 3 s": 20}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _settle_settings(Path(folder))
        from tests.services.realtime.test_realtime_validation import view
        from tests.services.realtime_world import RealtimeWorld

        world = RealtimeWorld(Path(folder) / "deep", partitions=given.partitions)
        view(world)
        if given.memory:
            return measure(world, world.memory)
        zookeeper = start_zookeeper(Path(folder) / "zookeeper")
        try:
            with closing(ZooKeeperStore(zookeeper.hosts, "bench")) as store:
                copy(world.memory, store, "")
                measure(world, store)
        finally:
            zookeeper.stop()
    return None


def _settle_settings(folder: Path) -> None:
    """An installation's database, before Django reads its settings."""
    os.environ.update(
        DJANGO_SETTINGS_MODULE="pinotadmin.settings", PINOTADMIN_DATA_DIR=str(folder),
        DATABASE_URL=f"sqlite://{folder}/db.sqlite3", PINOTADMIN_LOG_LEVEL="WARNING",
    )  # fmt: skip
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def copy(source: Store, target: Store, path: str) -> None:
    """Every znode below the path."""
    for name in source.children(path or "/"):
        child = f"{path}/{name}"
        node = source.get(child)
        if node is not None and target.exists(child) is None:
            target.create(child, node.record)
        copy(source, target, child)


def measure(world: RealtimeWorld, store: Store) -> None:
    """Each pass twice: the first run of a process knows nothing."""
    from segments.services.realtime.realtime_validation import keep_consumption, keep_copies, repair_consumption
    from tests.services.realtime.test_cost_of_validation import Counting
    from tests.services.realtime_world import TABLE

    counting = Counting(store)
    ctx = world.over(counting)
    passes: dict[str, Callable[[], list[str]]] = {
        "repair": lambda: repair_consumption(ctx, TABLE),
        "copies": lambda: keep_copies(ctx, TABLE),
        "every 3 s": lambda: keep_consumption(ctx),
    }
    partitions, documents, seconds = len(world.consuming), 0, 0.0
    print(f"validation of {partitions:,} partitions with nothing wrong, {type(store).__name__}:")
    for name, run in passes.items():
        for title in ("first", "later"):
            counting.reads, began = 0, time.perf_counter()
            run()
            took = time.perf_counter() - began
            print(f"  {name}, {title} run: {took:.2f} s, {counting.reads:,} documents read")
            assert not counting.writes, "a pass over a table with nothing wrong wrote something"
        documents += counting.reads * A_MINUTE[name]
        seconds += took * (name != "every 3 s")
    print(f"  a whole validation: {seconds:.2f} s   wanted: {WANTED_S:.0f} s")
    print(f"  documents read in a minute by all of them: {documents:,}")


if __name__ == "__main__":
    main()

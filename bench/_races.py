"""Races of several controllers on the lineage of one table: processes with ZooKeeper sessions of their own, straight on
the use cases.

No servers and no files are needed for them, see ``tests.faults.controllers``, which also says what each race must leave
behind.
"""

from __future__ import annotations

import itertools
import multiprocessing
import random
from pathlib import Path
from typing import Any

from tests.real_parts import start_zookeeper

CONTROLLERS = 3
_opened: dict[str, Any] = {}


def measure(folder: Path, races: int) -> None:
    """Run them in turn, kind by kind, and print how many went wrong."""
    where = folder / "races"
    where.mkdir()
    zookeeper = start_zookeeper(where)
    try:
        with multiprocessing.get_context("spawn").Pool(
            CONTROLLERS, initializer=_open, initargs=(zookeeper.hosts, str(where))
        ) as pool:
            results = _run(pool, races)
    finally:
        zookeeper.stop()
    print(f"{races} races of {CONTROLLERS} controllers, each with a session of its own, on a real ZooKeeper")
    for kind, (count, wrong) in results.items():
        print(f"  {kind:<58} {count:5d} races, {len(wrong)} lost an entry or the live snapshot {wrong[:2] or ''}")
    print(
        f"  in all {sum(len(w) for _, w in results.values())} of {races}   Pinot 1.5.1: 10 of 28 and 3 of 3   "
        "aim 0 of 1,000"
    )


def _run(pool: Any, races: int) -> dict[str, tuple[int, list[Any]]]:
    kinds = pool.apply(_kinds)
    results: dict[str, tuple[int, list[Any]]] = {kind: (0, []) for kind in kinds}
    for number, kind in zip(range(races), itertools.cycle(kinds), strict=False):
        parts = pool.apply(_prepare, (kind, number))
        running = {i: pool.apply_async(_act, (kind, number, i)) for i in random.sample(range(parts), parts)}
        verdict = pool.apply(_judge, (kind, number, [running[i].get(60) for i in range(parts)]))
        results[kind] = (results[kind][0] + 1, results[kind][1] + ([verdict] if verdict else []))
    return results


def _open(hosts: str, where: str) -> None:
    import os

    os.environ["DJANGO_SETTINGS_MODULE"] = "pinotadmin.settings"
    import django

    django.setup()
    from segments.services.core import audit
    from segments.store.on_zookeeper.client import ZooKeeperStore

    audit.record = lambda *_, **__: None  # the audit table is not what is measured here
    _opened.update(store=ZooKeeperStore(hosts, "races"), where=where)


def _controller(number: int) -> Any:
    from tests.faults.controllers import Controller

    return Controller(_opened["store"], Path(_opened["where"]), f"t{number}")


def _kinds() -> list[str]:
    from tests.faults.controllers import RACES

    return list(RACES)


def _prepare(kind: str, number: int) -> int:
    from tests.faults.controllers import RACES

    before, parts, _ = RACES[kind]
    answers = _controller(number).create().act(before)
    assert len(answers) == len(before), answers
    return len(parts)


def _act(kind: str, number: int, part: int) -> list[str]:
    from tests.faults.controllers import RACES

    return list(_controller(number).act(RACES[kind][1][part]))


def _judge(kind: str, number: int, answers: list[list[str]]) -> Any:
    """None when all is well, else what was found."""
    from tests.faults.controllers import RACES

    controller = _controller(number)
    states = {e.id: e.state.value for e in controller.look().lineage.entries.values()}
    visible = controller.visible
    return None if RACES[kind][2](answers, states, visible) else (answers, states, sorted(visible))

"""Rebalances a table between real servers over HTTP while clients query it, and counts what they got."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from segments.clusters.embedded.rebalance.jobs import advance
from segments.domain.rebalance.job import Job
from segments.domain.rebalance.options import Options
from segments.names import OFFLINE, TableName
from segments.services.core.context import Actor, Context
from segments.store import paths
from tests.dataplane.world import World, poll
from tests.services.embedded_engine import EMBEDDED
from tests.waiting import wait_until

TABLE = TableName("t", OFFLINE)
ACTOR = Actor("bench", "a third server came")


@dataclass
class Answers:
    """What clients got: ``failed`` are the first words of errors and wrong counts, times in seconds."""

    rows: int
    times: list[float] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Figures:
    """What one rebalance did: ``least`` is the fewest replicas that any segment was served by."""

    seconds: float
    moved: int
    least: int
    load: dict[str, int]
    answers: Answers


def context_of(world: World) -> Context:
    """A context over the world's store."""
    return Context(
        cluster="test",
        store=world.store,
        deep_store=world.deep_store,
        clock=lambda: int(time.time() * 1000),
        new_id=lambda: f"job-{time.monotonic_ns()}",
        controller_url="http://127.0.0.1:9000",
        engine=EMBEDDED,
    )


@contextmanager
def queries(world: World, answers: Answers, clients: int) -> Iterator[None]:
    """So many clients count the table's rows, one query after the other, while the block runs."""
    broker, is_over = world.start_broker(), threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            began = time.perf_counter()
            answer = broker.query("select count(*) from t")
            answers.times.append(time.perf_counter() - began)
            if answer["exceptions"]:
                answers.failed[str(answer["exceptions"][0]["message"])[:120]] += 1
            elif (rows := answer["resultTable"]["rows"][0][0]) != answers.rows:
                answers.failed[f"{rows} rows"] += 1

    threads = [threading.Thread(target=ask, name=f"client-{number}") for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def measure(world: World, segments: int, rows: int, clients: int, drop_grace_s: float = 10.0) -> Figures:
    """Fill two servers, start a third, rebalance."""
    world.create_table()
    for number in (1, 2):
        world.start_server(number, drop_grace_s=drop_grace_s)
    names = [f"s{number:05}" for number in range(segments)]
    for name in names:
        world.record(name, world.build(name, rows))
    world.assign(names, servers=(1, 2))
    poll(lambda: fewest_replicas(world) == 2, 300, "two replicas of everything")
    world.start_server(3, drop_grace_s=drop_grace_s)
    ctx, answers = context_of(world), Answers(segments * rows)
    with queries(world, answers, clients):
        poll(lambda: len(answers.times) > 2 * clients, 60, "the first answers")
        began = time.perf_counter()
        EMBEDDED.rebalance.start(ctx, TABLE, Options(), ACTOR)
        job, least = to_the_end(world, ctx)
        took = time.perf_counter() - began
        seen = len(answers.times)
        poll(lambda: len(answers.times) > seen + 4 * clients, 60, "answers after the rebalance")
        if drop_grace_s < 1:
            poll(lambda: world.states("s00000").keys() == ideal(world)["s00000"].keys(), 20, "the old replicas gone")
    load = Counter(server for row in ideal(world).values() for server in row)
    return Figures(took, job.done.added, least, dict(load), answers)


def to_the_end(world: World, ctx: Context) -> tuple[Job, int]:
    """Take every step; the finished job and the fewest replicas that any segment was served by meanwhile."""
    fewest = [2]

    def ended() -> Job | None:
        fewest.append(fewest_replicas(world))
        job = advance(ctx, TABLE)
        return None if job is None or job.is_open else job

    job = wait_until(ended, 300, "the end of the rebalance", every_s=0.05)
    assert job is not None
    return job, min(fewest)


def ideal(world: World) -> dict[str, dict[str, str]]:
    """The rows of the ideal state."""
    node = world.store.get(paths.ideal_state(TABLE.typed))
    return dict(node.record.maps)


def fewest_replicas(world: World) -> int:
    """The fewest servers that serve a segment and should."""
    node, wanted = world.store.get(paths.external_view(TABLE.typed)), ideal(world)
    view = node.record.maps if node is not None else {}
    return min(sum(i in view.get(s, {}) for i in row) for s, row in wanted.items())

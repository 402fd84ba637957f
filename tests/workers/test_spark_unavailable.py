"""What is noticed of a Spark cluster that gives a push nothing to build with, on a SparkContext in words only."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from segments.spark.executors import Executors, ExecutorsLost, SparkUnavailable, check_master

MASTER = "spark://master.example:7077"


class Context:
    """A SparkContext whose number of executors and settings are given."""

    def __init__(self, executors: int, **conf: str) -> None:
        self.executors, self.conf = executors, conf
        self._jsc = self

    def sc(self) -> Context:
        return self

    def getExecutorMemoryStatus(self) -> Context:
        return self

    def size(self) -> int:
        return self.executors + 1

    def getConf(self) -> Any:
        return self

    def get(self, key: str, other: str = "") -> str:
        return self.conf.get(key.removeprefix("spark.").replace(".", "_"), other)


class Time:
    """Seconds that are set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def master_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segments.spark.executors.check_master", lambda master: None)


def watched(context: Context, time: Time, master: str = MASTER) -> Executors:
    return Executors(context, master, seconds=time)


def passes(executors: Executors, time: Time, seconds: float) -> None:
    """So much time, in which a job runs."""
    until = time.now + seconds
    while time.now < until:
        time.now = min(time.now + 1.5, until)
        executors.check()


def test_a_push_that_gets_no_executor_for_a_minute_says_so_with_the_cause() -> None:
    time = Time()
    executors = watched(Context(0, executor_memory="2g", driver_host="10.1.2.3", driver_port="4040"), time)
    passes(executors, time, 55)
    with pytest.raises(SparkUnavailable) as said:
        passes(executors, time, 10)
    for words in (MASTER, "no executor for 60 s", "2g", "10.1.2.3:4040", "spark.cores.max", "DRIVER_HOST"):
        assert words in str(said.value), words


def test_executors_that_come_late_are_waited_for() -> None:
    time, context = Time(), Context(0)
    executors = watched(context, time)
    passes(executors, time, 55)
    context.executors = 1
    passes(executors, time, 300)


def test_executors_that_are_gone_for_good_are_noticed_after_ten_seconds() -> None:
    time, context = Time(), Context(2)
    executors = watched(context, time)
    passes(executors, time, 20)
    assert not executors.are_lost()
    context.executors = 0
    assert executors.are_lost()
    passes(executors, time, 8)
    with pytest.raises(ExecutorsLost):
        passes(executors, time, 5)


def test_with_dynamic_allocation_an_idle_context_has_none_and_waits_for_others() -> None:
    time, context = Time(), Context(2, dynamicAllocation_enabled="true")
    executors = watched(context, time)
    passes(executors, time, 20)
    context.executors = 0
    time.now += 600
    assert not executors.are_lost()
    passes(executors, time, 55)
    with pytest.raises(SparkUnavailable):
        passes(executors, time, 10)


def test_a_local_session_is_its_own_executor() -> None:
    time = Time()
    executors = watched(Context(0), time, "local[2]")
    passes(executors, time, 300)
    assert not executors.are_lost()


def test_a_master_that_does_not_answer_is_named_and_one_of_two_is_enough() -> None:
    with socket.socket() as closed, socket.socket() as opened:
        for one in (closed, opened):
            one.bind(("127.0.0.1", 0))
        opened.listen()
        gone, there = (f"127.0.0.1:{one.getsockname()[1]}" for one in (closed, opened))
        with pytest.raises(SparkUnavailable, match=gone):
            check_master(f"spark://{gone}")
        check_master(f"spark://{gone},{there}")
    for other in ("yarn", "k8s://https://kubernetes.default.svc", "local[2]"):
        check_master(other)


@pytest.mark.parametrize(
    "address", ["host:65536", "host:0", "host:", "host", ":7077", "host:7077x", "", "a:1,b:99999999"]
)
def test_an_address_that_no_master_can_have_is_named_with_what_one_looks_like(address: str) -> None:
    wrong = address.rpartition(",")[2]
    with pytest.raises(SparkUnavailable, match=f"'{wrong}' is no address of a Spark master") as refused:
        check_master(f"spark://{address}")
    assert "spark://HOST:PORT" in str(refused.value.remedy)

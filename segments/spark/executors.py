"""Whether a Spark cluster gives this process something to build with, and if not, why."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any, Final

from segments.domain.push.spark_master import standalone_masters
from segments.errors import Unavailable

#: Seconds that a job waits for its first executor.
PATIENCE_S: Final = 60.0
#: Seconds after which a context whose executors are all gone is given up: another one in a lost one's place comes
#: sooner, and a master that was started again knows nothing of this context and ends its executors.
_LOST_S: Final = 10.0
_EVERY_S: Final = 1.0
_PAUSE_S: Final = 5.0
_CONNECT_S: Final = 3.0


class SparkUnavailable(Unavailable):
    """The Spark cluster gives nothing to build with now; nothing was tried."""


class ExecutorsLost(SparkUnavailable):
    """The executors of a context are gone for good; another context gets others."""


def is_local(master: str) -> bool:
    """Are executors threads of the driver itself?"""
    return master.startswith("local")


def _masters(master: str) -> list[tuple[str, str]]:
    try:
        return standalone_masters(master)
    except ValueError as error:
        raise SparkUnavailable(
            f"'{error}' is no address of a Spark master.",
            remedy="SPARK_MASTER is spark://HOST:PORT, or spark://HOST:PORT,HOST:PORT, with ports from 1 to 65535.",
        ) from error


def check_master(master: str) -> None:
    """SparkUnavailable when no master of a standalone cluster takes connections. Spark itself tries for a minute."""
    whys = []
    for host, port in _masters(master):
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
        except OSError as error:
            whys.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return
    if whys:
        raise SparkUnavailable(
            f"The master of the Spark cluster does not answer ({'; '.join(whys)}).",
            remedy="Start it, or check SPARK_MASTER. The push continues automatically.",
        )


def count(spark: Any) -> int:
    """Executors of this SparkContext that are registered now."""
    return int(spark._jsc.sc().getExecutorMemoryStatus().size()) - 1  # the driver is in it


class Executors:
    """Those of one context on a cluster. ``check`` is called now and then while a job runs."""

    def __init__(
        self, spark: Any, master: str, *, patience_s: float = PATIENCE_S, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._spark, self._master, self._patience_s, self._seconds = spark, master, patience_s, seconds
        self._next = self._none_since = seconds()
        #: With dynamic allocation an idle context gives its executors back.
        self._keeps_them = spark.getConf().get("spark.dynamicAllocation.enabled", "false").lower() != "true"
        self._had_some = False

    def check(self) -> None:
        """SparkUnavailable when the context has had no executor for too long."""
        if is_local(self._master) or self._seconds() < self._next:
            return
        if self._seconds() > self._next + _PAUSE_S:
            self._none_since = self._seconds()  # no job ran for a while
        self._next = self._seconds() + _EVERY_S
        if count(self._spark):
            self._none_since, self._had_some = self._seconds(), True
            return
        none_s = self._seconds() - self._none_since
        if self._had_some and self._keeps_them and none_s >= _LOST_S:
            check_master(self._master)
            raise ExecutorsLost(
                "All executors of the Spark cluster are gone, and none came in their place "
                f"within {_LOST_S:.0f} s: its master was started again, or its workers stopped.",
                remedy="The push continues automatically.",
            )
        if none_s >= self._patience_s:
            check_master(self._master)
            raise self._no_executor()

    def are_lost(self) -> bool:
        """Had it executors, and has none now, although it keeps them? What is built next needs another context."""
        return not is_local(self._master) and self._had_some and self._keeps_them and not count(self._spark)

    def _no_executor(self) -> SparkUnavailable:
        conf = self._spark.getConf()
        memory, cores = conf.get("spark.executor.memory", "1g"), conf.get("spark.executor.cores", "all of a worker's")
        driver = f"{conf.get('spark.driver.host', '')}:{conf.get('spark.driver.port', '')}"
        return SparkUnavailable(
            f"{self._master} gave no executor for {self._patience_s:.0f} s. Either no worker of it has room "
            f"(asked for: {memory} of memory and {cores} cores each), for example because another application holds "
            f"all cores, or its executors do not reach this process at {driver}.",
            remedy="The cluster's own page shows who holds what. spark.cores.max or spark.dynamicAllocation.enabled in "
            "spark-defaults.conf let several workers share a cluster; PINOTADMIN_SPARK_DRIVER_HOST is the address for "
            "executors. The push continues automatically.",
        )

"""One SparkContext per process: made when first needed, kept warm, made again when its JVM is gone.

The JVM reads our end of its standard input and ends with this process, however that ends. No SparkSession: building
needs no SQL, and its classes cost seconds.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
import warnings
from pathlib import Path
from traceback import walk_tb
from typing import Any, Final

from segments.errors import Unavailable
from segments.spark.executors import Executors, SparkUnavailable, check_master, is_local
from segments.spark.shipped_code import shipped_code

log = logging.getLogger(__name__)
_REPOSITORY: Final = Path(__file__).resolve().parents[2]
_JVM_FLAGS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -XX:-UsePerfData"
#: Every port of a local session takes only who proves, and encrypts with, a secret that its JVM makes for itself: it
#: stands in no command line, file or log. With another master the secret is one that its operator gave to master and
#: executors.
_CLOSED: Final = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
}
#: How often Spark gives a part to another Python worker when one dies; bad data is never tried twice.
_TASK_ATTEMPTS: Final = 3
#: Characters of what Spark says when it does not start.
_LONGEST_WHY: Final = 1_000
_lock = threading.RLock()
_contexts: dict[str, Any] = {}
_executors: dict[str, Executors] = {}


def context(master: str) -> Any:
    """The living SparkContext of this process for a master such as ``local[*]``. Unavailable when Java or the master
    does not answer.
    """
    with _lock:
        found = _contexts.get(master)
        if found is not None and is_alive(found) and not _is_lost(master):
            return found
        if found is not None:
            log.warning("The Spark context of this process is of no use any more; starting another.")
        forget()
        check_master(master)
        _contexts[master] = _start(master)
        _executors[master] = Executors(_contexts[master], master)
        return _contexts[master]


def check_executors(master: str) -> None:
    """To be called while a job runs. SparkUnavailable when the cluster gives it no executors; its context is
    forgotten then, so that the next job begins with another one.
    """
    watched = _executors.get(master)
    if watched is None:
        return
    try:
        watched.check()
    except SparkUnavailable:
        forget()
        raise


def is_alive(found: Any) -> bool:
    """Whether the context's JVM still runs and the context is not stopped, which a cluster does, too."""
    gateway = found._gateway
    process = getattr(gateway, "proc", None)
    if found._jsc is None or (process is not None and process.poll() is not None):
        return False
    from py4j.protocol import Py4JError  # see forget

    try:
        return not found._jsc.sc().isStopped()
    except Py4JError:  # it is going down at this moment
        return False


def _is_lost(master: str) -> bool:
    from py4j.protocol import Py4JError  # see forget

    try:
        return _executors[master].are_lost()
    except Py4JError:
        return True


def forget() -> None:
    """Let go of this process's contexts, and end their JVMs."""
    with _lock:
        from pyspark import SparkContext  # first import of pyspark: 0.2 s that processes without pushes never pay

        for found in _contexts.values():
            _end(found)
        _contexts.clear()
        _executors.clear()
        SparkContext._active_spark_context = None
        SparkContext._gateway = None
        SparkContext._jvm = None


def warm(master: str) -> float:
    """Start the context and one Python worker per core, so that the next push is fast; returns the seconds it took."""
    began = time.monotonic()
    spark = context(master)
    cores = spark.defaultParallelism
    spark.parallelize(range(cores), cores).map(_rehearse).count()
    return time.monotonic() - began


def _rehearse(item: int) -> int:
    """Build a tiny segment, so that all code is loaded; slowly enough that every core gets a worker of its own."""
    from segments.spark.warm_up import rehearse  # loaded in the executor, not here

    rehearse()
    time.sleep(0.05)
    return item


def _end(found: Any) -> None:
    process = getattr(found._gateway, "proc", None)
    try:
        if is_alive(found):
            found.stop()
    except Exception:
        log.debug("Spark did not stop in order.", exc_info=True)
    if process is not None:
        if process.stdin is not None:
            process.stdin.close()
        process.kill()
        process.wait()


def _start(master: str) -> Any:
    from pyspark import SparkConf, SparkContext  # see forget

    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if not is_local(master):  # on the executors' machines
        os.environ["PYSPARK_PYTHON"] = os.environ.get("PINOTADMIN_SPARK_PYTHON") or sys.executable
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != str(_REPOSITORY)]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_REPOSITORY), *paths])
    conf = SparkConf().setMaster(_with_attempts(master)).setAppName("pinotadmin push")
    for key, value in own_settings(master).items():
        conf = conf.set(key, value)
    try:
        started = SparkContext(conf=conf)
        if not is_local(master):
            started.addPyFile(shipped_code())
        return started
    except Exception as error:
        why = _why(error)  # asked of the JVM, which is ended next
        _drop_half_started(SparkContext, error)
        raise Unavailable(
            f"Spark could not be started with master '{master}': {why}.",
            remedy="Check JAVA_HOME, SPARK_MASTER and the files of HADOOP_CONF_DIR and SPARK_CONF_DIR.",
        ) from error


def _why(error: Exception) -> str:
    """The error and its causes, without where in Spark they were raised."""
    lines = [line.strip() for line in str(error).splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("at ", "...")))[:_LONGEST_WHY].rstrip(".")


def _drop_half_started(kind: Any, error: Exception) -> None:
    drop_launcher(error)
    process = getattr(kind._gateway, "proc", None)
    if process is not None:
        process.kill()
        process.wait()
    kind._active_spark_context = kind._gateway = kind._jvm = None


def drop_launcher(error: Exception) -> None:
    """PySpark forgets a launcher that ended early, with its pipe open."""
    for frame, _ in walk_tb(error.__traceback__):
        pipe = getattr(frame.f_locals.get("proc"), "stdin", None)
        if pipe is not None:
            pipe.close()


def own_settings(master: str) -> dict[str, str]:
    """What every context is made with; it goes before spark-defaults.conf."""
    common = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.speculation": "false",
        "spark.task.maxFailures": str(_TASK_ATTEMPTS),
        "spark.python.worker.reuse": "true",
    }
    if not is_local(master):
        return {**common, **_driver_addresses()}
    local = {
        "spark.python.daemon.module": "segments.spark.worker_daemon",
        "spark.executorEnv.PYTHONPATH": str(_REPOSITORY),
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "512m",
    }  # fmt: skip
    return {**common, **local, **_CLOSED, "spark.driver.extraJavaOptions": _JVM_FLAGS}


def _driver_addresses() -> dict[str, str]:
    """Where executors of a cluster reach this process, and its UI, by the environment; else Spark decides."""
    names = {
        "spark.driver.host": "PINOTADMIN_SPARK_DRIVER_HOST",
        "spark.driver.bindAddress": "PINOTADMIN_SPARK_DRIVER_BIND_ADDRESS",
        "spark.ui.enabled": "PINOTADMIN_SPARK_UI",
    }
    return {key: text for key, name in names.items() if (text := os.environ.get(name))}


def ui_address(master: str) -> str | None:
    """Where the Spark UI of this process's running context is; None when there is none, or it has no UI."""
    found = _contexts.get(master)
    return found.uiWebUrl if found is not None and is_alive(found) else None


def _with_attempts(master: str) -> str:
    """``local[*]`` -> ``local[*,3]``: a local master has its number of attempts there."""
    found = re.fullmatch(r"local(?:\[([\d*]+)\])?", master)
    return f"local[{found[1] or 1},{_TASK_ATTEMPTS}]" if found else master

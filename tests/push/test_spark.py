"""Building with a real Spark: the same segments as in this process, bad rows by file and line, and a JVM that is
killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.errors import Unavailable
from segments.models import Push
from segments.services.push.push_run import run_push
from segments.spark import session
from segments.spark.build_segments import SparkBuilder
from tests.push.pushing import PushWorld

pytestmark = [pytest.mark.django_db, pytest.mark.integration]
MASTER = "local[2]"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkBuilder]:
    yield SparkBuilder(MASTER)
    session.forget()


@pytest.fixture(autouse=True)
def _no_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's transaction would keep the lease's thread waiting."""
    monkeypatch.setattr("segments.services.push.push_session.HEARTBEAT_S", 600.0)


def run(world: PushWorld, push: Push, builder: SparkBuilder) -> Push:
    run_push(world.ctx, str(push.pk), "me", builder=builder)
    push.refresh_from_db()
    return push


def test_spark_builds_the_same_bytes_as_this_process(tmp_path: Path, spark: SparkBuilder) -> None:
    crcs = []
    for name in ("here", "spark"):
        world = PushWorld(tmp_path / name)
        for i in range(4):
            world.file(f"{i}.csv", *(f"Rom,{i},17000" for i in range(10)))
        push = world.create(executionFrameworkSpec={"extraConfigs": {"segmentTargetRows": 15}})
        done = run(world, push, spark) if name == "spark" else world.run(push)
        assert (done.state, done.error, done.rows, done.files_done) == (Push.State.DONE, "", 40, 4)
        crcs.append([(s.name, s.crc, s.rows) for s in push.segments.all()])
    assert crcs[0] == crcs[1]


def test_a_bad_row_fails_the_push_with_file_line_and_column(tmp_path: Path, spark: SparkBuilder) -> None:
    world = PushWorld(tmp_path)
    world.file("1.csv", "Rom,1,17000")
    bad = world.file("2.csv", "Rom,1,17000", "Rom,one,17000")
    push = run(world, world.create(), spark)
    assert push.state == Push.State.FAILED
    assert f"First: Input file '{bad}' line 3: Column 'n': value 'one' does not convert to INT." in push.error
    assert world.ideal == []


def test_after_its_jvm_was_killed_the_next_attempt_goes_on(tmp_path: Path, spark: SparkBuilder) -> None:
    world = PushWorld(tmp_path)
    world.file("1.csv", "Rom,1,17000")
    push = world.create()
    process = session.context(MASTER)._gateway.proc
    process.kill()
    process.wait()
    assert run(world, push, spark).state == Push.State.DONE


# pyspark leaves the pipe of a launcher that failed to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_task_raised_stands_in_place_of_the_jvms_hundred_lines() -> None:
    text = (
        "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
        ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 3 times\n"
        'Traceback (most recent call last):\n  File "build_part.py", line 1, in stage\n'
        "segments.gateways.deep_store.store_fault.StoreFault: The deep store s3://b could not write 'Staging/x': no.\n"
        "\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala:572)\n"
    )
    lost = SparkBuilder(MASTER)._lost(RuntimeError(text))
    assert lost.message == (
        "Spark failed while building segments: The deep store s3://b could not write 'Staging/x': no."
    )
    assert "RuntimeError: gone" in SparkBuilder(MASTER)._lost(RuntimeError("gone")).message


def test_a_master_that_is_not_there_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(Unavailable, match="Spark could not be started"):
        session.context("local[1]")


def test_a_cluster_that_refuses_is_reported_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[object] = []

    class Refused(Exception):
        def __str__(self) -> str:
            if ended:  # its text comes from the JVM
                raise ConnectionRefusedError
            return (
                "An error occurred while calling None.JavaSparkContext.\n: KubernetesClientException: An error.\n"
                "\tat org.apache.spark.SparkContext.<init>(SparkContext.scala:632)\n\t... 20 more\n"
                "Caused by: java.io.IOException: Connection refused: /127.0.0.1:1\n"
            )

    def start(**_: object) -> None:
        raise Refused

    monkeypatch.setattr("pyspark.SparkContext", start)
    monkeypatch.setattr(session, "_drop_half_started", lambda *given: ended.append(given))
    with pytest.raises(Unavailable) as refused:
        session._start("k8s://https://127.0.0.1:1")
    assert refused.value.message == (
        "Spark could not be started with master 'k8s://https://127.0.0.1:1': An error occurred while calling "
        "None.JavaSparkContext. : KubernetesClientException: An error. Caused by: java.io.IOException: Connection "
        "refused: /127.0.0.1:1."
    )
    assert "HADOOP_CONF_DIR" in refused.value.remedy

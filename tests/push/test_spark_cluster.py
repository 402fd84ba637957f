"""Building on a Spark cluster: executors read input and stage segments themselves, and one that is killed repeats only
what it had not finished.
"""

from __future__ import annotations

import os
import signal
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments.domain.ingestion.session import SessionState
from segments.models import Push
from segments.services.ingestion import sessions
from segments.services.ingestion.session_run import run_session
from segments.services.push.push_run import run_push
from segments.spark import session
from segments.spark.build_segments import SparkBuilder
from segments.spark.shipped_code import shipped_code
from tests.ingestion.ingesting import SYNC, IngestionWorld
from tests.push.pushing import PushWorld
from tests.services.world import TABLE
from tests.spark_cluster import spark_cluster
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkBuilder]:
    with pytest.MonkeyPatch.context() as patch, spark_cluster(tmp_path_factory.mktemp("spark")) as master:
        patch.setenv("PINOTADMIN_SPARK_DRIVER_HOST", "127.0.0.1")
        patch.setenv("PINOTADMIN_SPARK_DRIVER_BIND_ADDRESS", "127.0.0.1")
        patch.setenv("PINOTADMIN_SPARK_UI", "true")
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        yield SparkBuilder(master)
        session.forget()


def test_the_shipped_code_is_the_same_each_time_and_without_django() -> None:
    with zipfile.ZipFile(shipped_code()) as archive:
        names = archive.namelist()
        code = b"".join(archive.read(n) for n in names if "celery_queue" not in n)
    assert "segments/spark/build_part.py" in names
    assert not [n for n in names if n.startswith(("segments/models", "segments/services", "segments/api"))]
    assert b"import django" not in code
    assert b"from django" not in code


def test_a_cluster_builds_the_same_bytes_as_this_process(
    tmp_path: Path, builder: SparkBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segments.services.push.push_session.HEARTBEAT_S", 600.0)
    crcs = []
    for name in ("here", "cluster"):
        world = PushWorld(tmp_path / name)
        for i in range(4):
            world.file(f"{i}.csv", *(f"Rom,{i},17000" for i in range(10)))
        push = world.create()
        if name == "cluster":
            run_push(world.ctx, str(push.pk), "me", builder=builder)
            push.refresh_from_db()
        else:
            push = world.run(push)
        assert (push.state, push.error, push.rows) == (Push.State.DONE, "", 40)
        crcs.append([(s.name, s.crc, s.rows) for s in push.segments.all()])
    assert crcs[0] == crcs[1]
    assert (session.ui_address(builder.master) or "").startswith("http://")
    assert session.ui_address("spark://another:7077") is None


def test_a_session_reads_its_files_on_a_cluster_and_its_retry_reads_the_failed_one_only(
    tmp_path: Path, builder: SparkBuilder
) -> None:
    world = IngestionWorld(tmp_path, SYNC)
    for name in ("F1", "F2", "F3"):
        world.put(name, 10, bad=name == "F3")
    for rows, state in ((0, SessionState.IN_PROGRESS), (30, SessionState.DONE)):
        session = world.trigger().session_id
        assert session is not None
        run_session(world.ctx, TABLE, session, "me", builder=builder)
        assert (world.session.id, world.session.state, world.vis) == (session, state, rows), world.session.error
        world.put("F3", 10)
        world.now += 600_000
    files = sessions.files_of(world.ctx, world.session)
    assert {Path(f.uri).name: f.attempts for f in files} == {"F1": 1, "F2": 1, "F3": 2}


def test_an_executor_that_is_killed_repeats_only_what_it_had_not_finished(
    tmp_path: Path, builder: SparkBuilder
) -> None:
    marks, victim, killed = tmp_path / "marks", tmp_path / "victim", tmp_path / "killed"
    marks.mkdir()

    def work(item: int) -> dict[str, Any]:
        import os  # in the executor
        import pathlib
        import threading
        import uuid

        (pathlib.Path(marks) / f"{item}-{uuid.uuid4()}").touch()
        if item == 5 and not killed.exists():
            daemon = pathlib.Path(f"/proc/{os.getppid()}/status").read_text()
            victim.write_text(daemon.split("PPid:")[1].split()[0])
            threading.Event().wait(60)
        return {"item": item}

    answers: list[dict[str, Any]] = []
    run = threading.Thread(target=builder._run, args=(list(range(8)), work, answers.extend))
    run.start()
    pid = int(wait_until(lambda: victim.exists() and victim.read_text(), 240, "the victim's number"))
    wait_until(lambda: len({a["item"] for a in answers}) == 7, 120, "the other executor does all else")
    killed.touch()
    os.kill(pid, signal.SIGKILL)
    run.join(120)
    assert {a["item"] for a in answers} == set(range(8))
    times = [sum(1 for m in marks.iterdir() if m.name.startswith(f"{i}-")) for i in range(8)]
    assert times == [1, 1, 1, 1, 1, 2, 1, 1]

"""The example for Airflow with Airflow's own package: a push is found by its run, a snapshot is waited for, a rollback
is done once.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from segments.models import Push
from tests.api.cluster import ApiCluster, served
from tests.api.replacement.test_lineage import replaced
from tests.api.replacement.test_lineage import table as table
from tests.factories import make_push

ROOT = Path(__file__).parents[2]
AIRFLOW = Path(os.environ.get("AIRFLOW_PYTHON", ROOT / ".venv-airflow/bin/python"))

pytestmark = pytest.mark.skipif(
    not AIRFLOW.exists(), reason="Airflow's package is not installed: examples/airflow/README.md says how"
)


@pytest.fixture
def cluster(tmp_path: Path, transactional_db: None, settings: Any) -> Iterator[ApiCluster]:
    settings.ROOT_URLCONF = "segments.api.urls"
    with served(tmp_path) as made:
        yield made


def run(server: LiveServer, folder: Path, name: str, **given: Any) -> Any:
    """What one task returns."""
    connection = {"conn_type": "http", "host": server.url, "login": "root", "password": "a long enough secret"}
    made = subprocess.run(
        [AIRFLOW, "-m", "tests.airflow.run_task", name, json.dumps(given)],
        env={
            "AIRFLOW_HOME": str(folder / "airflow"), "AIRFLOW_CONN_PINOTADMIN_DEFAULT": json.dumps(connection),
            "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"],
        },
        cwd=ROOT, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[-2000:]
    return json.loads(made.stdout.splitlines()[-1])


def test_a_push_of_the_same_run_is_found_again(
    table: ApiCluster, live_server: LiveServer, tmp_path: Path, tasks: list[Any]
) -> None:
    push = {"table": "t", "spec": {"jobType": "odd"}, "reason": "Monday", "poll_s": 0.1, "timeout_s": 5}
    make_push(table_name="t", cluster="test", reason="Monday (test.it, run run-1)", state="DONE", entry_id="id-7")
    assert run(live_server, tmp_path, "PinotPushOperator", **push) == "id-7"
    Push.objects.update(state="BLOCKED", error="rows: 5 rows, 20 are replaced")
    assert "waits for a decision" in run(live_server, tmp_path, "PinotPushOperator", **push)["failed"]
    assert Push.objects.count() == 1


def test_a_snapshot_is_waited_for_and_rolled_back_once(
    table: ApiCluster, live_server: LiveServer, tmp_path: Path
) -> None:
    wanted = {"table": "t", "entry": replaced(table, ["a"], ["b"])}
    assert run(live_server, tmp_path, "PinotSnapshotSensor", **wanted) is True
    assert run(live_server, tmp_path, "PinotSnapshotSensor", table="t", entry="other") is False
    back = wanted | {"reason": "the check failed"}
    assert run(live_server, tmp_path, "PinotRollbackOperator", **back) == [wanted["entry"]]
    assert run(live_server, tmp_path, "PinotRollbackOperator", **back) == []
    assert "was rolled back" in run(live_server, tmp_path, "PinotSnapshotSensor", **wanted)["failed"]


def test_the_dag_of_the_example_is_read_by_airflow(tmp_path: Path) -> None:
    code = "import examples.airflow.flights as f; print(sorted(f.dag.task_ids))"
    env = {"AIRFLOW_HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    made = subprocess.run([AIRFLOW, "-c", code], env=env, capture_output=True, text=True, timeout=100, check=True)
    assert made.stdout.splitlines()[-1] == "['back', 'check', 'push', 'visible']"

"""A table config whose task cannot run is refused on save; what has no effect is named; the linter says everything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from segments import wiring
from segments.clusters.embedded.tables import table_changes
from segments.domain.tables.table_config import parse_table_config
from segments.gateways.input_files.rules import InputRules
from segments.models import AuditEvent
from tests.api.cluster import ApiCluster, config_of

JSON = "application/json"
GOOD = {"inputDirURI": "file:///tmp", "inputFormat": "csv", "schedule": "0 */30 * * * ?"}
AT = "task.taskTypeConfigsMap.FileIngestionTask"


def with_task(name: str = "t", task: dict[str, Any] | None = None, **types: Any) -> dict[str, Any]:
    found = {} if task is None else {"FileIngestionTask": task}
    return config_of(name, task={"taskTypeConfigsMap": {**found, **types}})


def save(cluster: ApiCluster, config: dict[str, Any]) -> Any:
    return cluster.http.put("/tables/t", config, JSON)


@pytest.fixture
def table(cluster: ApiCluster) -> Iterator[ApiCluster]:
    """Files below /tmp, and of one bucket, may be read."""
    ctx = replace(cluster.ctx, inputs=InputRules(("/tmp", "s3://bucket/in")))
    with wiring.use(ctx, cluster.broker):
        yield cluster.create("t")


def test_a_good_task_is_saved_and_the_answer_is_that_of_pinot(table: ApiCluster) -> None:
    answer = save(table, with_task(task=GOOD))
    assert (answer.status_code, sorted(answer.json())) == (200, ["status", "unrecognizedProperties"])


@pytest.mark.parametrize(
    ("change", "field", "position"),
    [
        ({"schedule": "0 */70 * * * ?"}, "schedule", 5),
        ({"schedule": "*/30 * * * *"}, "schedule", 13),
        ({"scheduleTimeZone": "Mars/Olympus"}, "scheduleTimeZone", None),
        ({"inputDirURI": ""}, "inputDirURI", None),
        ({"consistentPushMaxRetries": "-1"}, "consistentPushMaxRetries", None),
        ({"inputFormat": "xls"}, "inputFormat", None),
        ({"inputDirURI": "ftp://host/in"}, "inputDirURI", None),
        ({"inputDirURI": "s3://bucket/in/../out"}, "inputDirURI", None),
        ({"input.fs.className": "org.acme.FtpPinotFS"}, "input.fs.className", None),
        ({"inputDirURI": "s3://bucket/in", "input.fs.prop.gcpKey": "/key"}, "input.fs.prop.gcpKey", None),
        ({"inputDirURI": "s3://bucket/in", "input.fs.prop.accessKey": "a"}, "input.fs.prop.accessKey", None),
    ],
)
def test_a_wrong_task_is_refused_with_key_position_and_reason(
    table: ApiCluster, change: dict[str, str], field: str, position: int | None
) -> None:
    body = with_task(task=GOOD | change)
    for answer in (save(table, body), table.http.post("/tables/validate", body, JSON)):
        assert answer.status_code == 400, answer.content
        assert answer.json()["field"] == f"{AT}.{field}"
        assert answer.json().get("position") == position
        assert answer.json()["remedy"]
    assert AuditEvent.objects.filter(action="updateTable", outcome="refused").count() == 1
    assert "task" not in table.http.get("/tables/t").json()["OFFLINE"]


def test_a_new_table_with_a_wrong_task_is_not_created(table: ApiCluster) -> None:
    assert table.http.delete("/tables/t").status_code == 200
    answer = table.http.post("/tables", with_task(task=GOOD | {"schedule": "never"}), JSON)
    assert answer.status_code == 400
    assert "begins with the seconds" not in answer.json()["error"]
    assert table.http.get("/tables").json() == {"tables": []}


def test_a_wrong_task_that_is_stored_already_does_not_block_other_changes(table: ApiCluster) -> None:
    stored = with_task(task=GOOD | {"schedule": "never"})
    table_changes.update_table(table.ctx, parse_table_config(stored), {})
    assert save(table, {**stored, "quota": {"storage": "1G"}}).status_code == 200
    stored["task"]["taskTypeConfigsMap"]["FileIngestionTask"]["schedule"] = "ever"
    assert save(table, stored).status_code == 400


def test_keys_without_effect_are_named_and_the_config_is_saved(table: ApiCluster) -> None:
    answer = save(table, with_task(task=GOOD | {"push.mode": "TAR", "consistentpushenabled": "true"}))
    assert answer.status_code == 200
    assert {w["key"]: w["remedy"] for w in answer.json()["warnings"]} == {
        f"{AT}.push.mode": "Remove it.",
        f"{AT}.consistentpushenabled": "Write it 'consistentPushEnabled'.",
    }


def test_keys_of_a_file_system_without_effect_are_named(table: ApiCluster) -> None:
    keys = {"input.fs.className": "S3PinotFS", "input.fs.prop.region": "eu-1", "input.fs.prop.disableAcl": "true"}
    (warning,) = save(table, with_task(task=GOOD | {"inputDirURI": "s3://bucket/in"} | keys)).json()["warnings"]
    assert warning["key"] == f"{AT}.input.fs.prop.disableAcl"
    assert warning["problem"].endswith("has no effect: files are only read.")


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("/etc", "is outside the folders that may be read"),
        ("/tmp/../etc", "is outside the folders that may be read"),
        ("s3://other/in", "is outside the addresses that may be read"),
        ("/tmp/is-not-there", "is not a folder"),
    ],
)
def test_a_folder_that_cannot_be_read_is_named_before_anything_runs(table: ApiCluster, folder: str, words: str) -> None:
    """It is saved all the same: the administrator may allow it later."""
    answer = save(table, with_task(task=GOOD | {"inputDirURI": folder}))
    (warning,) = answer.json()["warnings"]
    assert (answer.status_code, warning["key"], warning["isWrong"]) == (200, f"{AT}.inputDirURI", True)
    assert words in warning["problem"]
    found = table.http.get("/api/v1/tables/t/tasks/lint").json()["tasks"]["FileIngestionTask"]
    assert found["isRunnable"] is False


def test_tasks_that_nothing_runs_are_named(table: ApiCluster) -> None:
    (warning,) = save(table, with_task(MergeRollupTask={"schedule": "0 0 * * * ?"})).json()["warnings"]
    assert "Nothing on this cluster runs tasks of type 'MergeRollupTask'" in warning["problem"]


def test_the_linter_says_what_a_run_does_and_when(table: ApiCluster) -> None:
    save(table, with_task(task=GOOD | {"consistentPushSwapEnabled": "true", "scheduleTimeZone": "Europe/Berlin"}))
    found = table.http.get("/api/v1/tables/t/tasks/lint").json()["tasks"]["FileIngestionTask"]
    assert found["isRunnable"] is True
    assert "replaces the whole table" in found["effective"][0]
    assert "all of its files at once" in found["effective"][1]
    assert found["effective"][-1] == "Schedule: every 30 minutes (Europe/Berlin)."
    assert found["schedule"]["nextRuns"][:2] == ["2023-11-14T22:30:00+00:00", "2023-11-14T23:00:00+00:00"]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"runMaxNumFiles": "1"}, "1 file"),
        ({"runMaxNumFiles": "10", "runMaxDataSize": "3G"}, "10 files, 3 GB"),
        ({"runMaxDataSize": "1025", "runMaxNumTasks": "4"}, "1,025 bytes, what 4 tasks can"),
    ],
)
@pytest.mark.parametrize(
    ("consistent", "rest"),
    [("true", "the session goes on at the next triggers"), ("false", "the next triggers the others")],
)
def test_the_linter_says_what_one_run_reads_at_most(
    table: ApiCluster, keys: dict[str, str], words: str, consistent: str, rest: str
) -> None:
    save(table, with_task(task=GOOD | keys | {"consistentPushEnabled": consistent}))
    found = table.http.get("/api/v1/tables/t/tasks/lint").json()["tasks"]["FileIngestionTask"]
    assert f"One run reads {words} at most, and {rest}." in found["effective"]


def test_the_linter_names_every_problem_of_a_config_that_is_not_stored(table: ApiCluster) -> None:
    body = with_task(task={"schedule": "0 0 24 * * ?", "push.mode": "TAR", "errorRate": "2"})
    found = table.http.post("/api/v1/tables/t/tasks/lint", body, JSON).json()["tasks"]["FileIngestionTask"]
    assert found["isRunnable"] is False
    assert found["effective"] == []
    keys = [p["key"].removeprefix(f"{AT}.") for p in found["problems"]]
    assert {"inputDirURI", "inputFormat", "schedule", "errorRate"} <= set(keys)
    assert keys[-1] == "push.mode"
    assert next(p for p in found["problems"] if p["key"].endswith("schedule"))["position"] == 5
    assert "task" not in table.http.get("/tables/t").json()["OFFLINE"]


def test_the_linter_says_that_a_schedule_is_over_or_missing(table: ApiCluster) -> None:
    for schedule, words in (("0 0 0 * * ? 1999", "never fires again"), ("", "only when somebody starts one")):
        save(table, with_task(task=GOOD | {"schedule": schedule}))
        assert words in json.dumps(table.http.get("/api/v1/tables/t/tasks/lint").json())


def test_a_table_without_tasks_has_nothing_to_lint(table: ApiCluster) -> None:
    found = table.http.get("/api/v1/tables/t/tasks/lint").json()
    assert found == {"table": "t_OFFLINE", "tasks": {}, "notRun": []}


def test_the_linter_takes_the_config_of_its_own_table_only(table: ApiCluster) -> None:
    answer = table.http.post("/api/v1/tables/t/tasks/lint", with_task("other", task=GOOD), JSON)
    assert answer.status_code == 400
    assert "address names" in answer.json()["error"]


def test_a_refusal_shows_no_password_of_an_address(table: ApiCluster) -> None:
    body = with_task(task=GOOD | {"inputDirURI": "s3://key:hidden-1@bucket/in"})
    for answer in (save(table, body), table.http.post("/api/v1/tables/t/tasks/lint", body, JSON)):
        assert "is not an address of a folder" in answer.content.decode()
        assert "hidden-1" not in answer.content.decode()

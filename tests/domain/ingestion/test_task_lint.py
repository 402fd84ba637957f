"""What the linter says of a file ingestion task: one sentence for each decision, and problems with their place."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from segments.domain.ingestion.task_lint import PATH, TaskLint, lint, wrong_problems
from segments.domain.tables.table_config import TableConfig, parse_table_config

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAIN = {"inputDirURI": "/data/in", "inputFormat": "csv"}
CONSISTENT = {"consistentPushEnabled": "true"}


def config(keys: dict[str, str] | None, kind: str = "OFFLINE") -> TableConfig:
    task = {} if keys is None else {"task": {"taskTypeConfigsMap": {"FileIngestionTask": {**PLAIN, **keys}}}}
    segments = {"timeColumnName": "day", "timeType": "DAYS"}
    return parse_table_config({"tableName": "orders", "tableType": kind, "segmentsConfig": segments, **task})


def read(keys: dict[str, str], kind: str = "OFFLINE") -> TaskLint:
    found = lint(config(keys, kind), NOW, "UTC")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({}, "A session adds the csv files below /data/in that are new; rows of a file that changed are added"),
        ({"modifiedFilePolicy": "skip"}, "a file that changed is left as it was."),
        ({"ingestionMode": "SYNC"}, "A session keeps the table in step with the csv files below /data/in"),
        ({"consistentPushSwapEnabled": "true"}, "replaces the whole table by them in one switch."),
        (
            {**CONSISTENT, "replaceFiles": "glob:**/b.csv"},
            "A session reads all csv files below /data/in, in place of the rows of files that match glob:**/b.csv.",
        ),
        ({}, "Queries see files as they are finished, not all at once"),
        (CONSISTENT, "Queries see all of its files at once, at its end."),
        (CONSISTENT, "A session in which a file fails is discarded as a whole: consistentPushMaxRetries is 0."),
        ({**CONSISTENT, "consistentPushMaxRetries": "1"}, "are read again at the next trigger, 1 time at most;"),
        ({"schedule": "0 0 2 * * ?"}, "(UTC)."),
        ({}, "There is no schedule: sessions begin only when somebody starts one."),
    ],
)
def test_what_a_run_does_is_described_in_sentences(keys: dict[str, str], sentence: str) -> None:
    assert sentence in " ".join(read(keys).effective)


def test_retries_are_not_spoken_of_where_files_are_shown_one_by_one() -> None:
    assert "consistentPushMaxRetries" not in " ".join(read({}).effective)
    assert "triggers" not in " ".join(read(CONSISTENT).effective)


def test_what_has_no_effect_does_not_keep_a_task_from_running() -> None:
    found = read({"push.mode": "TAR"})
    assert (found.is_runnable, len(found.effective) > 1) == (True, True)
    (problem,) = found.to_json()["problems"]
    assert (problem["key"], problem["isWrong"], "position" in problem) == (f"{PATH}.push.mode", False, False)


def test_what_is_wrong_comes_first_and_has_its_position() -> None:
    found = read({"push.mode": "TAR", "schedule": "0 0 24 * * ?"})
    assert (found.is_runnable, found.effective, found.schedule) == (False, (), None)
    wrong, without_effect = found.to_json()["problems"]
    assert (wrong["key"], wrong["position"], wrong["isWrong"]) == (f"{PATH}.schedule", 5, True)
    assert without_effect["key"] == f"{PATH}.push.mode"


def test_a_table_that_is_not_offline_ingests_no_files() -> None:
    found = read({}, "REALTIME")
    assert not found.is_runnable
    assert [(p["key"], "not an OFFLINE table" in p["problem"]) for p in found.to_json()["problems"]] == [(PATH, True)]
    assert [p.is_wrong for p in wrong_problems(config({}, "REALTIME"))] == [True]


def test_only_what_is_wrong_keeps_a_config_from_being_saved() -> None:
    assert wrong_problems(config({"push.mode": "TAR"})) == []
    assert wrong_problems(config(None)) == []
    assert [p.key for p in wrong_problems(config({"errorRate": "2", "push.mode": "TAR"}))] == ["errorRate"]
    assert lint(config(None), NOW, "UTC") is None


def test_a_schedule_that_is_over_is_named_and_one_to_come_is_not() -> None:
    over = read({"schedule": "0 0 0 * * ? 1999"})
    assert [(p.key, p.is_wrong, "never fires again" in p.what) for p in over.problems] == [("schedule", False, True)]
    assert over.schedule is not None
    assert over.schedule.runs == ()
    ahead = read({"schedule": "0 0 2 * * ?", "scheduleTimeZone": "Asia/Tokyo"})
    assert ahead.problems == ()
    assert ahead.to_json()["schedule"]["timeZone"] == "Asia/Tokyo"
    assert len(ahead.to_json()["schedule"]["nextRuns"]) == 5


def test_passwords_of_addresses_and_patterns_are_masked() -> None:
    found = read({**CONSISTENT, "inputDirURI": "s3://bucket/in", "replaceFiles": "glob:s3://k:hidden-2@b/*"})
    assert "hidden" not in " ".join(found.effective)
    assert "bucket/in" in found.effective[0]
    (problem,) = read({**CONSISTENT, "inputDirURI": "s3://key:hidden-1@bucket/in"}).to_json()["problems"]
    assert "s3://key:*****@bucket/in" in problem["problem"]


@pytest.mark.parametrize(
    ("size", "words"), [("3G", "3 GB"), ("1536M", "1,536 MB"), ("2K", "2 KB"), ("1025", "1,025 bytes")]
)
def test_a_limit_of_bytes_is_written_in_the_largest_unit_that_is_exact(size: str, words: str) -> None:
    assert (
        f"One run reads {words} at most, and the next triggers the others." in read({"runMaxDataSize": size}).effective
    )
    kept = read({**CONSISTENT, "runMaxDataSize": size}).effective
    assert f"One run reads {words} at most, and the session goes on at the next triggers." in kept

"""The file ingestion task of a table config: defaults, refusals by key, and what has no effect."""

from __future__ import annotations

from typing import Any

import pytest

from segments.domain.ingestion.task_config import (
    IngestionMode,
    IngestionTask,
    Problem,
    RunLimits,
    parse_ingestion_task,
    problems,
)
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput

PLAIN = {"inputDirURI": "/data/in", "inputFormat": "csv"}


def task(keys: dict[str, Any], **more: Any) -> IngestionTask | None:
    body = {"tableName": "orders", "tableType": "OFFLINE", "segmentsConfig": {}, **more}
    return parse_ingestion_task(
        parse_table_config({**body, "task": {"taskTypeConfigsMap": {"FileIngestionTask": keys}}})
    )


def read(keys: dict[str, Any]) -> IngestionTask:
    found = task({**PLAIN, **keys})
    assert found is not None
    return found


def test_a_table_without_the_task_has_none() -> None:
    assert parse_ingestion_task(parse_table_config({"tableName": "t", "tableType": "OFFLINE"})) is None


def test_the_documented_example_is_read() -> None:
    found = read(
        {
            "input.fs.className": "org.apache.pinot.plugin.filesystem.S3PinotFS",
            "input.fs.prop.region": "eu",
            "inputDirURI": "s3://bucket/in/",
            "inputFormat": "json",
            "includeFileNamePattern": "glob:**/*.json.gz",
            "consistentPushEnabled": "true",
            "schedule": "0 */30 * * * ?",
        }
    )
    assert (found.consistent, found.swap, found.max_retries, found.mode) == (True, False, 0, IngestionMode.APPEND)
    assert found.input_format == "json"
    assert found.schedule == "0 */30 * * * ?"
    assert found.file_system["input.fs.prop.region"] == "eu"
    assert not found.skip_unreadable


def test_both_flags_are_a_swap() -> None:
    found = read({"consistentPushEnabled": "true", "consistentPushSwapEnabled": "TRUE"})
    assert found.swap
    assert found.consistent


def test_as_many_retries_as_pinot_can_count_are_taken() -> None:
    assert read({"consistentPushEnabled": "true", "consistentPushMaxRetries": "2147483647"}).max_retries == 2**31 - 1


@pytest.mark.parametrize("retries", ["-1", "abc", "2147483648", "1.5", "٣"])
def test_a_number_of_retries_that_is_none_is_refused(retries: str) -> None:
    with pytest.raises(InvalidInput, match="consistentPushMaxRetries") as refused:
        read({"consistentPushEnabled": "true", "consistentPushMaxRetries": retries})
    assert refused.value.data["field"] == "consistentPushMaxRetries"


def test_the_largest_number_of_retries_is_taken() -> None:
    assert read({"consistentPushEnabled": "true", "consistentPushMaxRetries": "2147483647"}).max_retries == 2**31 - 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("consistentPushEnabled", "yes"),
        ("ingestionMode", "MERGE"),
        ("modifiedFilePolicy", "perhaps"),
        ("taskMaxDataSize", "1 lot"),
        ("runMaxDataSize", "1 lot"),
        ("runMaxDataSize", "-2"),
        ("runMaxNumFiles", "-2"),
        ("runMaxNumTasks", "many"),
        ("errorRate", "2"),
        ("includeFileNamePattern", "*.csv"),
        ("inputFormat", "word"),
        ("recordReader.prop.delimiter", "ab"),
        ("replaceFrom", "yesterday"),
        ("inputDirURI", " "),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(key: str, value: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read({key: value})
    assert refused.value.data["field"] == key


def test_the_reader_takes_its_settings_from_the_keys() -> None:
    reader = read({"recordReader.prop.delimiter": "|", "recordReader.prop.header": "a|b"}).reader
    assert (reader.delimiter, reader.header) == ("|", ("a", "b"))


def test_sizes_are_read_with_their_units() -> None:
    assert read({"taskMaxDataSize": "1G"}).max_bytes == 1 << 30
    assert read({"taskMaxDataSize": "500MB"}).max_bytes == 500 << 20
    assert read({"taskMaxDataSize": "77"}).max_bytes == 77
    assert read({"tableMaxNumTasks": "-1"}).max_tasks == 0


def test_limits_of_a_run_are_read_and_minus_one_is_none() -> None:
    assert read({}).run == RunLimits(0, 0, 0)
    assert read({"runMaxNumFiles": "5", "runMaxDataSize": "2K", "runMaxNumTasks": "7"}).run == RunLimits(5, 2048, 7)
    without = {"runMaxNumFiles": "-1", "runMaxDataSize": "-1", "runMaxNumTasks": "-1"}
    assert read(without).run == RunLimits(0, 0, 0)


def keys_of(found: list[Problem]) -> list[str]:
    return [p.key for p in found]


def test_unknown_and_ineffective_keys_are_named_and_do_not_stop_the_task() -> None:
    keys = {**PLAIN, "consistentpushenabled": "true", "push.mode": "tar", "retryCount": "2", "state": "DONE"}
    found = problems(keys)
    assert keys_of(found) == ["consistentpushenabled", "push.mode", "retryCount", "state"]
    assert found[0].remedy == "Write it 'consistentPushEnabled'."
    assert not any(p.is_wrong for p in found)
    assert task(keys) is not None


def test_what_another_key_overrules_is_named() -> None:
    keys = {**PLAIN, "consistentPushEnabled": "true", "enableAtomicUpload": "true"}
    assert keys_of(problems(keys)) == ["enableAtomicUpload"]
    assert not read({"consistentPushEnabled": "true", "enableAtomicUpload": "true"}).atomic_upload
    assert read({"ingestionMode": "sync", "enableAtomicUpload": "true"}).atomic_upload
    assert keys_of(problems({**PLAIN, "consistentPushMaxRetries": "3"})) == ["consistentPushMaxRetries"]
    assert keys_of(problems({**PLAIN, "enableAtomicUpload": "true"})) == ["enableAtomicUpload"]
    both = {"consistentPushEnabled": "true", "consistentPushSwapEnabled": "true"}
    assert keys_of(problems({**PLAIN, **both})) == ["consistentPushEnabled"]


def test_values_that_are_right_are_no_problem() -> None:
    keys = {"errorRate": "0.5", "taskMaxDataSize": "1G", "ingestionMode": "sync", "modifiedFilePolicy": "Replace"}
    assert problems({**PLAIN, **keys, "consistentPushEnabled": "true", "enableAtomicUpload": "false"}) == []
    assert (read({"errorRate": "0.5"}).error_rate, read({}).error_rate) == (0.5, None)


def test_a_replaced_time_range_needs_both_ends_in_order() -> None:
    consistent = {"consistentPushEnabled": "true"}
    found = read({**consistent, "replaceFrom": "2026-01-01", "replaceUntil": "1769904000000"}).selector
    assert found is not None
    assert found.from_ms == 1767225600000
    assert (found.until_ms, found.files) == (1769904000000, None)
    for keys in (
        {"replaceFrom": "2026-01-01"},
        {"replaceFrom": "2026-01-02", "replaceUntil": "2026-01-01"},
        {"replaceFrom": "2026-01-01", "replaceUntil": "2026-01-02", "replaceFiles": "glob:**"},
    ):
        with pytest.raises(InvalidInput):
            read({**consistent, **keys})


def test_what_a_session_replaces_is_written_in_words_and_needs_one_switch() -> None:
    keys = {**PLAIN, "replaceFrom": "2026-01-01", "replaceUntil": "2026-01-02T12:00:00", "replaceCrossing": "split"}
    with pytest.raises(InvalidInput, match="'replaceFrom' needs consistentPushEnabled"):
        read(keys)
    found = read({**keys, "consistentPushEnabled": "true"}).selector
    assert found is not None
    assert found.words == "the rows from 2026-01-01 until 2026-01-02T12:00:00 (segments at the edge are split)"
    swap = {**keys, "consistentPushSwapEnabled": "true"}
    assert read(swap).selector is None
    assert keys_of(problems(swap)) == ["replaceFrom", "replaceUntil"]


def test_a_realtime_table_cannot_have_the_task() -> None:
    with pytest.raises(InvalidInput, match="OFFLINE"):
        task(PLAIN, tableType="REALTIME")

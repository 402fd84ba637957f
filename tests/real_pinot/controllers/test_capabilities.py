"""The version table of docs/pinot-clusters.md on real controllers: what each version is documented to have is asked of
one that runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segments.clusters.pinot.connected_engine import controller
from segments.domain.pinot import capabilities
from segments.domain.pinot.capabilities import Has, parse_version
from tests.integration.running import DAY0
from tests.real_pinot.controllers.driven import Driven, realtime_config
from tests.waiting import wait_until

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(300)]
#: Any status but those with which a controller says that it does not know the path.
NO_PATH = (404, 405)


def asked(driven: Driven, method: str, path: str, **options: Any) -> tuple[int, Any]:
    """Status and JSON of any answer, or its text."""
    found = driven.raw.http.request(method, driven.raw.base + path, timeout=60, **options)
    try:
        return found.status_code, found.json()
    except ValueError:
        return found.status_code, found.text


def documented(driven: Driven) -> list[str]:
    """Every path that the controller says it has."""
    return list(driven.raw.call("GET", "/swagger.json").json()["paths"])


def replaces(driven: Driven) -> bool:
    table = driven.offline_table("a").raw
    entry = driven.raw.start(table, ["a"], ["b"])
    driven.raw.upload(table, "b")
    driven.raw.online(table, "b")
    driven.raw.end(table, entry)
    driven.raw.revert(table, entry)
    return states_of(driven, table) == {entry: "REVERTED"}


def states_of(driven: Driven, table: str) -> dict[str, str]:
    found = driven.raw.call("GET", f"/segments/{table}/lineage", params={"type": "OFFLINE"}).json()
    return {entry: fields["state"] for entry, fields in found["lineageEntries"].items()}


def pauses(driven: Driven) -> bool:
    table = driven.realtime_table().raw
    driven.raw.call("POST", f"/tables/{table}/pauseConsumption")
    was = driven.raw.call("GET", f"/tables/{table}/pauseStatus").json()["pauseFlag"]
    driven.raw.call("POST", f"/tables/{table}/resumeConsumption")
    return was is True and driven.raw.call("GET", f"/tables/{table}/pauseStatus").json()["pauseFlag"] is False


def force_commits(driven: Driven) -> bool:
    return asked(driven, "POST", f"/tables/{driven.realtime_table().raw}/forceCommit")[0] == 200


def tells_progress(driven: Driven) -> bool:
    _, answer = asked(driven, "POST", f"/tables/{driven.realtime_table().raw}/forceCommit")
    job = answer.get("forceCommitJobId") if isinstance(answer, dict) else None
    return (
        bool(job)
        and asked(driven, "GET", f"/tables/forceCommitStatus/{job}")[1]["numberOfSegmentsYetToBeCommitted"] == 2
    )


def commits_a_choice(driven: Driven) -> bool:
    """A version that does not know the parameter commits everything and says so."""
    status, said = asked(
        driven, "POST", f"/tables/{driven.realtime_table().raw}/forceCommit", params={"partitions": "7"}
    )
    return status != 200 and "partitions: 7" in str(said)


def commits_in_batches(driven: Driven) -> bool:
    status, said = asked(
        driven, "POST", f"/tables/{driven.realtime_table().raw}/forceCommit", params={"batchSize": "-1"}
    )
    return status != 200 and "batch" in str(said)


def keeps_a_comment(driven: Driven) -> bool:
    table = driven.realtime_table().raw
    driven.raw.call("POST", f"/tables/{table}/pauseConsumption", params={"comment": "the producer repeats itself"})
    return driven.raw.call("GET", f"/tables/{table}/pauseStatus").json().get("comment") == "the producer repeats itself"


def resumes_from_last(driven: Driven) -> bool:
    path = f"/tables/{driven.realtime_table().raw}/resumeConsumption"
    assert asked(driven, "POST", path, params={"consumeFrom": "smallest"})[0] == 200
    return asked(driven, "POST", path, params={"consumeFrom": "lastConsumed"})[0] == 200


def resumes_from_offsets(driven: Driven) -> bool:
    path = f"/tables/{driven.realtime_table().raw}/resumeConsumption"
    return any(
        asked(driven, "POST", path, params={"consumeFrom": word})[0] == 200 for word in ('{"0":"5"}', "5", "0=5")
    )


def pauses_topics(driven: Driven) -> bool:
    table = driven.realtime_table().raw
    status, said = asked(driven, "POST", f"/tables/{table}/pauseTopicConsumption", params={"topicIndices": "0"})
    return status == 200 and said["indexOfInactiveTopics"] == [0]


def pauses_partitions(driven: Driven) -> bool:
    return any("pause" in path.lower() and "partition" in path.lower() for path in documented(driven))


def tells_watermarks(driven: Driven) -> bool:
    status, said = asked(driven, "GET", f"/tables/{driven.realtime_table().raw}/consumerWatermarks")
    return status == 200 and len(said["watermarks"]) == 2


def is_pauseless(driven: Driven) -> bool:
    """A version that does not know the key forgets it."""
    stream = realtime_config("x")["tableIndexConfig"]["streamConfigs"]
    wanted = {"streamIngestionConfig": {"streamConfigMaps": [stream], "pauselessConsumptionEnabled": True}}
    segments = {
        "timeColumnName": "day",
        "replication": "2",
        "replicasPerPartition": "2",
        "peerSegmentDownloadScheme": "http",
    }
    table = driven.realtime_table(
        ingestionConfig=wanted, tableIndexConfig={"loadMode": "MMAP"}, segmentsConfig=segments
    ).raw
    kept = driven.raw.call("GET", f"/tables/{table}").json()["REALTIME"]["ingestionConfig"]["streamIngestionConfig"]
    return bool(kept.get("pauselessConsumptionEnabled"))


def takes_reingested(driven: Driven) -> bool:
    body = {"x": ("x.tar.gz", b"x")}
    params = {"tableName": driven.realtime_table().raw, "tableType": "REALTIME"}
    return asked(driven, "POST", "/segments/reingested", params=params, files=body)[0] not in NO_PATH


def deletes_from_a_number(driven: Driven) -> bool:
    path = f"/deleteSegmentsFromSequenceNum/{driven.realtime_table().typed}"
    return asked(driven, "DELETE", path, params={"segments": "x"})[0] not in NO_PATH


def deletes_a_window(driven: Driven) -> bool:
    table = driven.offline_table("a", "b")
    window = {
        "type": "OFFLINE",
        "startTimestamp": str((DAY0 - 9) * 86_400_000),
        "endTimestamp": str((DAY0 + 9) * 86_400_000),
    }
    asked(driven, "DELETE", f"/segments/{table.raw}/choose", params=window)
    return not driven.ideal(table)


def guards_a_replacement(driven: Driven) -> bool:
    table = driven.offline_table("a", "b")
    driven.raw.start(table.raw, ["a"], ["c"])
    asked(driven, "POST", f"/segments/{table.typed}/delete", json=["a"])
    return "a" in driven.ideal(table)


def takes_many(driven: Driven) -> bool:
    params = {"tableName": driven.offline_table().raw, "tableType": "OFFLINE"}
    return asked(driven, "POST", "/segments/batchUpload", params=params, files={"x": ("x", b"x")})[0] not in NO_PATH


def resets_errors_only(driven: Driven) -> bool:
    """One that does not know the parameter says that it reset all."""
    table = driven.offline_table("a").typed
    status, said = asked(driven, "POST", f"/segments/{table}/reset", params={"errorSegmentsOnly": "true"})
    assert status == 200, said
    return "all segments" not in str(said)


def tells_all_records(driven: Driven) -> bool:
    table = driven.offline_table("a", "b").typed
    status, said = asked(driven, "GET", f"/segments/{table}/zkmetadata")
    return status == 200 and isinstance(said, dict) and sorted(said) == ["a", "b"]


def lists_by_time(driven: Driven) -> bool:
    """One that does not know the parameters leaves them out."""
    table = driven.offline_table("a").raw
    window = {"type": "OFFLINE", "startTimestamp": "1", "endTimestamp": "2"}
    return driven.raw.call("GET", f"/segments/{table}", params=window).json()[0]["OFFLINE"] == []


def runs_passes_by_post(driven: Driven) -> bool:
    return asked(driven, "POST", "/periodictask/run", params={"taskname": "SegmentStatusChecker"})[0] not in NO_PATH


def minds_the_old_side(driven: Driven) -> bool:
    table = driven.offline_table("a", "z")
    entry = driven.raw.start(table.raw, ["a"], ["b"])
    driven.raw.upload(table.raw, "b")
    driven.raw.online(table.raw, "b")
    driven.raw.call("POST", f"/segments/{table.typed}/delete", json=["a"])
    wait_until(lambda: "a" not in driven.ideal(table))
    asked(
        driven,
        "POST",
        f"/segments/{table.raw}/endReplaceSegments",
        params={"type": "OFFLINE", "segmentLineageEntryId": entry},
    )
    return states_of(driven, table.raw) != {entry: "COMPLETED"}


def keeps_two_snapshots(driven: Driven) -> bool:
    """Is the first snapshot of a REFRESH table still there when a third one begins?"""
    table = driven.offline_table("a")
    entry = driven.raw.start(table.raw, ["a"], ["b"], force=True)
    driven.raw.upload(table.raw, "b")
    driven.raw.online(table.raw, "b")
    driven.raw.end(table.raw, entry)
    driven.raw.start(table.raw, ["b"], ["c"], force=True)
    return "a" in driven.ideal(table)


def knows_the_key(driven: Driven) -> bool:
    table = driven.offline_table().raw
    kept = driven.raw.call("GET", f"/tables/{table}").json()["OFFLINE"]["ingestionConfig"]["batchIngestionConfig"]
    return bool(kept.get("consistentDataPush"))


def takes_a_custom_map(driven: Driven) -> bool:
    table = driven.offline_table().raw
    body = {"segmentsFrom": [], "segmentsTo": ["b"], "customMap": {"job": "7"}}
    return (
        asked(driven, "POST", f"/segments/{table}/startReplaceSegments", params={"type": "OFFLINE"}, json=body)[0]
        == 200
    )


def ends_a_part(driven: Driven) -> bool:
    table = driven.offline_table().raw
    entry = driven.raw.start(table, [], ["b", "c"])
    driven.raw.upload(table, "b")
    driven.raw.online(table, "b")
    query = {"type": "OFFLINE", "segmentLineageEntryId": entry}
    asked(driven, "POST", f"/segments/{table}/endReplaceSegments", params=query, json={"segmentsTo": ["b"]})
    return states_of(driven, table) == {entry: "COMPLETED"}


def sums_up_tasks(driven: Driven) -> bool:
    status, said = asked(driven, "GET", "/tasks/summary")
    return status == 200 and "taskBreakdown" in said


def tells_columns_of_many(driven: Driven) -> bool:
    """By the parameters that it names: only servers could answer."""
    path = driven.raw.call("GET", "/swagger.json").json()["paths"]["/segments/{tableName}/metadata"]
    return "segments" in {parameter["name"] for parameter in path["get"]["parameters"]}


def keeps_rebalances(driven: Driven) -> bool:
    return "/rebalanceStatus/{jobId}" in documented(driven)


def stops_rebalances(driven: Driven) -> bool:
    path = f"/tables/{driven.offline_table('a').raw}/rebalance"
    return asked(driven, "DELETE", path, params={"type": "OFFLINE"}) == (200, [])


def checks_rebalances(driven: Driven) -> bool:
    """One that does not know the parameter leaves the checks out of its answer."""
    path = f"/tables/{driven.offline_table('a').raw}/rebalance"
    _, answer = asked(driven, "POST", path, params={"type": "OFFLINE", "dryRun": "true", "preChecks": "true"})
    return isinstance(answer, dict) and "preChecksResult" in answer


def options_of_rebalance(driven: Driven) -> set[str]:
    """The parameters that it names; what they do takes servers."""
    path = driven.raw.call("GET", "/swagger.json").json()["paths"]["/tables/{tableName}/rebalance"]
    return {parameter["name"] for parameter in path["post"]["parameters"]}


def guards_only_copies(driven: Driven) -> bool:
    return "allowPeerDownloadDataLoss" in options_of_rebalance(driven)


def commits_before_rebalances(driven: Driven) -> bool:
    return "forceCommit" in options_of_rebalance(driven)


def restores(driven: Driven) -> bool:
    return any(word in path.lower() for path in documented(driven) for word in ("restore", "undelete", "recover"))


#: How each capability is probed. What no version has can only be searched for among the paths that a controller names.
PROBES: dict[str, Callable[[Driven], bool]] = {
    capabilities.REPLACE: replaces,
    capabilities.PAUSE: pauses,
    capabilities.FORCE_COMMIT: force_commits,
    capabilities.FORCE_COMMIT_STATUS: tells_progress,
    capabilities.FORCE_COMMIT_SELECT: commits_a_choice,
    capabilities.FORCE_COMMIT_BATCH: commits_in_batches,
    capabilities.PAUSE_COMMENT: keeps_a_comment,
    capabilities.RESUME_LAST: resumes_from_last,
    capabilities.PAUSE_TOPICS: pauses_topics,
    capabilities.PAUSE_PARTITIONS: pauses_partitions,
    capabilities.RESUME_OFFSETS: resumes_from_offsets,
    capabilities.WATERMARKS: tells_watermarks,
    capabilities.PAUSELESS: is_pauseless,
    capabilities.REINGESTION: takes_reingested,
    capabilities.DELETE_SEQUENCE: deletes_from_a_number,
    capabilities.DELETE_CHOOSE: deletes_a_window,
    capabilities.DELETE_GUARD: guards_a_replacement,
    capabilities.BATCH_UPLOAD: takes_many,
    capabilities.RESET_ERRORS: resets_errors_only,
    capabilities.RECORDS: tells_all_records,
    capabilities.SEGMENT_LIST: lists_by_time,
    capabilities.RUN_BY_POST: runs_passes_by_post,
    capabilities.END_CHECKS_FROM: minds_the_old_side,
    capabilities.KEEPS_SNAPSHOTS: keeps_two_snapshots,
    capabilities.CONSISTENT_KEY: knows_the_key,
    capabilities.CUSTOM_MAP: takes_a_custom_map,
    capabilities.END_PART: ends_a_part,
    capabilities.TASK_SUMMARY: sums_up_tasks,
    capabilities.REBALANCE_STATUS: keeps_rebalances,
    capabilities.REBALANCE_STOP: stops_rebalances,
    capabilities.REBALANCE_CHECKS: checks_rebalances,
    capabilities.REBALANCE_GUARD: guards_only_copies,
    capabilities.REBALANCE_COMMIT: commits_before_rebalances,
    capabilities.RESTORE: restores,
    capabilities.SEGMENT_METADATA: tells_columns_of_many,
}
#: Only a task shows it, and what makes tasks is in none of these controllers' jars: read in their code.
READ = frozenset({capabilities.TASK_FINISH})


@pytest.mark.parametrize("name", PROBES)
def test_a_running_controller_has_what_the_table_says_and_nothing_else(driven: Driven, name: str) -> None:
    said = parse_version(controller(driven.ctx).version())
    assert str(said) == driven.version
    assert PROBES[name](driven) is (capabilities.capability(name).in_version(said) is Has.YES)

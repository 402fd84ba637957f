"""Every button's call, by the name of its address. What the page lets one choose has its default here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from segments.console.rest_calls.call import Pressed, Rest

_SESSION: Final = "api/v1/tables/{table}/ingestion/sessions/{session}"
_FINDING: Final = "api/v1/tables/{table}/findings/{finding}"
_LINEAGE: Final = "api/v1/lineage/{table}"


def _segments(pressed: Pressed) -> dict[str, Any]:
    return {"segments": list(pressed.chosen("s")), "dryRun": False}


def _files(pressed: Pressed) -> dict[str, Any]:
    return {**_segments(pressed), **({"files": list(pressed.chosen("f"))} if pressed.chosen("f") else {})}


def _kept_segments(pressed: Pressed) -> dict[str, Any]:
    """The page lets a kept version take the place of a segment that is there again, and says so."""
    return {**_files(pressed), "overwrite": True}


def _partitions(pressed: Pressed) -> dict[str, Any]:
    return {"partitions": [int(p) for p in pressed.chosen("p") if p.isdecimal()]}


def _partitions_from(pressed: Pressed) -> dict[str, Any]:
    return {**_partitions(pressed), **_from(pressed)}


def _from(pressed: Pressed) -> dict[str, str]:
    """Where consumption goes on, if the page was opened with a choice."""
    word = next(iter(pressed.chosen("from")), "")
    return {"consumeFrom": word} if word in _STARTS else {}


def _messages(pressed: Pressed) -> dict[str, Any]:
    """Ticked ones, or all that wait and that the page's filter names."""
    if pressed.chosen("m"):
        return {"ids": [int(i) for i in pressed.chosen("m") if i.isdecimal()], "dryRun": False}
    partition = next((int(p) for p in pressed.chosen("partition") if p.isdecimal()), None)
    named = {"partition": partition, "contains": next(iter(pressed.chosen("q")), None)}
    return {**{key: value for key, value in named.items() if value is not None}, "dryRun": False}


_STARTS: Final = ("lastConsumed", "smallest", "largest")
_OF_PARTITIONS: Final[Mapping[str, Rest]] = {
    "pause": Rest("POST", "api/v1/tables/{table}/pausePartitions", body=_partitions),
    "resume": Rest("POST", "api/v1/tables/{table}/resumePartitions", body=_partitions_from),
    "commit": Rest("POST", "tables/{table}/forceCommit", {"partitions": "{p}"}),
}
_OF_FILTER: Final = {"partition": "partition", "contains": "q", "state": "state"}
#: The page has servers fetch the file again.
_DOWNLOADED: Final = {"forceDownload": "true"}
CALLS: Final[Mapping[str, Rest]] = {
    "pause": Rest("POST", "tables/{table}/pauseConsumption", {"comment": "why"}),
    "resume": Rest("POST", "tables/{table}/resumeConsumption", {"comment": "why"}),
    "commit": Rest("POST", "tables/{table}/forceCommit"),
    "pause_tables": Rest("POST", "tables/{t}/pauseConsumption", {"comment": "why"}, each="t"),
    "resume_tables": Rest("POST", "tables/{t}/resumeConsumption", {"comment": "why"}, each="t"),
    "commit_tables": Rest("POST", "tables/{t}/forceCommit", each="t"),
    "reingest": Rest("POST", "api/v1/tables/{table}/reingestions", body=_segments),
    "restore_copy": Rest("POST", "api/v1/tables/{table}/storedCopies/{segment}"),
    "cancel_reingestion": Rest("DELETE", "api/v1/tables/{table}/reingestions/{segment}"),
    "delete_from": Rest("DELETE", "deleteSegmentsFromSequenceNum/{table}", {"segments": "{from}", "dryRun": "false"}),
    "replay_set_aside": Rest("POST", "api/v1/tables/{table}/set-aside/replay", body=_messages),
    "delete_set_aside": Rest("DELETE", "api/v1/tables/{table}/set-aside", {"ids": "{m}"}),
    "reveal_set_aside": Rest("POST", "api/v1/tables/{table}/set-aside/{number}/reveal"),
    "reset_segments": Rest("POST", "segments/{table}/{s}/reset", each="s"),
    "reload_segments": Rest("POST", "segments/{table}/{s}/reload", _DOWNLOADED, each="s"),
    "reset_segment": Rest("POST", "segments/{table}/{segment}/reset"),
    "reload_segment": Rest("POST", "segments/{table}/{segment}/reload", _DOWNLOADED),
    "restore": Rest("POST", "api/v1/segments/{table}/restore", body=_kept_segments),
    "cancel_deletion": Rest("POST", "api/v1/segments/{table}/deletions/{segment}/cancel"),
    "delete_segments": Rest("POST", "api/v1/segments/{table}/delete", body=_segments),
    "switch_on_ingestion": Rest("PUT", "tables/{table}", file="table-config.json"),
    "switch_off_ingestion": Rest("PUT", "tables/{table}", file="table-config.json"),
    "trigger_ingestion": Rest("POST", "api/v1/tables/{table}/ingestion/trigger"),
    "clear_ingestion": Rest("POST", "api/v1/tables/{table}/ingestion/clear", {"confirm": "{table}"}),
    "retry_ingestion": Rest("POST", f"{_SESSION}/retry"),
    "cancel_ingestion": Rest("POST", f"{_SESSION}/cancel"),
    "undo_ingestion": Rest("POST", f"{_SESSION}/undo"),
    "read_again_ingestion": Rest("POST", f"{_SESSION}/readAgain"),
    "finish_ingestion": Rest("POST", f"{_SESSION}/finish"),
    "override_ingestion": Rest("POST", f"{_SESSION}/finish", {"overrideChecks": "why"}),
    "begin_rebalance": Rest("POST", "tables/{table}/rebalance", {"dryRun": "false"}),
    "stop_rebalance": Rest("DELETE", "tables/{table}/rebalance"),
    "delete_table": Rest("DELETE", "tables/{table}"),
    "bring_back_table": Rest("POST", "api/v1/tables/{typed}/restore"),
    "reveal_secrets": Rest("POST", "api/v1/tables/{table}/secrets"),
    "fix_finding": Rest("POST", f"{_FINDING}/fix", {"dryRun": "false"}),
    "assign_finding": Rest("POST", f"{_FINDING}/assign", body=lambda of: {"person": of.named("person")}),
    "snooze_finding": Rest("POST", f"{_FINDING}/snooze", body=lambda _: {"period": "8h"}),
    "lift_snooze": Rest("DELETE", f"{_FINDING}/snooze"),
    "assign_installation_finding": Rest(
        "POST", "api/v1/findings/{finding}/assign", body=lambda of: {"person": of.named("person")}
    ),
    "snooze_installation_finding": Rest("POST", "api/v1/findings/{finding}/snooze", body=lambda _: {"period": "8h"}),
    "lift_installation_snooze": Rest("DELETE", "api/v1/findings/{finding}/snooze"),
    "carry_on_rollback": Rest("POST", f"{_LINEAGE}/rollback/current"),
    "give_up_rollback": Rest("DELETE", f"{_LINEAGE}/rollback/current"),
    "pin_entries": Rest("POST", f"{_LINEAGE}/{{e}}/pin", each="e"),
    "unpin_entries": Rest("DELETE", f"{_LINEAGE}/{{e}}/pin", each="e"),
    "end_entry": Rest("POST", f"{_LINEAGE}/{{entry_id}}/end"),
    "cancel_end": Rest("POST", "api/v1/jobs/{job}/cancel"),
    "check_entry": Rest("POST", f"{_LINEAGE}/{{entry_id}}/checks"),
    "pin_entry": Rest("POST", f"{_LINEAGE}/{{entry_id}}/pin"),
    "unpin_entry": Rest("DELETE", f"{_LINEAGE}/{{entry_id}}/pin"),
    "roll_back_to": Rest("POST", f"{_LINEAGE}/rollback", {"to": "{entry_id}"}),
    "rollback": Rest(
        "POST", "segments/{table}/revertReplaceSegments", {"type": "{kind}", "segmentLineageEntryId": "{entry_id}"}
    ),
    "restore_snapshot": Rest("POST", "api/v1/tables/{table}/snapshots/{number}/restore"),
    "undo_rollback": Rest("POST", f"{_LINEAGE}/{{entry_id}}/undo"),
    "finish_push": Rest("POST", "api/v1/pushes/{push_id}/finish"),
    "override_push": Rest("POST", "api/v1/pushes/{push_id}/finish", {"overrideChecks": "why"}),
    "cancel_push": Rest("POST", "api/v1/pushes/{push_id}/cancel"),
    "run_pass": Rest("GET", "periodictask/run", {"taskname": "{task}", "tableName": "{table}"}),
    "schedule_task": Rest("POST", "tasks/schedule", {"taskType": "{type}", "tableName": "{table}"}),
    "stop_tasks": Rest("PUT", "tasks/{task_type}/stop"),
    "resume_tasks": Rest("PUT", "tasks/{task_type}/resume"),
    "clean_up_tasks": Rest("PUT", "tasks/{task_type}/cleanup"),
    "delete_task": Rest("DELETE", "tasks/task/{name}"),
    "drain_server": Rest("POST", "api/v1/instances/{instance}/drain"),
    "undrain_server": Rest("DELETE", "api/v1/instances/{instance}/drain"),
    "disable_server": Rest("PUT", "instances/{instance}/state", {"state": "disable"}),
    "enable_server": Rest("PUT", "instances/{instance}/state", {"state": "enable"}),
    "run_schedule": Rest("POST", "api/v1/schedules/{schedule}/run"),
    "switch_schedules_on": Rest("PUT", "api/v1/schedules/{s}", body=lambda _: {"enabled": True}, each="s"),
    "switch_schedules_off": Rest("PUT", "api/v1/schedules/{s}", body=lambda _: {"enabled": False}, each="s"),
    "revoke_token": Rest("DELETE", "api/v1/tokens/{token}"),
    "remove_webhook": Rest("DELETE", "api/v1/webhooks/{hook}"),
    "remove_cluster": Rest("DELETE", "api/v1/clusters/{name}"),
}


def edit_config(config: Mapping[str, Any], schema: Mapping[str, Any], version: str) -> Rest:
    """The call that saves these documents of a table, as long as they still are the version that was read."""
    body = {"config": config, "schema": schema, "version": version}
    return Rest("PUT", "api/v1/tables/{table}/config", body=lambda _: body)


def call_of(page: str, pressed: Pressed) -> Rest | None:
    """The call that does what this button does, on what the page's address chooses. None: there is none that does
    exactly this, as to replay what was replayed already.
    """
    if page in _OF_PARTITIONS and pressed.chosen("p"):
        return _OF_PARTITIONS[page]
    found = CALLS.get(page)
    if found is None or pressed.chosen("m"):
        return found
    if page in ("resume", "resume_tables"):
        return replace(found, query={**found.query, **_from(pressed)})
    if page == "replay_set_aside":
        return None if set(pressed.chosen("state")) - {"waiting"} else found
    if page == "delete_set_aside":
        filtered = {key: f"{{{name}}}" for key, name in _OF_FILTER.items() if any(pressed.chosen(name))}
        return replace(found, query={**filtered, "all": "true"})
    return found

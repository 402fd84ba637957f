"""What a segment that is COMMITTING needs, and where rows may be read again."""

from __future__ import annotations

from typing import Any

import pytest

from segments.domain.realtime.repair.committing import Committing, Need, need_of
from segments.domain.realtime.repair.recovery_mode import check_mode, may_reingest
from segments.domain.segments.ideal_state import CONSUMING, ERROR, ONLINE
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.errors import InvalidInput

OLD = 1_000_000


def need(view: dict[str, str], *, age: int = OLD, live: str = "ab", may: bool = True, until: int = OLD) -> Need:
    segment = Committing("s", 0, {"a": ONLINE, "b": ONLINE}, view, set(live), until)
    return need_of(segment, age, completion_ms=300_000, may_reingest=may)


def test_a_young_one_is_its_committers_own_business() -> None:
    assert need({"a": ONLINE}, age=300_000) is Need.WAIT


def test_a_server_that_has_it_sealed_uploads_it() -> None:
    assert need({"a": ERROR, "b": ONLINE}) is Need.UPLOAD


def test_a_server_that_is_down_or_still_reads_is_not_asked() -> None:
    assert need({"a": ONLINE, "b": ERROR}, live="b") is Need.UNREACHABLE
    assert need({"a": CONSUMING, "b": CONSUMING}) is Need.LATE


def test_rows_that_no_server_builds_any_more_are_read_again() -> None:
    assert need({"a": CONSUMING, "b": CONSUMING}, until=OLD - 1) is Need.UNBUILT
    assert need({"a": CONSUMING, "b": ERROR}, until=0) is Need.UNBUILT
    assert need({"a": CONSUMING, "b": CONSUMING}, until=0, may=False) is Need.LATE
    assert need({"a": CONSUMING}, until=0) is Need.LATE, "the other one may be loading a copy"
    assert need({"a": CONSUMING, "b": CONSUMING}, until=0, age=1) is Need.WAIT


@pytest.mark.parametrize("age", [0, OLD])
def test_replicas_that_are_all_in_error_have_its_rows_read_again_at_any_age(age: int) -> None:
    assert need({"a": ERROR, "b": ERROR}, age=age) is Need.REINGEST
    assert need({"a": ERROR, "b": ERROR}, age=age, may=False) is Need.FORBIDDEN


def test_while_one_server_is_down_nothing_is_read_again() -> None:
    assert need({"a": ERROR, "b": ERROR}, live="a") is Need.UNREACHABLE
    assert need({"a": ERROR, "b": ERROR}, live="a", age=1) is Need.WAIT


@pytest.mark.parametrize(
    ("more", "mode", "cluster", "expected"),
    [
        ({}, None, None, True),
        ({"upsertConfig": {"mode": "FULL"}}, None, None, True),
        ({"upsertConfig": {"mode": "PARTIAL"}}, None, None, False),
        ({"upsertConfig": {"mode": "PARTIAL"}}, "ALWAYS", None, True),
        ({"upsertConfig": {"mode": "PARTIAL"}}, "DEFAULT", "ALWAYS", True),
        ({"dedupConfig": {"dedupEnabled": True}}, "DEFAULT", "DEFAULT", False),
        ({"dedupConfig": {"dedupEnabled": True}}, None, "ALWAYS", True),
        ({"dedupConfig": {"dedupEnabled": False}}, None, None, True),
    ],
)
def test_modes_of_disaster_recovery(
    more: dict[str, Any], mode: str | None, cluster: str | None, expected: bool
) -> None:
    streaming = {"disasterRecoveryMode": mode} if mode else {}
    assert may_reingest(config_with(streaming, more), cluster) is expected


@pytest.mark.parametrize(("cluster", "override"), [("ALWAYS", False), (None, False), (None, True), ("DEFAULT", True)])
def test_what_one_run_is_asked_for_replaces_the_clusters_mode_both_ways(cluster: str | None, override: bool) -> None:
    deduplicated = {"dedupConfig": {"dedupEnabled": True}}
    assert may_reingest(config_with({}, deduplicated), cluster, override=override) is override
    assert may_reingest(config_with({"disasterRecoveryMode": "ALWAYS"}, deduplicated), cluster, override=override)


def test_a_mode_must_be_spelled_exactly() -> None:
    for mode in (None, "DEFAULT", "ALWAYS"):
        check_mode(mode, "disasterRecoveryMode")
    for mode in ("always", "", "NEVER", "ALWAYS "):
        with pytest.raises(InvalidInput, match="disasterRecoveryMode"):
            check_mode(mode, "disasterRecoveryMode")


def config_with(streaming: dict[str, Any], more: dict[str, Any]) -> TableConfig:
    return parse_table_config(
        {
            "tableName": "t",
            "tableType": "REALTIME",
            "segmentsConfig": {"replication": "1"},
            "tenants": {},
            "tableIndexConfig": {},
            "metadata": {},
            "ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [], **streaming}},
            **more,
        }
    )

"""Queries of several tables through real servers: one set of routings for all of them."""

from __future__ import annotations

from typing import Any

import pytest

from segments.dataplane.broker import stages
from segments.expressions.query_errors import EXECUTION_TIMEOUT, SQL_PARSING, TABLE_DOES_NOT_EXIST
from tests.dataplane.world import World, codes, entry, poll

JOIN = "select a.v, b.v, count(*) from t a join u b on a.n = b.n group by a.v, b.v"


@pytest.fixture
def two_tables(world: World) -> World:
    """t and u with ten rows each on two servers."""
    world.start_server(1)
    world.start_server(2)
    for raw, name in (("t", "t1"), ("u", "u1")):
        world.create_table(raw)
        world.record(name, world.build(name, raw=raw), raw=raw)
        world.assign([name], (1, 2), table=f"{raw}_OFFLINE")
        poll(lambda name=name, raw=raw: len(world.states(name, f"{raw}_OFFLINE")) == 2)  # type: ignore[misc]
    return world


def rows(answer: dict[str, Any]) -> list[list[Any]]:
    """Those of an answer without an exception."""
    assert not answer["exceptions"], answer["exceptions"]
    return list(answer["resultTable"]["rows"])


def test_a_join_of_two_tables_is_answered_with_its_statistics(two_tables: World) -> None:
    answer = two_tables.start_broker().query(JOIN)
    assert rows(answer) == [["t1", "u1", 10]]
    assert answer["resultTable"]["dataSchema"]["columnDataTypes"] == ["STRING", "STRING", "LONG"]
    assert answer["tablesQueried"] == ["t", "u"]
    assert (answer["numSegmentsQueried"], answer["totalDocs"]) == (2, 20)


def test_a_switch_between_the_reads_of_two_tables_is_seen_by_none_of_them(
    two_tables: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, broker = two_tables, two_tables.start_broker()
    new = "u2"
    world.record(new, world.build(new, raw="u"), raw="u")
    world.write_lineage(entry(["u1"], [new], "IN_PROGRESS"), table="u_OFFLINE")
    world.assign([new], (1, 2), table="u_OFFLINE")
    poll(lambda: len(world.states(new, "u_OFFLINE")) == 2)
    poll(lambda: new in broker.routing("u_OFFLINE").replicas)  # type: ignore[union-attr]
    read, switched = broker._read, []

    def read_after_a_switch(*args: Any) -> Any:
        if not switched:
            switched.append(world.write_lineage(entry(["u1"], [new], "COMPLETED"), table="u_OFFLINE"))
            assert broker.wait_for("u_OFFLINE", switched[0], 10.0)
        return read(*args)

    monkeypatch.setattr(broker, "_read", read_after_a_switch)
    monkeypatch.setattr(broker, "_read_all", lambda wanted: [broker._read(*one) for one in wanted])
    assert rows(broker.query(JOIN)) == [["t1", "u1", 10]]
    assert rows(broker.query(JOIN)) == [["t1", "u2", 10]]


def test_a_table_that_is_not_there_is_named(two_tables: World) -> None:
    broker = two_tables.start_broker()
    answer = broker.query("select count(*) from t a join nowhere b on a.n = b.n")
    assert codes(answer) == [TABLE_DOES_NOT_EXIST]
    assert "'nowhere'" in answer["exceptions"][0]["message"]


def test_the_option_that_switches_the_multi_stage_engine_off_is_heeded(two_tables: World) -> None:
    broker = two_tables.start_broker()
    assert codes(broker.query(JOIN, {"useMultistageEngine": "false"})) == [SQL_PARSING]
    assert rows(broker.query(JOIN, {"useMultistageEngine": "true"})) == [["t1", "u1", 10]]
    assert rows(broker.query(f"set useMultistageEngine=true; {JOIN}")) == [["t1", "u1", 10]]


def test_one_that_finds_no_turn_says_so_and_others_of_one_table_go_on(
    two_tables: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = two_tables.start_broker()
    for _ in range(2):
        assert stages._turns.acquire(blocking=False)
    try:
        answer = broker.query(JOIN, {"timeoutMs": "300"})
        assert codes(answer) == [EXECUTION_TIMEOUT]
        assert rows(broker.query("select count(*) from t")) == [[10]]
    finally:
        for _ in range(2):
            stages._turns.release()
    assert rows(broker.query(JOIN)) == [["t1", "u1", 10]]


def test_more_rows_than_can_be_read_of_a_table_are_refused_not_cut(
    two_tables: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segments.dataplane.broker.broker.MOST_ROWS", 5)
    monkeypatch.setattr(stages, "MOST_ROWS", 5)
    broker = two_tables.start_broker()
    assert "More than 5 rows of 't'" in broker.query(JOIN)["exceptions"][0]["message"]
    assert rows(broker.query(JOIN.replace("group by", "where a.n < 3 and b.n < 3 group by"))) == [["t1", "u1", 3]]

"""EXPLAIN PLAN FOR: a plan that people read, made without asking a server."""

from __future__ import annotations

import pytest

from segments.dataplane.broker import Broker
from segments.expressions.query_errors import SQL_PARSING, TABLE_DOES_NOT_EXIST, UNKNOWN_COLUMN
from tests.dataplane.world import World, codes, entry, poll


@pytest.fixture
def broker(world: World, monkeypatch: pytest.MonkeyPatch) -> Broker:
    """t with a segment, and another one that a replacement hides; u with one. Servers refuse to be asked."""
    world.start_server(1)
    for raw, name in (("t", "t1"), ("u", "u1")):
        world.create_table(raw)
        world.record(name, world.build(name, raw=raw), raw=raw)
        world.assign([name], (1,), table=f"{raw}_OFFLINE")
        poll(lambda name=name, raw=raw: len(world.states(name, f"{raw}_OFFLINE")) == 1)  # type: ignore[misc]
    world.record("t2", world.build("t2"))
    world.write_lineage(entry(["t1"], ["t2"], "IN_PROGRESS"))
    world.assign(["t2"], (1,))
    made = world.start_broker()
    poll(lambda: "t2" in made.routing("t_OFFLINE").replicas)  # type: ignore[union-attr]
    monkeypatch.setattr(made, "_read_all", None)
    return made


def plan(broker: Broker, sql: str) -> list[str]:
    """Its lines, indented by depth."""
    answer = broker.query(sql)
    assert not answer["exceptions"], answer["exceptions"]
    assert answer["resultTable"]["dataSchema"]["columnNames"] == ["Operator", "Operator_Id", "Parent_Id"]
    assert answer["numServersQueried"] == 0
    depth = {0: -1}
    lines = []
    for operator, number, parent in answer["resultTable"]["rows"]:
        depth[number] = depth[parent] + 1
        lines.append("  " * depth[number] + operator)
    return lines


def test_the_plan_of_a_query_names_its_steps_and_which_segments_it_reads(broker: Broker) -> None:
    sql = (
        "explain plan for select v, count(*) from t where n > 3 group by v having count(*) > 1 order by 2 desc limit 5"
    )
    assert plan(broker, sql) == [
        "BROKER_REDUCE(having: count(*) > 1, sort: [2 DESC], limit: 5)",
        "  COMBINE_GROUP_BY",
        "    SEGMENTS(table: t_OFFLINE, scanned: 1, hidden_by_replacements: 1, servers: 1)",
        "      GROUP_BY(items: [v, count(*)], by: [v])",
        "        FILTER(where: n > 3)",
        "          READ(columns: [n, v])",
    ]


def test_the_plan_of_a_join_says_what_servers_apply_and_what_the_broker_does(broker: Broker) -> None:
    sql = "explain plan for select a.v, sum(b.n) from t a left join u b on a.n = b.n where a.n < 3 group by a.v limit 7"
    assert plan(broker, sql) == [
        "BROKER_STAGES(engine: DuckDB, limit: 7)",
        "  AGGREGATE(by: [a.v])",
        "    FILTER(where: a.n < 3)",
        "      JOIN(kind: LEFT, with: u AS b, on: a.n = b.n)",
        "        SEGMENTS(table: t_OFFLINE, scanned: 1, hidden_by_replacements: 1, servers: 1)",
        '          FILTER(where: "n" < 3)',
        "            READ(columns: [n, v])",
        "        SEGMENTS(table: u_OFFLINE, scanned: 1, hidden_by_replacements: 0, servers: 1)",
        "          READ(columns: [n])",
    ]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("explain plan for select nothing from t", UNKNOWN_COLUMN),
        ("explain plan for select v from nowhere", TABLE_DOES_NOT_EXIST),
        ("explain select v from t", SQL_PARSING),
        ("explain plan for explain plan for select v from t", SQL_PARSING),
    ],
)
def test_what_would_not_run_is_not_explained(broker: Broker, sql: str, code: int) -> None:
    assert codes(broker.query(sql)) == [code]


def test_a_very_long_query_is_not_written_out(broker: Broker) -> None:
    answer = broker.query(f"explain plan for select v from t where n in ({', '.join(map(str, range(6000)))})")
    assert "up to 10000 words" in answer["exceptions"][0]["message"]

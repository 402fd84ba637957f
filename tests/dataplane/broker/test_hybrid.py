"""Hybrid tables: each row is answered by one side, and the boundary moves only with data that queries see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from segments.domain.segments import ideal_state
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.segmentfile import build_segment, write_tar
from segments.store import paths
from segments.store.update import update_record
from tests.dataplane.world import World, codes, entry, poll

DAY = 86_400_000
DAY_1 = 1_700_000_000_000 // DAY * DAY
SQL = "select side, count(*) from h group by side order by side limit 10"


def schema() -> Schema:
    """side STRING, ts LONG."""
    time = {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}
    return parse_schema(
        {
            "schemaName": "h",
            "dimensionFieldSpecs": [{"name": "side", "dataType": "STRING"}],
            "dateTimeFieldSpecs": [time],
        }
    )


def config(kind: str) -> TableConfig:
    """One side; the REALTIME one holds finished segments, so its stream does not matter here."""
    stream = {"streamType": "redis", "stream.redis.topic.name": "h", "stream.redis.consumer.type": "lowlevel"}
    index = {"streamConfigs": stream} if kind == "REALTIME" else {}
    parts = {
        "segmentsConfig": {"replication": "1", "timeColumnName": "ts"},
        "tableIndexConfig": index,
        "tenants": {},
        "metadata": {},
    }
    return parse_table_config({"tableName": "h", "tableType": kind, **parts})


@pytest.fixture
def hybrid(world: World) -> World:
    """Both sides with one server; REALTIME has days 1 to 4, a row every hour."""
    world.store.create(paths.schema("h"), schema().to_record())
    for kind in ("OFFLINE", "REALTIME"):
        world.store.create(paths.table_config(f"h_{kind}"), config(kind).to_record())
        world.store.create(paths.ideal_state(f"h_{kind}"), ideal_state.new_ideal_state(f"h_{kind}", 1))
    world.start_server(1)
    load(world, "REALTIME", "h__0__0__20240101T0000Z", range(1, 5))
    return world


def load(world: World, kind: str, name: str, days: Sequence[int], *, wait: bool = True) -> None:
    """A segment with a row for each hour of these days, on server 1."""
    times = [DAY_1 + (d - 1) * DAY + h * 3_600_000 for d in days for h in range(24)]
    work = world.folder / "build"
    work.mkdir(exist_ok=True)
    info = build_segment(
        pa.table({"side": [kind] * len(times), "ts": times}), schema(), config(kind), name, work, creation_time_ms=DAY_1
    )
    write_tar(work / name, work / f"{name}.tar.gz")
    world.deep_store.put(work / f"{name}.tar.gz", world.deep_store.segment_path("h", name))
    fields = {
        "segment.crc": str(info.crc),
        "segment.download.url": world.deep_store.uri(world.deep_store.segment_path("h", name)),
        "segment.start.time": str(times[0]),
        "segment.end.time": str(times[-1]),
        "segment.time.unit": "MILLISECONDS",
    }
    table = f"h_{kind}"
    update_record(world.store, paths.segment(table, name), lambda _: SegmentMetadata(name, fields).to_record())
    world.assign([name], (1,), table)
    if wait:
        poll(lambda: world.states(name, table) == {"Server_127.0.0.1_1": "ONLINE"}, what=f"{name} ONLINE")


def rows(broker: Any, sql: str = SQL) -> dict[str, int]:
    """{side: rows}."""
    answer = broker.query(sql)
    assert not answer["exceptions"], answer["exceptions"]
    return dict(answer["resultTable"]["rows"])


def test_without_offline_data_the_realtime_side_answers_alone(hybrid: World) -> None:
    assert rows(hybrid.start_broker()) == {"REALTIME": 96}


def test_each_row_comes_from_one_side_and_typed_names_see_all_of_theirs(hybrid: World) -> None:
    broker = hybrid.start_broker()
    load(hybrid, "OFFLINE", "o1", range(1, 4))
    # Three days offline: the boundary is 23:00 of day 2.
    poll(lambda: rows(broker) == {"OFFLINE": 48, "REALTIME": 48}, what="both sides")
    assert rows(broker, SQL.replace(" h ", " h_OFFLINE ")) == {"OFFLINE": 72}
    assert rows(broker, SQL.replace(" h ", " h_REALTIME ")) == {"REALTIME": 96}
    answer = broker.query("select count(*), max(ts), min(ts) from h")
    assert answer["resultTable"]["rows"] == [[96, float(DAY_1 + 4 * DAY - 3_600_000), float(DAY_1)]]
    assert answer["numSegmentsQueried"] == 2
    filtered = f"select side, count(*) from h where ts >= {DAY_1 + DAY} or side = 'nobody' group by side order by side"
    assert rows(broker, filtered) == {"OFFLINE": 24, "REALTIME": 48}
    assert rows(broker, "select side, ts from h order by ts desc limit 1").keys() == {"REALTIME"}


def test_the_boundary_moves_only_when_the_new_offline_data_is_visible(hybrid: World) -> None:
    broker = hybrid.start_broker()
    load(hybrid, "OFFLINE", "o1", range(1, 3))
    poll(lambda: rows(broker) == {"OFFLINE": 24, "REALTIME": 72}, what="the first boundary")
    hybrid.write_lineage(entry(["o1"], ["o2"], "IN_PROGRESS"), table="h_OFFLINE")
    load(hybrid, "OFFLINE", "o2", range(1, 5))
    assert rows(broker) == {"OFFLINE": 24, "REALTIME": 72}
    zxid = hybrid.write_lineage(entry(["o1"], ["o2"], "COMPLETED"), table="h_OFFLINE")
    assert broker.wait_for("h_OFFLINE", zxid, 10.0)
    assert rows(broker) == {"OFFLINE": 72, "REALTIME": 24}


def test_a_refreshed_record_moves_the_boundary(hybrid: World) -> None:
    broker = hybrid.start_broker()
    load(hybrid, "OFFLINE", "o1", range(1, 3))
    poll(lambda: rows(broker) == {"OFFLINE": 24, "REALTIME": 72}, what="the first boundary")
    load(hybrid, "OFFLINE", "o1", range(1, 4))
    poll(lambda: rows(broker) == {"OFFLINE": 48, "REALTIME": 48}, what="the moved boundary")


def test_one_side_that_cannot_be_read_fails_the_query_by_name(hybrid: World) -> None:
    broker = hybrid.start_broker()
    load(hybrid, "OFFLINE", "o1", range(1, 3))
    poll(lambda: len(rows(broker)) == 2, what="both sides")
    hybrid.assign(["gone"], (9,), "h_REALTIME")
    poll(lambda: codes(broker.query(SQL)) == [305], what="305")
    assert "h_REALTIME" in broker.query(SQL)["exceptions"][0]["message"]

"""Consuming tables in which a primary key has one row, and what each key should show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segments.dataplane.broker import Broker
from segments.domain.tables.schema import Schema, parse_schema
from tests.dataplane.consuming_world import ConsumingWorld, rows_of
from tests.dataplane.world import poll

#: (id, version, n, is deleted)
Row = tuple[str, int, int, bool]


def keyed_schema(**more: Any) -> Schema:
    """``id`` is the key, ``ts`` the version."""
    return parse_schema({
        "schemaName": "r", "primaryKeyColumns": ["id"],
        "dimensionFieldSpecs": [
            {"name": "id", "dataType": "STRING"}, {"name": "n", "dataType": "LONG"},
            {"name": "gone", "dataType": "BOOLEAN", "defaultNullValue": False},
            {"name": "late", "dataType": "BOOLEAN", "defaultNullValue": False},
        ],
        "dateTimeFieldSpecs": [
            {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}
        ],
        **more,
    })  # fmt: skip


class KeyedWorld(ConsumingWorld):
    """Table ``r`` with strict routing; rows are what a test sends."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.rows: list[Row] = []

    def create_keyed(self, config: dict[str, Any], *, schema: Schema | None = None, **more: Any) -> str:
        """The table; returns its first consuming segment."""
        routing = {"instanceSelectorType": "strictReplicaGroup"}
        return self.create_realtime(schema=schema or keyed_schema(), routing=routing, **config, **more)

    def put(self, *rows: Row) -> None:
        """New rows into the only partition."""
        self.rows += rows
        self.put_json([{"id": i, "ts": 10**12 + v, "n": n, "gone": gone} for i, v, n, gone in rows])

    def put_json(self, rows: Sequence[dict[str, Any]]) -> None:
        """The same, as they are."""
        self.stream.send("topic", 0, [json.dumps(row).encode() for row in rows], self.ctx.clock())
        self.sent += len(rows)

    @property
    def latest(self) -> list[list[Any]]:
        """The visible row of each key: the model of full upsert."""
        best: dict[str, tuple[Any, ...]] = {}
        for at, (key, version, n, gone) in enumerate(self.rows):
            best[key] = max(best.get(key, (-(10**9),)), (version, at, n, gone))
        return [[key, n] for key, (_, _, n, gone) in sorted(best.items()) if not gone]

    def shows(self, broker: Broker, wanted: list[list[Any]] | None = None, seconds: float = 15.0) -> None:
        """Wait until queries see exactly these (id, n)."""
        sql = "select id, n from r order by id, n limit 100000"
        goal = self.latest if wanted is None else wanted
        try:
            poll(lambda: rows_of(broker, sql) == goal, seconds, "one row of each key")
        except AssertionError as error:
            answer = broker.query(sql)
            shown = (answer.get("resultTable") or {}).get("rows", [])
            extra, lacking = [r for r in shown if r not in goal], [r for r in goal if r not in shown]
            raise AssertionError(f"{error}: {extra} too many, {lacking} missing, {answer['exceptions']}") from error

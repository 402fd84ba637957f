"""Write-audit-publish on a Pinot cluster: hidden files are fetched through the controller and measured before Pinot is
asked to switch.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from segments.domain.tables.table_config import parse_table_config
from segments.names import TableName
from segments.services.queries import file_reader
from segments.services.queries.file_reader import FileReader, served_files
from segments.services.replacement.checks import check_settings
from segments.services.replacement.checks.snapshot_checks import read_checks, run_checks
from segments.store import paths
from tests.dataplane.consuming.keyed.keyed_world import keyed_schema
from tests.pinot_cluster.segments.test_push import Pushing, kinds
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

ENOUGH = {"kind": "rowCount", "min": 3}
TOO_MANY = {"kind": "rowCount", "min": 1000}


@pytest.fixture
def pushing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pushing:
    monkeypatch.setattr("segments.clusters.pinot.push._TOGETHER", 1)
    return Pushing(tmp_path)


def require(pushing: Pushing, *checks: dict[str, object]) -> None:
    node = pushing.world.memory.get(paths.table_config(TABLE.typed))
    assert node is not None
    assert node.record is not None
    check_settings.write_check_document(pushing.world.ctx, TABLE, {"checks": list(checks)}, actor=ANN)


def test_a_push_whose_checks_hold_is_switched(pushing: Pushing) -> None:
    require(
        pushing,
        ENOUGH,
        {"kind": "nullShare", "column": "city", "max": 0.1},
        {"kind": "uniqueKey", "columns": ["city", "n"]},
    )
    push = pushing.run(pushing.create())
    assert (push.state, push.error) == ("DONE", "")
    report = read_checks(pushing.pinot.ctx, TABLE, push.entry_id)
    assert report is not None
    assert [o.passed for o in report.outcomes] == [True, True, True]


def test_a_push_whose_checks_fail_is_blocked_before_pinot_is_asked(pushing: Pushing) -> None:
    require(pushing, TOO_MANY)
    push = pushing.run(pushing.create())
    assert push.state == "BLOCKED"
    assert "3" in push.error
    assert "endReplaceSegments" not in kinds(pushing.pinot)
    assert pushing.pinot.visible == []
    report = run_checks(pushing.pinot.ctx, TABLE, push.entry_id, actor=ANN)
    assert report.status == "blocked"


def _reader(pushing: Pushing, table: TableName = TABLE) -> FileReader:
    return FileReader(pushing.pinot.ctx, table, served_files(pushing.pinot.ctx, table))


def test_hidden_segments_are_read_from_their_files_and_a_count_needs_none(pushing: Pushing) -> None:
    require(pushing, TOO_MANY)
    pushing.run(pushing.create())
    names = pushing.pinot.lists()
    before = pushing.pinot.rest.calls.total()
    with _reader(pushing) as reader:
        count = reader.query('select count(*) from "t_OFFLINE"', segments=names)
        assert count["resultTable"]["rows"] == [[3]]
        cities = reader.query('select city, n from "t_OFFLINE" where n > 1 order by n', segments=names)
        assert cities["resultTable"]["rows"] == [["Basel", 2], ["Chur", 3]]
        refused = reader.query("select nothing from nowhere", segments=names)
        assert refused["exceptions"]
    assert pushing.pinot.rest.calls.total() > before


def test_a_file_that_is_not_the_one_on_record_is_not_measured(pushing: Pushing) -> None:
    require(pushing, TOO_MANY)
    pushing.run(pushing.create())
    names = pushing.pinot.lists()
    for name in names:
        node = pushing.world.memory.get(paths.segment(TABLE.typed, name))
        assert node is not None
        assert node.record is not None
        changed = node.record.with_simple_items({"segment.crc": "42"})
        pushing.world.memory.replace(paths.segment(TABLE.typed, name), changed, node.version)
    with _reader(pushing) as reader:
        answer = reader.query('select max(n) from "t_OFFLINE"', segments=names)
    assert "its record says 42" in answer["exceptions"][0]["message"]


def test_of_a_table_of_keys_the_rows_of_a_snapshot_count_that_counted_then(
    pushing: Pushing, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = parse_table_config(
        {"tableName": "r", "tableType": "REALTIME", "upsertConfig": {"mode": "FULL", "comparisonColumns": ["ts"]}}
    )
    monkeypatch.setattr(file_reader, "read_table_config", lambda *_: config)
    parts = {}
    for order, versions in enumerate(([1, 5], [2, 3], [9, 9])):
        rows = pa.table({"id": ["a", "b"], "ts": versions})
        name = f"r__0__{order}__20260801T1000Z"
        parts[name] = SimpleNamespace(name=name, num_docs=2, table_of=rows.select)
    with _reader(pushing, TableName("r", "REALTIME")) as reader:
        monkeypatch.setattr(reader, "_hold", lambda file: file)
        masks = reader._masks(list(parts.values())[:2], keyed_schema())  # type: ignore[arg-type]  # records have names
    assert [mask.flags.tolist() for mask in masks.values() if mask] == [[False, True], [True, False]]

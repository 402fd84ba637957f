"""Columns of two snapshots of a Pinot cluster: asked of its controller on request, bounded, and what is missing is
noted.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from segments.clusters.pinot import columns as pinot_columns
from segments.services.replacement.snapshot_diff import SnapshotDiff, diff_snapshots
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.pinot_cluster.replacement.test_replacement import replaced
from tests.services.world import TABLE

pytestmark = pytest.mark.django_db


def column(name: str, kind: str, low: Any, high: Any, cardinality: int = 3, docs: int = 10) -> dict[str, Any]:
    """As 0.11.0 writes it."""
    spec = {"name": name, "dataType": kind, "singleValueField": True}
    found = {"columnName": name, "dataType": kind, "fieldSpec": spec, "totalDocs": docs, "cardinality": cardinality}
    return {**found, "minValue": low, "maxValue": high, "hasDictionary": True}


@pytest.fixture(params=["0.11.0", "1.5.1"])
def told(request: pytest.FixtureRequest, tmp_path: Any) -> PinotCluster:
    """a was replaced by b, and their servers report their columns; the old version one by one."""
    pinot = PinotCluster(tmp_path, version=request.param)
    pinot.inside.upload("a")
    pinot.rest.columns = {
        "a": [column("day", "INT", 19000, 19009), column("v", "STRING", "a", "c")],
        "b": [column("day", "INT", 9, 19010, 5), column("v", "STRING", "a", "c")],
        "c": [column("day", "INT", 1, 2, -2147483648), column("raw", "BYTES", {"bytes": "AA=="}, {"bytes": "AA=="})],
    }
    return pinot


def diff(pinot: PinotCluster, before: str, after: str = "current") -> SnapshotDiff:
    return diff_snapshots(pinot.ctx, TABLE, before, after, None)


def test_both_sides_have_the_ranges_that_servers_report(told: PinotCluster) -> None:
    entry = replaced(told, ["a"], ["b"])
    found = diff(told, f"{entry}:from")
    assert (found.before.summary.segments, found.after.summary.rows, found.notes) == (1, 10, ())
    day, v = found.columns
    assert day.before is not None
    assert day.after is not None
    assert (day.before.min_value, day.before.max_value, day.after.min_value, day.after.max_value) == (
        "19000",
        "19009",
        "9",
        "19010",
    )
    assert (day.is_changed, v.is_changed) == (True, False)


def test_newer_controllers_are_asked_about_many_at_once_and_never_about_all(
    told: PinotCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = replaced(told, ["a"], ["b", "c"])
    asked: list[str] = []
    for name in ("_metadata", "_metadata_of_many"):
        before = getattr(told.rest, name)
        seen = lambda request, found, before=before: asked.append(str(request.url)) or before(request, found)  # noqa: E731
        monkeypatch.setattr(told.rest, name, seen)
    diff(told, f"{entry}:from")
    of = [url.partition("/segments/")[2] for url in asked if "columns=" in url]
    one_by_one = [f"{TABLE.typed}/{s}/metadata?columns=%2A" for s in "abc"]
    many = [f"{TABLE.typed}/metadata?type=OFFLINE&columns=%2A&segments={s}" for s in ("a", "b&segments=c")]
    assert sorted(of) == (one_by_one if told.rest.version == "0.11.0" else many)


def test_values_that_are_no_text_are_not_reported_instead_of_shown(told: PinotCluster) -> None:
    entry = replaced(told, ["a"], ["c"])
    day, raw = diff(told, f"{entry}:to", f"{entry}:to").columns
    assert raw.before is not None
    assert day.before is not None
    assert (raw.before.min_value, raw.before.without_range, day.before.without_cardinality) == (None, 1, 1)


def test_a_segment_that_nobody_reports_is_named_with_the_reason(told: PinotCluster) -> None:
    entry = replaced(told, ["a"], ["b"])
    del told.rest.columns["b"]
    found = diff(told, f"{entry}:from")
    assert found.notes == (
        "The columns of 1 segment are not counted, e.g. of 'b'. No server that is alive serves them.",
    )
    assert [c.after for c in found.columns] == [None, None]


def test_a_snapshot_that_is_too_large_is_read_in_part_and_says_so(
    told: PinotCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinot_columns, "MOST", 3)
    told.inside.upload("d", "e", "f")
    told.rest.columns |= {name: [column("day", "INT", 1, 2)] for name in "def"}
    entry = replaced(told, ["a"], ["b", "c"])
    found = diff(told, f"{entry}:from", entry)
    assert found.notes == (
        "The columns of 3 of 6 segments were read, those that differ first: ranges and numbers are of these.",
    )  # fmt: skip
    day = next(c for c in found.columns if c.name == "day")
    assert (day.before and day.before.segments, day.after and day.after.segments) == (1, 2)


def test_a_controller_that_refuses_leaves_the_rest_of_the_comparison_whole(
    told: PinotCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = replaced(told, ["a"], ["b"])
    refused = httpx.Response(500, json={"code": 500, "error": "Error parsing Pinot server response"})
    monkeypatch.setattr(told.rest, "_metadata", lambda *_: refused)
    monkeypatch.setattr(told.rest, "_metadata_of_many", lambda *_: refused)
    found = diff(told, f"{entry}:from")
    assert (found.before.summary.rows, found.columns) == (10, ())
    assert "Error parsing Pinot server response" in found.notes[0]

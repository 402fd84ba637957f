"""What we add to Pinot, on real controllers of three versions: checks before a switch, rollback over several entries,
restore.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.clusters.pinot.replacement.rollback import read_rollback
from segments.domain.replacement.stepwise_rollback import DONE
from segments.domain.segments.archive import KEEP_COPIES
from segments.errors import PreconditionFailed
from segments.names import TableName
from segments.services.replacement.checks import check_settings
from segments.services.replacement.checks.snapshot_checks import read_checks
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.replacement.rollback import preview_rollback, roll_back
from segments.services.segments import archive, deletion, restore
from segments.services.segments import segments as segment_lists
from segments.services.segments.uploads import upload_tar
from tests.real_pinot.controllers.driven import ANN, Driven
from tests.real_pinot.controllers.test_services import entries, make_tar, visible
from tests.waiting import wait_until

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(300), pytest.mark.django_db]


def begun(each: Driven, table: TableName, old: list[str], new: str, folder: Path) -> str:
    """A replacement whose new side is uploaded."""
    entry = start_replace(each.ctx, table, old, [new], actor=ANN)
    upload_tar(each.ctx, table, make_tar(folder, table, new), actor=ANN, lineage_entry=entry)
    return entry


def test_a_hidden_side_is_fetched_and_measured_before_it_is_shown(each: Driven, tmp_path: Path) -> None:
    table = each.offline_table("a")
    check_settings.write_check_document(
        each.ctx, table, {"checks": [{"kind": "uniqueKey", "columns": ["v"]}]}, actor=ANN
    )
    entry = begun(each, table, ["a"], "b", tmp_path)
    with pytest.raises(PreconditionFailed, match="uniqueKey"):
        end_replace(each.ctx, table, entry, actor=ANN)
    assert entries(each, table) == [(("a",), ("b",), "IN_PROGRESS")]
    rows = [{"kind": "rowCount", "min": 7}, {"kind": "uniqueKey", "columns": ["v", "n"]}]
    check_settings.write_check_document(each.ctx, table, {"checks": rows}, actor=ANN)
    end_replace(each.ctx, table, entry, actor=ANN)
    assert visible(each, table) == ["b"]
    report = read_checks(each.ctx, table, entry)
    assert report is not None
    assert [o.passed for o in report.outcomes] == [True, True]


def test_two_replacements_are_taken_back_at_once_though_an_answer_is_lost(each: Driven, tmp_path: Path) -> None:
    table = each.offline_table("a")
    made = []
    for old, new in (("a", "b"), ("b", "c")):
        made.append(begun(each, table, [old], new, tmp_path))
        end_replace(each.ctx, table, made[-1], actor=ANN)
    assert preview_rollback(each.ctx, table, made[0]).allowed
    each.transport.lost = "revertReplaceSegments"
    assert roll_back(each.ctx, table, made[0], actor=ANN).reverted == tuple(reversed(made))
    assert (visible(each, table), [state for *_, state in entries(each, table)]) == (["a"], ["REVERTED", "REVERTED"])
    job = read_rollback(each.ctx, table)
    assert job is not None
    assert job.state == DONE


def test_a_segment_whose_copy_was_kept_comes_back_and_stays(each: Driven) -> None:
    """0.11.0 deletes the record some seconds after the row, and whatever was uploaded between."""
    table = each.offline_table("a", "b", config={"metadata": {"customConfigs": {KEEP_COPIES: "true"}}})
    crc = segment_lists.read_records(each.ctx, table)["a"].crc
    assert [o.outcome for o in deletion.delete_segments(each.ctx, table, ["a"], actor=ANN)] == ["done"]
    assert list(archive.find(each.ctx, table, ["a"])) == ["a"]
    found = restore.restore_segments(each.ctx, table, ["a"], actor=ANN)
    assert [(o.segment, o.outcome) for o in found] == [("a", "done")], found
    assert segment_lists.read_records(each.ctx, table)["a"].crc == crc
    wait_until(lambda: set(each.view(table)) == set(each.ideal(table)) == {"a", "b"}, 60.0, "it is online")

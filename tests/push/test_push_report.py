"""What a push finds in its files is kept with it: ignored columns, defaults, bad rows with file, line and value, and a
limit for those.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from segments import wiring
from segments.datatypes.shown_value import quoted_text
from segments.domain.push.push_report import MOST, MOST_OF_PART, PushReport, merged, report_from_json
from segments.errors import InvalidInput, NotFound
from segments.models import Push
from segments.services.push.reports import gather
from segments.services.push.reports.document import find_report, report_document
from tests.console.conftest import logged_in
from tests.factories import CLUSTER
from tests.push.pushing import PushWorld

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> PushWorld:
    return PushWorld(tmp_path)


def rate(value: float) -> dict[str, object]:
    return {"executionFrameworkSpec": {"extraConfigs": {"errorRate": value}}}


def found(push: Push) -> PushReport:
    return report_from_json(find_report(push).body)


def test_ignored_columns_and_defaults_are_counted_by_column(world: PushWorld) -> None:
    world.file("a.csv", "Rom,1,17000,x", ",,17001,y", header="city,n,day,extra")
    world.file("b.csv", "Bern,,17000,x,z", header="city,n,day,extra,more")
    push = world.run(world.create())
    assert push.state == "DONE"
    document = report_document(push, find_report(push))
    assert document["ignoredColumns"] == [{"column": "extra", "files": 2}, {"column": "more", "files": 1}]
    assert document["defaults"] == [
        {"column": "city", "rows": 1, "value": "null"},
        {"column": "n", "rows": 2, "value": str(-(2**31))},
    ]
    assert (document["rowsRead"], document["badRows"], document["isComplete"]) == (3, 0, True)


def test_unknown_keys_of_json_and_columns_of_parquet_are_reported_too(world: PushWorld) -> None:
    (world.folder / "a.json").write_text('{"city":"Rom","n":1,"day":17000,"other":{"x":1}}\n')
    push = world.run(world.create(recordReaderSpec={"dataFormat": "json"}))
    assert dict(found(push).ignored) == {"other": 1}
    (world.folder / "a.json").unlink()
    pq.write_table(pa.table({"city": ["Rom"], "n": ["x"], "day": [17000], "extra": [1]}), world.folder / "a.parquet")
    world.now += 1000
    push = world.run(world.create(recordReaderSpec={"dataFormat": "parquet"}))
    (bad,) = found(push).bad
    assert (push.state, dict(found(push).ignored), bad.row, bad.line, bad.value) == (
        "FAILED",
        {"extra": 1},
        1,
        None,
        "'x'",
    )


def test_a_push_that_fails_reports_every_bad_row_of_every_file_with_its_line(world: PushWorld) -> None:
    world.upload("old")
    world.file("a.csv", "Rom,one,17000", "Bern,2,17001", "Paris,three,soon")
    world.file("b.csv", "Oslo,4,17000", "Oslo,4", "", "Oslo,x,17000", "Oslo,1,1,1")
    push = world.run(world.create())
    assert (push.state, world.visible) == ("FAILED", ["old"])
    assert "5 of 7 rows do not fit; errorRate allows 0 of them." in push.error
    places = [(Path(b.file).name, b.line, b.column, b.value) for b in found(push).bad]
    assert places == [
        ("a.csv", 2, "n", "'one'"), ("a.csv", 4, "n", "'three'"),
        ("b.csv", 3, "", "'Oslo,4'"), ("b.csv", 6, "", "'Oslo,1,1,1'"), ("b.csv", 5, "n", "'x'"),
    ]  # fmt: skip


def test_values_and_names_with_u0000_in_a_file_are_reported_and_kept_as_any_other(world: PushWorld) -> None:
    world.file("a.csv", "Rom,o\0ne,17000,x", header="city,n,day,ex\0tra")
    push = world.run(world.create())
    assert push.state == "FAILED"
    assert "1 of 1 row" in push.error
    assert "\0" not in push.error
    assert "u0000" not in json.dumps(find_report(push).body)
    (bad,) = found(push).bad
    assert (bad.column, bad.value) in (("n", "'o\N{REPLACEMENT CHARACTER}ne'"), ("n", "'o\\x00ne'"))


@pytest.mark.parametrize(("allowed", "state"), [(0.5, "DONE"), (0.49, "FAILED")])
def test_so_many_rows_may_be_bad_and_are_left_out_else_it_fails_before_its_switch(
    world: PushWorld, allowed: float, state: str
) -> None:
    world.upload("old")
    world.file("a.csv", "Rom,1,17000", "Bern,2,17001")
    world.file("b.csv", "Oslo,x,17000", "Oslo")
    push = world.run(world.create(**rate(allowed)))
    assert (push.state, found(push).bad_rows, found(push).rows_read) == (state, 2, 4)
    if state == "DONE":
        assert (push.rows, len(world.visible)) == (2, 2)
    else:
        assert world.visible == ["old"]


def test_a_bad_row_in_files_that_are_cut_counts_once_and_on_its_line(world: PushWorld) -> None:
    world.file("a.csv", *(f"Rom,{i},17000" for i in range(5)), "Rom", "Rom,x,17000", "Rom,7,17000")
    spec = {"executionFrameworkSpec": {"extraConfigs": {"errorRate": 1, "segmentTargetRows": 3}}}
    push = world.run(world.create(**spec))
    assert (push.state, push.rows) == ("DONE", 6)
    assert [(b.line, b.column) for b in found(push).bad] == [(7, ""), (8, "n")]
    assert (found(push).bad_rows, found(push).rows_read) == (2, 8)


def test_lines_that_are_no_json_are_left_out_within_the_limit(world: PushWorld) -> None:
    rows = [
        '{"city":"Rom","n":1,"day":17000}',
        "{",
        '{"city":"Rom","n":"x","day":17000}',
        "[1]",
        '{"city":"Rom","n":2,"day":17000}',
    ]
    (world.folder / "a.json").write_text("\n".join(rows))
    push = world.run(world.create(recordReaderSpec={"dataFormat": "json"}, **rate(0.6)))
    assert (push.state, push.rows) == ("DONE", 2)
    assert [b.line for b in found(push).bad] == [2, 4, 3]


def test_where_the_table_stores_what_does_not_fit_as_the_default_it_is_reported_and_not_a_failure(
    tmp_path: Path,
) -> None:
    batch = {"segmentIngestionType": "REFRESH", "consistentDataPush": True}
    world = PushWorld(tmp_path, ingestionConfig={"continueOnError": True, "batchIngestionConfig": batch})
    world.file("a.csv", "Rom,one,17000", "Bern,,17001")
    push = world.run(world.create())
    assert (push.state, push.rows) == ("DONE", 2)
    assert (found(push).bad_rows, dict(found(push).defaults), found(push).bad[0].value) == (1, {"n": 2}, "'one'")


def test_a_wholly_bad_column_is_found_quickly_and_the_report_stays_small(world: PushWorld) -> None:
    world.file("a.csv", *(f"Rom,x{i},17000" for i in range(20_000)))
    push = world.run(world.create())
    report = found(push)
    assert (report.bad_rows, len(report.bad), report.bad[0].line) == (20_000, MOST_OF_PART, 2)
    assert len(json.dumps(find_report(push).body)) < 100_000
    whole = merged([report] * 100)
    assert (whole.bad_rows, len(whole.bad)) == (2_000_000, MOST)


def test_a_long_push_stops_some_time_after_the_first_bad_row_and_says_that_there_may_be_more(
    world: PushWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "_GO_ON_S", -1.0)
    world.file("a.csv", "Rom,x,17000")
    world.file("b.csv", "Rom,y,17000")
    push = world.run(world.create())
    assert ("At least 1 of 1 row does not fit" in push.error, found(push).is_complete) == (True, False)


@pytest.mark.parametrize("value", [-0.1, 1.5, "many"])
def test_a_limit_that_is_none_is_refused_by_its_key(world: PushWorld, value: object) -> None:
    world.file("a.csv", "Rom,1,17000")
    with pytest.raises(InvalidInput, match="errorRate"):
        world.create(**rate(value))  # type: ignore[arg-type]


def test_it_can_be_taken_along_as_json_and_csv_by_those_who_may_read_the_table(
    world: PushWorld, settings: object
) -> None:
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    world.file("a.csv", 'Rom,"=1+1",17000')
    push = world.create()
    with pytest.raises(NotFound):
        find_report(push)
    world.run(push)
    settings.READ_BY_GRANT = True  # type: ignore[attr-defined]
    api, stranger = APIClient(), APIClient()
    api.force_authenticate(User.objects.create_superuser("ann"))
    stranger.force_authenticate(User.objects.create_user("bob"))
    with wiring.use(world.ctx):
        for name in ("report", "report.csv"):
            assert stranger.get(f"/api/v1/pushes/{push.pk}/{name}").status_code == 403
            assert api.get(f"/api/v1/pushes/{push.pk}/{name}").status_code == 200
        assert api.get(f"/api/v1/pushes/{push.pk}/report").json()["badValues"][0]["value"] == "'=1+1'"
        for client, base in ((api, "/api/v1/pushes"), (logged_in("root", "administer", "read"), "/console/pushes")):
            answer = client.get(f"{base}/{push.pk}/report.csv")
            text = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
            rows = list(csv.reader(io.StringIO(text.decode())))
            assert rows[0][0] == "what"
            assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
        page = logged_in("root2", "administer", "read").get(f"/console/pushes/{push.pk}/").content.decode()
    assert "Found in the files" in page
    assert "does not convert to INT" in page


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"), (True, "true"), ({"a": [False, None]}, '{"a":[false,null]}'), (1.5, "1.5"), (b"\xff", "ff"),
        ("None", "'None'"), ("x" * 50, "'" + "x" * 36 + "..."),
    ],
)  # fmt: skip
def test_a_bad_value_is_shown_as_json_has_it_and_text_in_quotes(value: object, text: str) -> None:
    assert quoted_text(value, 40) == text

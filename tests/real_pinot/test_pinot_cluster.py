"""A real Pinot driven through this installation: replacement over REST, pushes, the mirror and the console."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from segments.domain.tables.table_config import CONSISTENT_PUSH
from tests.integration.running import ROOT, Client, Installation, config_of, schema_of
from tests.real_pinot.cluster import RealPinot
from tests.waiting import poll

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(400)]
_numbers = itertools.count(1)
#: Where SCREENSHOTS=1 puts pictures for the documents.
_IMAGES = ROOT / "docs" / "images"


def shoot(page: Page, name: str) -> None:
    if os.environ.get("SCREENSHOTS") == "1":
        page.screenshot(path=_IMAGES / f"{name}.png", full_page=True)


def new_table(client: Client, prefix: str = "rp") -> str:
    """A REFRESH table with consistent push and two segments, queryable."""
    name = f"{prefix}_{next(_numbers)}"
    client.call("POST", "/schemas", json=schema_of(name))
    # 0.11.0 forgets consistentDataPush, which it does not know.
    client.call("POST", "/tables", json={**config_of(name), "metadata": {"customConfigs": {CONSISTENT_PUSH: "true"}}})
    client.upload(name, "a1", "a2")
    poll(lambda: client.counts(name) == {"a1": 10, "a2": 10}, 60, "the first rows answer")
    return name


def state_of(client: Client, table: str, entry: str) -> str:
    found = client.call("GET", f"/segments/{table}/lineage", params={"type": "OFFLINE"}).json()
    return str(found["lineageEntries"][entry]["state"])


def test_a_consistent_push_switches_and_is_rolled_back_without_a_stale_answer(each: Client) -> None:
    table = new_table(each)
    entry = each.start(table, ["a1", "a2"], ["b1", "b2"])
    each.upload(table, "b1", "b2", rows=7)
    assert each.counts(table) == {"a1": 10, "a2": 10}  # hidden until the end
    each.end(table, entry)
    assert each.counts(table) == {"b1": 7, "b2": 7}  # the very first query
    preview = each.call("GET", f"/api/v1/tables/{table}/lineage/{entry}/preview", params={"type": "OFFLINE"}).json()
    assert (preview["before"]["rows"], preview["after"]["rows"], preview["allowed"]) == (14, 20, True)
    each.revert(table, entry)
    assert each.counts(table) == {"a1": 10, "a2": 10}
    assert state_of(each, table, entry) == "REVERTED"
    events = each.call("GET", "/api/v1/audit").json()["events"]
    mine = [
        e
        for e in events
        if e["target"] == f"{table}_OFFLINE" and e["action"] in ("endReplaceSegments", "revertReplaceSegments")
    ]
    assert [(e["action"], e["actor"], e["outcome"]) for e in mine] == [
        ("revertReplaceSegments", "admin", "done"), ("endReplaceSegments", "admin", "done"),
    ]  # fmt: skip


def test_what_pinot_answers_500_to_is_a_4xx_with_the_cause_here(each: Client) -> None:
    table = new_table(each)
    entry = each.start(table, ["a1"], ["b1"])
    path, query = f"/segments/{table}", {"type": "OFFLINE", "segmentLineageEntryId": entry}
    early = each.call("POST", f"{path}/endReplaceSegments", 412, params=query)
    assert "b1" in early.json()["error"]
    again = each.call(
        "POST", f"{path}/startReplaceSegments", 409, params=query, json={"segmentsFrom": ["a1"], "segmentsTo": ["c1"]}
    )
    assert entry in again.text
    each.call(
        "POST", f"{path}/startReplaceSegments", 404, params=query, json={"segmentsFrom": ["none"], "segmentsTo": ["c1"]}
    )
    each.call("POST", f"{path}/endReplaceSegments", 404, params={**query, "segmentLineageEntryId": "unknown"})
    each.call("POST", f"{path}/revertReplaceSegments", 409, params={**query, "forceRevert": "false"})
    assert "b1" in each.call("DELETE", f"{path}/b1", 409).json()["error"]
    each.revert(table, entry, force=True)
    assert each.counts(table) == {"a1": 10, "a2": 10}


def test_a_push_with_spark_builds_uploads_and_switches(real: Client, clusters: Installation, input_root: Path) -> None:
    table = new_table(real)
    folder = input_root / table
    folder.mkdir()
    for name in ("x", "y"):
        (folder / f"{name}.csv").write_text("v,n,day\n" + "".join(f"{name},{i},19000\n" for i in range(30)))
    spec = {
        "jobType": "SegmentCreationAndTarPush",
        "inputDirURI": folder.as_uri(),
        "includeFileNamePattern": "glob:**/*.csv",
        "recordReaderSpec": {"dataFormat": "csv"},
        "tableSpec": {"tableName": table},
    }
    made = real.call("POST", "/api/v1/pushes", status=201, json={"spec": spec, "reason": "nightly"}).json()["id"]
    last: dict[str, Any] = {}

    def is_over() -> bool:
        last.update(real.call("GET", f"/api/v1/pushes/{made}").json())
        return last["state"] in ("DONE", "FAILED", "BLOCKED")

    poll(is_over, 240, f"push {made} is over")
    assert last["state"] == "DONE", last
    assert real.counts(table) == {"x": 30, "y": 30}


def test_a_click_rolls_back_and_every_page_shows_the_real_cluster(real: Client, page: Page) -> None:
    table = new_table(real, "flights")
    entry = real.start(table, ["a1", "a2"], ["b1", "b2"])
    real.upload(table, "b1", "b2", rows=7)
    real.end(table, entry)
    expect_on_page(page, f"/console/c/real/tables/{table}_OFFLINE/", r"Rows visible\s*14\b")
    page.goto("/console/c/real/")
    expect(page.get_by_role("link", name=f"{table}_OFFLINE", exact=True)).to_be_visible()
    shoot(page, "pinot-tables")
    page.goto(f"/console/c/real/tables/{table}_OFFLINE/segments/")
    for segment in ("a1", "a2", "b1", "b2"):
        expect(page.get_by_role("link", name=segment, exact=True).first).to_be_visible()
    page.goto(f"/console/c/real/tables/{table}_OFFLINE/lineage/")
    expect(page.get_by_text("what queries see")).to_be_visible()
    shoot(page, "pinot-lineage")
    page.get_by_role("link", name="Roll back…").first.click()
    expect(page.get_by_role("region", name="What queries see before and after")).to_contain_text("20")
    page.get_by_label("Reason").fill("half of the flights are missing")
    page.get_by_label("Type the table's name to confirm").fill(f"{table}_OFFLINE")
    shoot(page, "pinot-rollback")
    page.get_by_role("button", name=f"Roll back {table}_OFFLINE").click()
    expect(page.get_by_text("Rolled back. Queries on")).to_be_visible()
    assert real.counts(table) == {"a1": 10, "a2": 10}
    expect_on_page(page, f"/console/c/real/tables/{table}_OFFLINE/audit/", "half of the flights are missing")
    expect_on_page(page, f"/console/c/real/tables/{table}_OFFLINE/", r"Rows visible\s*20\b")


def test_columns_of_two_snapshots_come_from_pinots_servers(each: Client) -> None:
    table = new_table(each)
    entry = each.start(table, ["a1", "a2"], ["b1"])
    each.upload(table, "b1", rows=7)
    params = {"type": "OFFLINE", "from": f"{entry}:from", "to": f"{entry}:to"}
    poll(
        lambda: not each.call("GET", f"/api/v1/lineage/{table}/diff", params=params).json()["notes"],
        60,
        "servers tell all columns",
    )
    found = each.call("GET", f"/api/v1/lineage/{table}/diff", params=params).json()
    columns = {c["name"]: (c["changed"], c["from"], c["to"]) for c in found["columns"]}
    changed, before, after = columns["n"]
    assert (changed, before["min"], before["max"], after["min"], after["max"]) == (True, "0", "9", "0", "6")
    assert (columns["v"][1]["min"], columns["v"][1]["max"], columns["v"][2]["max"]) == ("a1", "a2", "b1")
    assert (before["segments"], before["segmentsWithoutRange"], after["cardinalityAtLeast"]) == (2, 0, 7)
    each.revert(table, entry, force=True)


def test_minion_tasks_are_shown_scheduled_stopped_and_resumed_on_a_real_controller(real: Client, page: Page) -> None:
    """Without a minion and with the scheduler off, as this Pinot runs: what is lacking is shown, and a task that was
    made waits.
    """
    name = f"merged_{next(_numbers)}"
    real.call("POST", "/schemas", json=schema_of(name))
    merge = {
        "schedule": "0 0 3 * * ?",
        "1day.mergeType": "concat",
        "1day.bucketTimePeriod": "1d",
        "1day.bufferTimePeriod": "1d",
    }
    config = config_of(name)
    batch = {"segmentIngestionType": "APPEND", "segmentIngestionFrequency": "DAILY"}
    config["ingestionConfig"]["batchIngestionConfig"] = batch
    real.call("POST", "/tables", json={**config, "task": {"taskTypeConfigsMap": {"MergeRollupTask": merge}}})
    real.upload(name, "m1", "m2")
    expect_on_page(page, f"/console/c/real/tables/{name}_OFFLINE/", r"Rows visible\s*20\b")
    page.goto("/console/c/real/passes/")
    page.get_by_role("link", name="Minion tasks").click()
    expect(page.get_by_text("none alive")).to_be_visible()
    expect(page.get_by_text("controller.task.scheduler.enabled")).to_be_visible()
    row = page.get_by_role("row", name=re.compile(f"{name}_OFFLINE.*0 0 3"))
    row.get_by_role("link", name="Schedule now…").click()
    page.get_by_label("Reason").fill("the night is far")
    page.get_by_role("button", name="Schedule now").click()
    expect(page.get_by_text(f"Pinot made 1 task of type MergeRollupTask for {name}_OFFLINE.")).to_be_visible()
    expect_on_page(page, "/console/c/real/passes/tasks/MergeRollupTask/", r"Task_MergeRollupTask_\S+")
    shoot(page, "pinot-tasks")
    for button, pattern in (
        ("Stop…", "Its queue is stopped"),
        ("Resume…", "Its queue takes tasks, but no minion is alive"),
    ):
        page.goto("/console/c/real/passes/tasks/MergeRollupTask/")
        page.get_by_role("link", name=button).click()
        page.get_by_label("Reason").fill("a test")
        page.get_by_role("button", name=button.rstrip("…")).click()
        expect_on_page(page, "/console/c/real/passes/tasks/MergeRollupTask/", pattern)
    actions = [e["action"] for e in real.call("GET", "/api/v1/audit").json()["events"]]
    assert {"scheduleTask", "stopTaskQueue", "resumeTaskQueue"} <= set(actions)


def test_the_form_asks_a_cluster_before_it_saves_it(page: Page, pinot: RealPinot) -> None:
    page.goto("/console/clusters/new/")
    page.get_by_label("Name", exact=True).fill("second")
    page.get_by_label("Controller addresses").fill("http://127.0.0.1:9")
    page.get_by_label("Reason").fill("one more")
    page.get_by_role("button", name="Check and save").click()
    expect(page.get_by_text("Nothing is saved yet")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_value("second")
    expect(page.get_by_role("button", name="Save anyway")).to_be_visible()
    shoot(page, "pinot-add")
    page.get_by_label("Controller addresses").fill(pinot.controller)
    page.get_by_role("button", name="Check and save").click()
    expect(page.get_by_text("Cluster second is added. It answers")).to_be_visible()
    page.goto("/console/clusters/second/remove/")
    page.get_by_label("Reason").fill("enough")
    page.get_by_label("Type").fill("second")
    page.get_by_role("button", name=re.compile("Remove|Forget")).click()
    expect(page.get_by_text("Cluster second is forgotten here")).to_be_visible()


def test_every_page_of_a_real_cluster_opens(real: Client, clusters: Installation, page: Page) -> None:
    """Whatever 0.11.0 lacks is shown on the page; no page is a fault of ours."""
    table = f"{new_table(real)}_OFFLINE"
    expect_on_page(page, f"/console/c/real/tables/{table}/", r"Rows visible\s*20\b")
    tails = (
        "",
        "segments/",
        "segments/a1/",
        "lineage/",
        "config/",
        "checks/",
        "passes/",
        "audit/",
        "deleted/",
        "diff/?from=current",
    )
    paths = [f"tables/{table}/{tail}" for tail in tails] + [
        "",
        "pushes/",
        "query/",
        "servers/",
        "findings/",
        "health/",
        "passes/",
        "passes/tasks/",
        "audit/",
    ]
    for path in paths:
        answer = page.request.get(f"/console/c/real/{path}")
        assert answer.status in (200, 404), (path, answer.status, answer.text()[:500])
        assert path in ("health/", "servers/") or answer.status == 200 or "console" not in answer.url, path
        assert "Traceback" not in answer.text(), path


def test_wrong_addresses_and_names_are_reported_when_a_cluster_is_added(
    clusters: Installation, pinot: RealPinot
) -> None:
    def add(name: str, *options: str) -> str:
        done = clusters.manage("cluster", "add", name, *options, seconds=120)
        clusters.manage("cluster", "remove", name)
        return done.stdout + done.stderr

    assert re.search(r"(?i)not .*(reach|answer)|refused|down", add("nobody", "--controller", "http://127.0.0.1:9"))
    assert re.search(
        r"(?i)no pinot|not .*controller|unexpected|404|not found", add("broker", "--controller", pinot.broker)
    )
    other = add("other", "--controller", pinot.controller, "--zookeeper", clusters.endpoints["zookeeper"])
    assert "realpinot" in other
    assert re.search(r"(?i)FAILED|not|wrong|lacks", other)


def expect_on_page(page: Page, path: str, pattern: str, seconds: float = 90) -> None:
    """Open the page until it shows the pattern: the mirror follows automatically."""

    def look() -> bool:
        page.goto(path)
        return re.search(pattern, page.locator("body").inner_text()) is not None

    poll(look, seconds, f"{pattern!r} on {path}")

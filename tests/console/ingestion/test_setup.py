"""A newcomer switches file ingestion on from the console: a form, a preview of the first session, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments import wiring
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.gateways.input_files.rules import InputRules
from segments.models import AuditEvent, PersonSetting, Table
from segments.services.tables.table_record import read_table_config
from segments.services.tables.tables import update_table
from segments.store import paths
from tests.console.conftest import TYPED, FakeBroker, logged_in
from tests.console.test_rest_calls import run
from tests.factories import CLUSTER, make_table
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db
BASE = f"/console/tables/{TYPED}/ingestion/"
SCHEMA = {"schemaName": "t", "dimensionFieldSpecs": [{"name": "carrier", "dataType": "STRING"}]}


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """Two CSV files below an input root."""
    root = tmp_path / "input"
    (root / "flights").mkdir(parents=True)
    settings.INPUT_ROOTS = [str(root)]
    for day in (1, 2):
        (root / "flights" / f"day={day}.csv").write_text("carrier\nAA\n")
    return root / "flights"


@pytest.fixture
def world(tmp_path: Path, folder: Path) -> Iterator[World]:
    """As everywhere in the console, with a root that input may come from."""
    world = World(tmp_path)
    world.ctx = replace(world.ctx, cluster=CLUSTER, inputs=InputRules((str(folder.parent),)))
    with wiring.use(world.ctx, FakeBroker()):
        yield world


@pytest.fixture
def table(world: World, folder: Path) -> Table:
    world.memory.create(paths.schema("t"), parse_schema(SCHEMA).to_record())
    return make_table(TYPED, config=read_table_config(world.ctx, TABLE).body)


@pytest.fixture
def administrator(db: None) -> Client:
    return logged_in("adele", "operate", "administer")


def values(folder: Path, **changes: str) -> dict[str, str]:
    given = {"folder": str(folder), "data_format": "csv", "include": "", "mode": "append", "when": "0 0 * * * ?"}
    return given | {"cron": "", "retries": "3"} | changes


def task(world: World) -> dict[str, Any]:
    body = read_table_config(world.ctx, TABLE).body
    found: dict[str, Any] = (body.get("task") or {}).get("taskTypeConfigsMap") or {}
    return found.get("FileIngestionTask") or {}


def switch_on(client: Client, folder: Path, **changes: str) -> Any:
    """Through both pages."""
    preview = client.get(f"{BASE}setup/", values(folder, **changes))
    assert preview.status_code == 302, preview.content.decode()
    return client.post(preview["Location"].partition("?")[0], {**_held(client, preview["Location"]), "reason": "daily"})


def _held(client: Client, address: str) -> dict[str, str]:
    form = client.get(address).context["operation"]
    return {key: held[0] for key, held in form.hold.items()}


def test_a_form_and_a_preview_lead_to_the_task_in_the_table_config(
    administrator: Client, world: World, table: Table, folder: Path
) -> None:
    assert "File ingestion is off" in administrator.get(BASE).content.decode()
    assert str(folder.parent) in administrator.get(f"{BASE}setup/").content.decode()
    preview = administrator.get(f"{BASE}setup/", values(folder), follow=True).content.decode()
    assert "The first session reads 2 files of 22 bytes" in preview
    assert "day=2.csv" in preview
    assert task(world) == {}
    switch_on(administrator, folder)
    assert task(world) == {
        "inputDirURI": str(folder),
        "inputFormat": "csv",
        "ingestionMode": "APPEND",
        "consistentPushEnabled": "true",
        "consistentPushMaxRetries": "3",
        "schedule": "0 0 * * * ?",
    }
    event = AuditEvent.objects.get(action="updateTable")
    assert (event.actor, event.reason, event.outcome) == ("adele", "daily", "done")


def test_the_calls_of_both_pages_switch_it_on_and_off_and_show_no_secret(
    administrator: Client, world: World, table: Table, folder: Path
) -> None:
    body = {**read_table_config(world.ctx, TABLE).body, "metadata": {"customConfigs": {"password": "hunter2"}}}
    update_table(world.ctx, TYPED, body, actor=ANN)
    page = administrator.get(f"{BASE}setup/", values(folder))["Location"]
    assert "hunter2" not in administrator.get(page).content.decode()
    assert run(administrator, page, "adele") == 200
    assert task(world)["inputDirURI"] == str(folder)
    assert run(administrator, f"{BASE}switch-off/", "adele") == 200
    assert task(world) == {}
    assert read_table_config(world.ctx, TABLE).body["metadata"]["customConfigs"]["password"] == "hunter2"


def test_the_separator_of_csv_is_written_and_shown_again(
    administrator: Client, world: World, table: Table, folder: Path
) -> None:
    for given, stored in ((";", ";"), ("\\t", "\\t")):
        switch_on(administrator, folder, delimiter=given)
        assert task(world)["recordReader.prop.delimiter"] == stored
    Table.objects.update(config=read_table_config(world.ctx, TABLE).body)
    assert administrator.get(f"{BASE}setup/").context["form"].initial["delimiter"] == "\\t"
    for changes in ({"delimiter": ","}, {"delimiter": ";", "data_format": "json"}):
        (folder / "day=1.csv").write_text('{"carrier": "AA"}\n')
        switch_on(administrator, folder, **changes)
        assert "recordReader.prop.delimiter" not in task(world)
    refused = administrator.get(f"{BASE}setup/", values(folder, delimiter="||"))
    assert refused.status_code == 400
    assert "must be one ASCII character" in refused.content.decode()


@pytest.mark.parametrize(
    ("text", "changes", "words"),
    [
        ("carrier;delay\nAA;1\n", {}, "have no column 'carrier' of the schema. Their columns are 'carrier;delay'."),
        ("carrier;delay\nAA;1\n", {"delimiter": ";"}, ""),
        ("carrier\nAA\n", {"data_format": "parquet"}, "cannot be read"),
        ('{"carier": "AA"}\n', {"data_format": "json"}, "Their columns are 'carier'."),
        ("carrier\n", {}, ""),
    ],
)
def test_a_preview_warns_of_a_first_file_that_does_not_fit(
    administrator: Client, world: World, table: Table, folder: Path, text: str, changes: dict[str, str], words: str
) -> None:
    (folder / "day=1.csv").write_text(text)
    warnings = administrator.get(f"{BASE}setup/", values(folder, **changes), follow=True).context["operation"].warnings
    assert len(warnings) == bool(words)
    assert words in " ".join(warnings)


def test_the_table_page_shows_settings_and_the_next_five_runs(viewer: Client, table: Table, folder: Path) -> None:
    config = {
        "inputDirURI": str(folder),
        "inputFormat": "csv",
        "schedule": "0 30 6 * * ?",
        "consistentPushEnabled": "true",
    }
    Table.objects.update(config=table.config | {"task": {"taskTypeConfigsMap": {"FileIngestionTask": config}}})
    text = viewer.get(BASE).content.decode()
    assert text.count("data-local") == 5
    assert "06:30" in text
    assert "new files are added, nothing is removed" in text
    assert "Trigger now…" not in text
    PersonSetting.objects.create(user=User.objects.get(), key="time-zone", value="Asia/Tokyo")
    viewer.force_login(User.objects.get())  # it counts from log-in on
    text = viewer.get(BASE).content.decode()
    assert (text.count("15:30 (Asia/Tokyo)"), "data-local" in text) == (5, False)


def test_the_table_page_and_the_preview_say_what_one_run_reads(
    administrator: Client, world: World, table: Table, folder: Path
) -> None:
    body = read_table_config(world.ctx, TABLE).body
    task_config = {"inputDirURI": str(folder), "inputFormat": "csv", "runMaxNumFiles": "1"}
    changed = body | {"task": {"taskTypeConfigsMap": {"FileIngestionTask": task_config}}}
    update_table(world.ctx, TABLE.typed, changed, actor=ANN)
    Table.objects.update(config=changed)
    shown = administrator.get(BASE).content.decode()
    assert "<dt>One run reads</dt><dd>1 file at most" in shown
    preview = administrator.get(f"{BASE}setup/", values(folder), follow=True).content.decode()
    assert "The first session reads 2 files" in preview
    assert "This run reads 1 file and leaves 1 to the next triggers" in preview


def test_runs_that_do_not_begin_with_a_minute_show_their_seconds(viewer: Client, table: Table, folder: Path) -> None:
    config = {"inputDirURI": str(folder), "inputFormat": "csv", "schedule": "20 30 6 * * ?"}
    Table.objects.update(config=table.config | {"task": {"taskTypeConfigsMap": {"FileIngestionTask": config}}})
    text = viewer.get(BASE).content.decode()
    assert (text.count("06:30:20 (UTC)"), text.count('data-local="seconds"')) == (5, 5)


def test_changing_keeps_keys_that_the_form_does_not_know(
    administrator: Client, world: World, table: Table, folder: Path
) -> None:
    body = read_table_config(world.ctx, TABLE).body
    kept = {
        "inputDirURI": "/x",
        "inputFormat": "csv",
        "recordReader.prop.delimiter": ";",
        "consistentPushEnabled": "true",
    }
    config = parse_table_config(body | {"task": {"taskTypeConfigsMap": {"FileIngestionTask": kept, "OtherTask": {}}}})
    node = world.memory.get(paths.table_config(TYPED))
    assert node is not None
    world.memory.replace(paths.table_config(TYPED), config.to_record(), node.version)
    switch_on(administrator, folder, mode="swap", retries="0", when="")
    found = task(world)
    assert found["recordReader.prop.delimiter"] == ";"
    assert found["consistentPushSwapEnabled"] == "true"
    assert {"consistentPushEnabled", "schedule", "consistentPushMaxRetries"}.isdisjoint(found)
    assert "OtherTask" in (read_table_config(world.ctx, TABLE).body["task"]["taskTypeConfigsMap"])


def test_a_preview_of_a_swap_names_the_segments_that_it_replaces(
    administrator: Client, world: World, table: Table, folder: Path
) -> None:
    world.upload("old_0", "old_1")
    text = administrator.get(f"{BASE}setup/", values(folder, mode="swap"), follow=True).content.decode()
    assert "replaces 2 segments that queries see now" in text
    assert "old_1" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"folder": "/etc"}, "/etc"),
        ({"folder": ""}, "This field is required"),
        ({"when": "own", "cron": ""}, "Write a cron expression"),
        ({"when": "own", "cron": "0 0 25 * * ?"}, "hours"),
        ({"include": "regex:("}, "pattern"),
        ({"data_format": "docx"}, "Select a valid choice"),
        ({"retries": "-1"}, "greater than or equal to 0"),
    ],
)
def test_what_is_wrong_is_shown_at_the_form_and_nothing_is_saved(
    administrator: Client, world: World, table: Table, folder: Path, changes: dict[str, str], words: str
) -> None:
    answer = administrator.get(f"{BASE}setup/", values(folder) | changes)
    assert 400 <= answer.status_code < 500
    assert words in answer.content.decode()
    assert task(world) == {}


def test_switching_off_removes_the_task(administrator: Client, world: World, table: Table, folder: Path) -> None:
    switch_on(administrator, folder)
    answer = administrator.post(f"{BASE}switch-off/", {"reason": "moved"}, follow=True)
    assert "File ingestion is off." in answer.content.decode()
    assert task(world) == {}


def test_who_may_not_administer_sees_no_file_names(operator: Client, world: World, table: Table, folder: Path) -> None:
    assert "segments.administer" in operator.get(f"{BASE}setup/").content.decode()
    for answer in (
        operator.get(f"{BASE}setup/", values(folder)),
        operator.get(f"{BASE}switch-on/", values(folder)),
        operator.post(f"{BASE}switch-off/", {"reason": "r"}),
    ):
        assert answer.status_code == 403
        assert "day=1.csv" not in answer.content.decode()


def test_a_folder_that_was_emptied_since_the_preview_is_refused(
    administrator: Client, world: World, table: Table, folder: Path
) -> None:
    preview = administrator.get(f"{BASE}setup/", values(folder, mode="swap"))
    held = _held(administrator, preview["Location"])
    for file in folder.iterdir():
        file.unlink()
    answer = administrator.post(f"{BASE}switch-on/", {**held, "reason": "r"})
    assert answer.status_code == 400
    assert "the table would be emptied" in answer.content.decode()
    assert task(world) == {}


def test_a_realtime_table_has_no_file_ingestion(administrator: Client, world: World) -> None:
    make_table("r_REALTIME")
    for page in ("", "setup/"):
        assert administrator.get(f"/console/tables/r_REALTIME/ingestion/{page}").status_code == 404

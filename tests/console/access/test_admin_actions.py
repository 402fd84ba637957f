"""Actions of Django's admin ask for a reason and act: on a table's row, on many tables, on a
replacement, on schedules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.test import Client
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from segments import wiring
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import AuditEvent, Cluster, ConsumingSegment, LineageEntry, PassRun, Table
from segments.services.realtime import consumption
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.upkeep.next_runs import next_runs
from segments.services.upkeep.periodic_passes import DECLARED
from segments.services.upkeep.schedules import ensure_schedules
from tests.console.conftest import logged_in
from tests.factories import CLUSTER, make_table, make_user
from tests.services.embedded_engine import asking
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld
from tests.services.world import TABLE as OFFLINE
from tests.services.world import World

TABLES = "/admin/segments/table/"
SCHEDULES = "/admin/django_celery_beat/periodictask/"
ENTRIES = "/admin/segments/lineageentry/"


@pytest.fixture
def root(db: None) -> Client:
    return logged_in("root", is_superuser=True)


@pytest.fixture
def streaming(tmp_path: Path, db: None) -> Iterator[RealtimeWorld]:
    """A realtime table with two partitions, mirrored."""
    world = RealtimeWorld(tmp_path)
    world.ctx = asking(replace(world.ctx, cluster=CLUSTER), lambda *_: [])
    with wiring.use(world.ctx, None):
        mirrored(world)
        yield world


def mirrored(world: RealtimeWorld | World) -> Table:
    """The table's row, after the mirror has followed."""
    cluster, _ = Cluster.objects.get_or_create(name=CLUSTER)
    ClusterFollower(world.memory, cluster).sync_all()
    return Table.objects.get()


def opened(client: Client, address: str) -> tuple[str, dict[str, str]]:
    """The console's page that a button of the admin leads to, and the hidden fields of its form."""
    page = client.get(address)["Location"]
    fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', client.get(page).content.decode())
    return page, {name: value for name, value in fields if name != "csrfmiddlewaretoken"}


def test_a_paused_table_is_resumed_from_its_row_though_it_has_no_consuming_segment(
    root: Client, streaming: RealtimeWorld
) -> None:
    consumption.pause_table(streaming.ctx, TABLE, actor=ANN)
    streaming.commit()
    table = mirrored(streaming)
    assert (table.is_paused, ConsumingSegment.objects.count()) == (True, 0)
    address = f"{TABLES}{table.pk}/resume/"
    assert address in root.get(TABLES).content.decode()
    page, fields = opened(root, address)
    answer = root.post(page, {**fields, "start": "lastConsumed", "reason": "repaired"})
    assert (answer.status_code, answer["Location"]) == (302, TABLES)
    assert (streaming.pause.paused, len(streaming.consuming)) == (False, 2)
    event = AuditEvent.objects.get(action="resumeConsumption")
    assert (event.actor, event.reason, event.outcome) == ("root", "repaired", "done")


@pytest.mark.parametrize(("button", "action"), [("pause", "pauseConsumption"), ("commit", "forceCommit")])
@pytest.mark.parametrize("model", ["table", "consumingsegment"])
def test_a_row_pauses_and_commits_on_the_consoles_page_which_leads_back(
    root: Client, streaming: RealtimeWorld, model: str, button: str, action: str
) -> None:
    pk = (Table.objects if model == "table" else ConsumingSegment.objects).get_queryset()[0].pk
    rows = f"/admin/segments/{model}/"
    assert f"{rows}{pk}/{button}/" in root.get(rows).content.decode()
    page, fields = opened(root, f"{rows}{pk}/{button}/")
    assert root.post(page, fields).status_code == 422  # no reason
    assert not AuditEvent.objects.filter(action=action).exists()
    answer = root.post(page, {**fields, "reason": "a test"})
    assert (answer.status_code, answer["Location"]) == (302, rows)
    assert AuditEvent.objects.get(action=action, outcome="done").reason == "a test"
    assert streaming.pause.paused is (button == "pause")


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/", "//evil.example/admin/", "/admin\\@evil.example", "javascript:alert(1)", "/admi"],
)
def test_a_button_leads_back_to_pages_of_the_admin_only(root: Client, streaming: RealtimeWorld, address: str) -> None:
    page = f"/console/tables/{TABLE.typed}/consumption/pause/"
    assert 'name="next"' not in root.get(page, {"next": address}).content.decode()
    answer = root.post(page, {"next": address, "reason": "a test"})
    assert answer["Location"] == f"/console/tables/{TABLE.typed}/consumption/"


def test_a_page_that_is_only_opened_does_nothing(root: Client, streaming: RealtimeWorld) -> None:
    pk = Table.objects.get().pk
    for button in ("pause", "resume", "commit", "passes"):
        assert root.get(f"{TABLES}{pk}/{button}/", follow=True).status_code == 200
        address = f"{TABLES}{pk}/{button}/"
        assert root.post(address, {"reason": "where there is no form"}, follow=True).status_code == 200
    assert not AuditEvent.objects.exclude(action__startswith="create").exists()


def test_a_forged_form_does_nothing(streaming: RealtimeWorld) -> None:
    forged = Client(enforce_csrf_checks=True)
    forged.force_login(make_user("root", is_staff=True, is_superuser=True))
    page = forged.get(f"{TABLES}{Table.objects.get().pk}/pause/")["Location"]
    assert forged.post(page, {"reason": "a test"}).status_code == 403
    assert not streaming.pause.paused


def test_chosen_tables_are_paused_together_and_what_is_refused_is_reported(
    root: Client, streaming: RealtimeWorld
) -> None:
    offline = make_table("o_OFFLINE")
    chosen = {"action": "pause_selected", "_selected_action": [offline.pk, Table.objects.get(name=TABLE.typed).pk]}
    page = root.post(TABLES, chosen)["Location"]
    shown = root.get(page).content.decode()
    assert "Pause 2 tables" in shown
    assert f"tables/{TABLE.typed}/pauseConsumption" in shown  # the same over REST
    form = {"t": [offline.name, TABLE.typed], "next": TABLES}
    assert root.post(page, form).status_code == 422  # no reason
    assert not streaming.pause.paused
    answer = root.post(page, {**form, "reason": "a test"}, follow=True)
    assert answer.redirect_chain == [(TABLES, 302)]
    text = answer.content.decode()
    assert "t_REALTIME is paused" in text
    assert "o_OFFLINE: Table &#x27;o_OFFLINE&#x27; consumes no stream." in text
    assert streaming.pause.paused


def test_who_has_no_right_on_the_table_is_refused_on_record(streaming: RealtimeWorld) -> None:
    """Staff that may view the rows, and operate nothing."""
    client = Client()
    client.force_login(sam := make_user("sam", "view_table", is_staff=True))
    assert not sam.has_perm("segments.operate")
    page = client.get(f"{TABLES}{Table.objects.get().pk}/pause/")["Location"]
    assert "Needs the right <code>segments.operate</code>" in client.get(page).content.decode()
    assert client.post(page, {"reason": "please"}).status_code == 403
    assert not streaming.pause.paused
    event = AuditEvent.objects.get(outcome="refused")
    assert (event.actor, event.action, event.target) == ("sam", "pauseConsumption", TABLE.typed)


def test_of_several_tables_each_without_the_right_is_refused_on_record(streaming: RealtimeWorld) -> None:
    client, other = Client(), make_table("o_OFFLINE")
    client.force_login(make_user("sam", "view_table", is_staff=True))
    chosen = {"action": "pause_selected", "_selected_action": [t.pk for t in Table.objects.all()]}
    page = client.post(TABLES, chosen)["Location"]
    assert "You lack the right segments.operate for these tables." in client.get(page).content.decode()
    assert client.post(page, {"t": [t.name for t in Table.objects.all()], "reason": "please"}).status_code == 403
    assert not streaming.pause.paused
    events = AuditEvent.objects.filter(actor="sam", outcome="refused", action="pauseConsumption")
    assert {e.target for e in events} == {TABLE.typed, other.name}


def test_a_refusal_of_the_service_is_shown_with_what_to_do(root: Client, streaming: RealtimeWorld) -> None:
    streaming.change_ideal(HELIX_ENABLED="false")
    page, fields = opened(root, f"{TABLES}{Table.objects.get().pk}/pause/")
    answer = root.post(page, {**fields, "reason": "a test"})
    assert 400 <= answer.status_code < 500
    assert "Table t_REALTIME is disabled!" in answer.content.decode()


def test_a_table_that_consumes_nothing_says_so(root: Client, streaming: RealtimeWorld) -> None:
    offline = make_table("o_OFFLINE")
    text = root.get(f"{TABLES}{offline.pk}/pause/", follow=True).content.decode()
    assert "o_OFFLINE consumes no stream: only REALTIME tables do." in text


# -- replacements and passes


@pytest.fixture
def replaced(tmp_path: Path, db: None) -> Iterator[tuple[World, list[str]]]:
    """Snapshots a, b and c, each replaced by the next; mirrored."""
    world = World(tmp_path)
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    with wiring.use(world.ctx, None):
        world.upload("a")
        entries = []
        for old, new in ("ab", "bc"):
            world.now += 1000
            entries.append(start_replace(world.ctx, OFFLINE, [old], [new], actor=ANN))
            world.upload(new)
            end_replace(world.ctx, OFFLINE, entries[-1], actor=ANN)
        mirrored(world)
        yield world, entries


def test_the_newest_replacement_is_taken_back_from_the_tables_row(
    root: Client, replaced: tuple[World, list[str]]
) -> None:
    world, (first, second) = replaced
    address = f"{TABLES}{Table.objects.get().pk}/rollback/"
    assert address in root.get(TABLES).content.decode()
    page, fields = opened(root, address)
    assert page.partition("?")[0] == f"/console/tables/{OFFLINE.typed}/lineage/{second}/rollback/"
    fields |= {"reason": "bad data"}
    assert root.post(page, {**fields, "confirm": "t"}).status_code == 422
    assert world.visible == ["c"]
    assert root.post(page, {**fields, "confirm": OFFLINE.typed})["Location"] == TABLES
    assert (world.visible, world.state(first), world.state(second)) == (["b"], "COMPLETED", "REVERTED")


def test_an_older_replacement_takes_those_back_that_were_built_on_it(
    root: Client, replaced: tuple[World, list[str]]
) -> None:
    world, (first, second) = replaced
    page, fields = opened(root, f"{ENTRIES}{LineageEntry.objects.get(entry_id=first).pk}/rollback/")
    assert page.partition("?")[0] == f"/console/tables/{OFFLINE.typed}/lineage/{first}/rollback-to/"
    newest, _ = opened(root, f"{ENTRIES}{LineageEntry.objects.get(entry_id=second).pk}/rollback/")
    assert newest.partition("?")[0] == f"/console/tables/{OFFLINE.typed}/lineage/{second}/rollback/"
    answer = root.post(page, {**fields, "reason": "bad data", "confirm": OFFLINE.typed})
    assert answer["Location"] == ENTRIES
    assert world.visible == ["a"]


def test_a_rollback_that_was_confirmed_for_other_replacements_is_refused(
    root: Client, replaced: tuple[World, list[str]]
) -> None:
    world, (first, _) = replaced
    page, _ = opened(root, f"{ENTRIES}{LineageEntry.objects.get(entry_id=first).pk}/rollback/")
    answer = root.post(page, {"seen": "another", "reason": "bad data", "confirm": OFFLINE.typed})
    assert answer.status_code == 422
    assert world.visible == ["c"]


def test_a_table_without_a_replacement_says_so(root: Client, streaming: RealtimeWorld) -> None:
    text = root.get(f"{TABLES}{Table.objects.get().pk}/rollback/", follow=True).content.decode()
    assert "t_REALTIME has no replacement that can be rolled back." in text


def test_a_pass_runs_from_the_tables_row(root: Client, replaced: tuple[World, list[str]]) -> None:
    page, fields = opened(root, f"{TABLES}{Table.objects.get().pk}/passes/")
    assert root.post(page, {**fields, "task": "RetentionManager", "reason": "now"})["Location"] == TABLES
    assert PassRun.objects.get().table_name == OFFLINE.typed
    assert AuditEvent.objects.get(action="run RetentionManager").reason == "now"


# -- schedules


@pytest.mark.parametrize("model", ["intervalschedule", "crontabschedule"])
def test_what_schedules_are_made_of_is_reached_from_them_and_in_no_menu(root: Client, model: str) -> None:
    assert root.get(f"/admin/django_celery_beat/{model}/add/").status_code == 200
    assert f"/{model}/" not in root.get("/admin/").content.decode()


@pytest.mark.parametrize("address", ["solarschedule/", "clockedschedule/", "periodictask/add/"])
def test_nothing_of_celerys_insides_has_a_page(root: Client, address: str) -> None:
    assert root.get(f"/admin/django_celery_beat/{address}").status_code in (403, 404)


def test_schedules_are_listed_and_shown_in_words(root: Client) -> None:
    ensure_schedules(DECLARED)
    listed = root.get(SCHEDULES).content.decode()
    assert re.search(r'<select name="action"[^>]* x-model="action"', listed)
    assert "every 6 hours" in listed
    row = PeriodicTask.objects.get(name="Retention")
    shown = root.get(f"{SCHEDULES}{row.pk}/change/").content.decode()
    assert "lineage clean-up, time retention" in shown
    assert "segments.tasks." not in listed + shown
    assert len(re.findall(r"<div>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC</div>", shown)) == 5


def test_nobody_deletes_a_schedule(root: Client) -> None:
    ensure_schedules(DECLARED)
    row = PeriodicTask.objects.get(name="Retention")
    assert "Delete" not in root.get(f"{SCHEDULES}{row.pk}/change/").content.decode()
    assert "delete_selected" not in root.get(SCHEDULES).content.decode()
    assert root.post(f"{SCHEDULES}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    root.post(f"/admin/django_celery_beat/intervalschedule/{row.interval_id}/delete/", {"post": "yes"})
    assert PeriodicTask.objects.filter(name="Retention").exists()


def test_a_schedule_is_changed_on_record_and_has_one_rhythm(root: Client) -> None:
    ensure_schedules(DECLARED)
    row = PeriodicTask.objects.get(name="Retention")
    nightly = CrontabSchedule.objects.create(minute="0", hour="2")
    form = {"enabled": "on", "interval": row.interval_id, "crontab": nightly.pk}
    offered = root.get(f"{SCHEDULES}{row.pk}/change/").content.decode()
    assert re.search(r">At 02:00[^<]*UTC</option>", offered)
    assert "(m/h/dM/MY/d)" not in offered
    page = root.post(f"{SCHEDULES}{row.pk}/change/", form).content.decode()
    assert "Choose either an interval or a calendar." in page
    assert root.post(f"{SCHEDULES}{row.pk}/change/", {**form, "interval": ""}).status_code == 302
    row.refresh_from_db()
    assert (row.interval, row.crontab) == (None, nightly)
    event = AuditEvent.objects.get(action="changeSchedule")
    assert (event.target, event.detail["before"]) == ("Retention", "every 6 hours, on")
    assert event.detail["after"].startswith("At 02:00")


def test_schedules_are_run_with_a_reason_and_switched_off_on_record(
    root: Client, replaced: tuple[World, list[str]]
) -> None:
    sent: list[str] = []
    queue = SimpleNamespace(cluster=None, send=lambda task, *_, **__: sent.append(task))
    ensure_schedules(DECLARED)
    row = PeriodicTask.objects.get(name="Retention")
    with wiring.use(replace(replaced[0].ctx, queue=queue), None):
        page, fields = opened(root, f"{SCHEDULES}{row.pk}/run-now/")
        assert root.post(page, fields).status_code == 422
        assert root.post(page, {**fields, "reason": "disk is full"})["Location"] == SCHEDULES
    assert sent == ["segments.tasks.run_retention"]
    chosen = {"action": "disable_tasks", "_selected_action": [row.pk], "index": "0"}
    with wiring.use(replaced[0].ctx, None):
        page = root.post(SCHEDULES, chosen)["Location"]
        assert page.startswith("/console/schedules/switch-off/?")
        assert PeriodicTask.objects.get(pk=row.pk).enabled  # choosing it changes nothing yet
        fields = {"s": row.pk, "next": SCHEDULES}
        assert root.post(page, fields).status_code == 422
        assert root.post(page, {**fields, "reason": "moving the store"}).status_code == 302
        assert not PeriodicTask.objects.get(pk=row.pk).enabled
        assert "All of them are off already." in root.get(page).content.decode()
        none = root.get(page.replace("-off", "-on").replace(f"s={row.pk}", "s=99999999")).content.decode()
        assert "No schedule is chosen." in none
        root.post(page.replace("-off", "-on"), {**fields, "reason": "done"})
        assert PeriodicTask.objects.get(pk=row.pk).enabled
    done = AuditEvent.objects.filter(target="Retention", outcome="done").order_by("pk")
    assert list(done.values_list("action", "reason")) == [
        ("runSchedule", "disk is full"), ("disableSchedule", "moving the store"), ("enableSchedule", "done"),
    ]  # fmt: skip


def test_a_schedule_is_run_by_administrators_only(replaced: tuple[World, list[str]]) -> None:
    ensure_schedules(DECLARED)
    row = PeriodicTask.objects.get(name="Retention")
    staff = Client()
    staff.force_login(make_user("sam", "operate", is_staff=True))
    assert staff.post(f"/console/schedules/{row.pk}/run/", {"reason": "please"}).status_code == 403


NOW = datetime(2026, 2, 27, 23, 59, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("calendar", "expected"),
    [
        ({"minute": "*/30", "hour": "*"}, ["02-28 00:00", "02-28 00:30", "02-28 01:00"]),
        ({"minute": "0", "hour": "2", "day_of_week": "1"}, ["03-02 02:00", "03-09 02:00", "03-16 02:00"]),
        ({"minute": "0", "hour": "0", "day_of_month": "31"}, ["03-31 00:00", "05-31 00:00", "07-31 00:00"]),
        ({"minute": "0", "hour": "0", "day_of_month": "30", "month_of_year": "2"}, []),
    ],
)
def test_the_next_runs_of_a_calendar(db: None, calendar: dict[str, str], expected: list[str]) -> None:
    row = PeriodicTask(name="n", task="t", crontab=CrontabSchedule(**calendar, timezone="UTC"))
    assert [f"{due:%m-%d %H:%M}" for due in next_runs(row, NOW, 3)] == expected


def test_the_next_runs_of_an_interval_count_from_the_last_one(db: None) -> None:
    every = IntervalSchedule(every=10, period="minutes")
    row = PeriodicTask(name="n", task="t", interval=every, last_run_at=NOW - timedelta(minutes=4))
    assert next_runs(row, NOW, 2) == [NOW + timedelta(minutes=6), NOW + timedelta(minutes=16)]
    row.last_run_at = NOW - timedelta(days=2)  # beat was down
    assert next_runs(row, NOW, 1) == [NOW]
    row.enabled = False
    assert next_runs(row, NOW) == []


def test_the_menu_calls_schedules_what_the_console_calls_so(db: None) -> None:
    text = logged_in("root", is_superuser=True).get(SCHEDULES).content.decode()
    assert "Schedules" in text
    assert "eriodic task" not in text

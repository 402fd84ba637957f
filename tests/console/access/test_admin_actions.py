"""Actions of Django's admin ask for a reason and act: on a table's row, on many tables, on a
replacement, on schedules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.test import Client
from django_celery_beat.models import PeriodicTask

from segments import wiring
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import AuditEvent, Cluster, ConsumingSegment, LineageEntry, PassRun, Table
from segments.services.realtime import consumption
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.upkeep.periodic_passes import DECLARED
from segments.services.upkeep.schedules import ensure_schedules
from tests.console.conftest import logged_in
from tests.factories import CLUSTER, make_table, make_user
from tests.services.embedded_engine import asking
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld
from tests.services.world import TABLE as OFFLINE
from tests.services.world import World

TABLES = "/admin/segments/table/"
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
    page = root.post(TABLES, chosen).content.decode()
    assert "Pause 2 tables" in page
    text = root.post(TABLES, {**chosen, "confirmed": "yes", "reason": "a test"}, follow=True).content.decode()
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
    assert client.post(TABLES, {**chosen, "confirmed": "yes", "reason": "please"}).status_code == 403
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
    address = f"{TABLES}{Table.objects.get().pk}/passes/"
    root.post(address, {"confirmed": "yes", "task": "RetentionManager", "reason": "now"})
    assert PassRun.objects.get().table_name == OFFLINE.typed
    assert AuditEvent.objects.get(action="run RetentionManager").reason == "now"


# -- schedules


@pytest.mark.parametrize(
    "model", ["periodictask", "intervalschedule", "crontabschedule", "solarschedule", "clockedschedule"]
)
def test_schedules_have_the_style_that_the_button_of_actions_needs(root: Client, model: str) -> None:
    """The button *Run* shows once an action is chosen; the admin theme binds it to the list of actions."""
    ensure_schedules(DECLARED)
    page = root.get(f"/admin/django_celery_beat/{model}/")
    assert page.status_code == 200
    if model == "periodictask":
        assert re.search(r'<select name="action"[^>]* x-model="action"', page.content.decode())
    assert root.get(f"/admin/django_celery_beat/{model}/add/").status_code == 200


def test_schedules_are_run_and_switched_off_on_record(root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_schedules(DECLARED)
    sent: list[str] = []
    monkeypatch.setattr("celery.app.task.Task.apply_async", lambda task, *_, **__: sent.append(task.name))
    rows = PeriodicTask.objects.filter(name__in=["Retention", "Validation"])
    for action in ("run_tasks", "disable_tasks"):
        chosen = {"action": action, "_selected_action": [r.pk for r in rows], "index": "0"}
        assert root.post("/admin/django_celery_beat/periodictask/", chosen).status_code == 302
    assert sorted(sent) == ["segments.tasks.run_retention", "segments.tasks.run_validation"]
    assert not any(r.enabled for r in rows.all())
    events = AuditEvent.objects.order_by("pk").values_list("action", "target", "actor")
    assert sorted(events) == [
        (a, t, "root") for a in ("disableSchedule", "runSchedule") for t in ("Retention", "Validation")
    ]

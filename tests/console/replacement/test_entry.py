"""The page of one replacement, its buttons, several steps back at once, and the comparison of two snapshots."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.test import Client

from segments import wiring
from segments.console.views.replacement import entry as entry_page
from segments.domain.replacement.checks import CheckReport, Level, Outcome
from segments.domain.replacement.end_job import END_JOB, EndJob
from segments.domain.replacement.lineage import Entry, State
from segments.gateways.servers import Profile
from segments.models import AuditEvent, Table
from segments.services.core.context import Context
from segments.services.replacement import explain, pins
from segments.services.replacement import protocol as replacement
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.ends import end_jobs
from segments.services.replacement.ends.end_job_record import job_of_entry
from segments.services.replacement.lineage_record import observe
from segments.services.segments import deletion
from segments.store import paths
from tests.console.conftest import seen
from tests.factories import make_entry, make_segments, make_table
from tests.services.world import ANN, TABLE, World

LINEAGE = "/console/tables/t_OFFLINE/lineage/"


@pytest.fixture(autouse=True)
def servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that have nothing to say."""
    silent = SimpleNamespace(
        errors=lambda url, table: {}, profile=lambda url, table, segments: Profile((), tuple(segments))
    )
    monkeypatch.setattr(wiring, "servers", lambda: silent)


@pytest.fixture
def three(world: World, db: None) -> list[str]:
    """Snapshots a, b, c, d, each replaced by the next; the three entries, oldest first, mirrored."""
    world.upload("a")
    entries = []
    for old, new in (("a", "b"), ("b", "c"), ("c", "d")):
        world.now += 1000
        entries.append(replacement.start_replace(world.ctx, TABLE, [old], [new], actor=ANN))
        world.upload(new)
        replacement.end_replace(world.ctx, TABLE, entries[-1], actor=ANN)
    table = make_table("t_OFFLINE")
    make_segments(table, "a", "b", "c", "d")
    for entry, (old, new) in zip(entries, (("a", "b"), ("b", "c"), ("c", "d")), strict=True):
        at = observe(world.ctx, TABLE).lineage.entry(entry).timestamp_ms
        make_entry(table, entry, segments_from=[old], segments_to=[new], timestamp_ms=at)
    return entries


@pytest.fixture
def opened(world: World, db: None) -> str:
    """a -> b is IN_PROGRESS, b is online; mirrored."""
    world.upload("a")
    entry = replacement.start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    world.upload("b")
    table = make_table("t_OFFLINE")
    make_segments(table, "a", "b")
    make_entry(table, entry, "IN_PROGRESS", segments_from=["a"], segments_to=["b"])
    return entry


def state(world: World, entry: str) -> State:
    return observe(world.ctx, TABLE).lineage.entry(entry).state


def test_the_page_says_why_an_entry_is_where_it_is_and_what_happens_next(operator: Client, opened: str) -> None:
    text = operator.get(f"{LINEAGE}{opened}/").content.decode()
    for words in (
        "A replacement of 1 by 1 segment is under way",
        "sends no heartbeats",
        "Yes, nothing prevents it",
        "None ran",
        "ann",
        "End it",
    ):
        assert words in text


def test_an_unknown_entry_is_a_page_that_says_so(operator: Client, opened: str) -> None:
    assert operator.get(f"{LINEAGE}nobody/").status_code == 404


def test_ending_from_the_console_is_a_background_job_that_the_page_follows(
    operator: Client, viewer: Client, world: World, opened: str
) -> None:
    answer = operator.post(f"{LINEAGE}{opened}/end/", {"reason": "ready"})
    assert answer.status_code == 302
    job = observe(world.ctx, TABLE).lineage.entry(opened).notes[END_JOB]
    text = operator.get(f"{LINEAGE}{opened}/").content.decode()
    assert "1 of 1 replicas are online" in text
    assert 'hx-trigger="every 1s"' in text
    assert (
        "1 of 1 replicas"
        in operator.get(f"{LINEAGE}{opened}/end/progress/", headers={"HX-Request": "true"}).content.decode()
    )
    cancel = f'href="{LINEAGE}{opened}/end/cancel/"'
    for page in ("", "end/progress/"):
        assert cancel in operator.get(f"{LINEAGE}{opened}/{page}").content.decode()
        assert cancel not in viewer.get(f"{LINEAGE}{opened}/{page}").content.decode()
    end_jobs.advance(world.ctx, job)
    assert state(world, opened) is State.COMPLETED
    assert (
        operator.get(f"{LINEAGE}{opened}/end/progress/", headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
    )
    assert "Queries see the new segments" in operator.get(f"{LINEAGE}{opened}/").content.decode()
    replacement.revert_replace(world.ctx, TABLE, opened, actor=ANN)
    assert "Queries see the new segments" not in operator.get(f"{LINEAGE}{opened}/").content.decode()


def test_a_switch_that_happens_while_the_page_is_made_is_on_it(
    operator: Client, world: World, opened: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry was read before the switch, its job after it."""
    operator.post(f"{LINEAGE}{opened}/end/", {"reason": "ready"})
    job = observe(world.ctx, TABLE).lineage.entry(opened).notes[END_JOB]

    def switched_before(ctx: Context, entry: Entry) -> EndJob | None:
        end_jobs.advance(ctx, job)
        return job_of_entry(ctx, entry)

    monkeypatch.setattr(explain, "job_of_entry", switched_before)
    text = operator.get(f"{LINEAGE}{opened}/").content.decode()
    assert "is done: queries see the new side" in text
    assert "Queries see the new segments" in text
    assert 'hx-trigger="every 1s"' not in text


def test_an_entry_that_is_seen_late_is_followed_until_it_is_seen(
    operator: Client, world: World, opened: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a Pinot cluster reports of the lineage may be older than the job: the page must not stay with an entry that
    is IN_PROGRESS.
    """
    operator.post(f"{LINEAGE}{opened}/end/", {"reason": "ready"})
    late = observe(world.ctx, TABLE)
    end_jobs.advance_all(world.ctx)
    with monkeypatch.context() as patched:
        patched.setattr(explain, "observe", lambda ctx, table: late)
        patched.setattr(entry_page, "read_lineage", lambda ctx, table: late.lineage)
        text = operator.get(f"{LINEAGE}{opened}/").content.decode()
        assert "is under way" in text
        assert 'hx-trigger="every 1s"' in text
        assert (
            "HX-Refresh" not in operator.get(f"{LINEAGE}{opened}/end/progress/", headers={"HX-Request": "true"}).headers
        )
    assert (
        operator.get(f"{LINEAGE}{opened}/end/progress/", headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
    )
    assert 'hx-trigger="every 1s"' not in operator.get(f"{LINEAGE}{opened}/").content.decode()


def test_why_a_background_end_failed_stays_on_the_page(operator: Client, world: World, opened: str) -> None:
    operator.post(f"{LINEAGE}{opened}/end/", {"reason": "ready"})
    world.breaks("b")
    end_jobs.advance_all(world.ctx)
    assert (
        operator.get(f"{LINEAGE}{opened}/end/progress/", headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
    )
    text = operator.get(f"{LINEAGE}{opened}/").content.decode()
    assert "could not be loaded by any server" in text
    assert 'hx-trigger="every 1s"' not in text


def test_a_background_end_can_be_cancelled(operator: Client, world: World, opened: str) -> None:
    operator.post(f"{LINEAGE}{opened}/end/", {"reason": "ready"})
    assert operator.post(f"{LINEAGE}{opened}/end/cancel/", {"reason": "not yet"}).status_code == 302
    assert end_jobs.advance_all(world.ctx) == []
    assert state(world, opened) is State.IN_PROGRESS
    assert "not yet" in operator.get(f"{LINEAGE}{opened}/").content.decode()


def test_results_of_checks_are_shown_with_measured_and_allowed_values(
    operator: Client, world: World, opened: str
) -> None:
    outcome = Outcome("rows", "rowCount", Level.BLOCK, False, "5 rows", "at least 9")
    report = CheckReport("t_OFFLINE", opened, world.now, 3, 1, (outcome,), actor="ann")
    snapshot_checks._store(world.ctx, TABLE, report)
    text = operator.get(f"{LINEAGE}{opened}/").content.decode()
    for words in ("blocked", "5 rows", "at least 9", "blocks", "failed"):
        assert words in text


def test_pinning_asks_for_a_reason_and_can_be_undone(operator: Client, world: World, opened: str) -> None:
    assert operator.post(f"{LINEAGE}{opened}/pin/", {"reason": ""}).status_code == 422
    done = operator.post(f"{LINEAGE}{opened}/pin/", {"reason": "audit"}, follow=True).content.decode()
    assert "Unpin it" in done
    assert "“audit”" in done
    assert observe(world.ctx, TABLE).lineage.entry(opened).is_pinned
    operator.post(f"{LINEAGE}{opened}/unpin/", {"reason": "over"})
    assert not observe(world.ctx, TABLE).lineage.entry(opened).is_pinned


@pytest.mark.parametrize("button", ["end/", "pin/", "unpin/", "check/", "rollback-to/"])
def test_who_has_no_right_changes_nothing(viewer: Client, world: World, opened: str, button: str) -> None:
    before = observe(world.ctx, TABLE).lineage
    assert viewer.post(f"{LINEAGE}{opened}/{button}", {"reason": "x", "confirm": "t_OFFLINE"}).status_code == 403
    assert observe(world.ctx, TABLE).lineage == before
    assert AuditEvent.objects.filter(outcome="refused").count() == 1


def test_several_steps_are_taken_back_in_one_action_after_a_preview(
    operator: Client, world: World, three: list[str]
) -> None:
    for entry in three:
        pins.pin_entry(world.ctx, TABLE, entry, replace(ANN, reason="keep"))
    text = operator.get(f"{LINEAGE}{three[0]}/rollback-to/").content.decode()
    for words in ("3 replacements are taken back", "in one switch", *three, "Afterwards"):
        assert words in text
    assert operator.post(f"{LINEAGE}{three[0]}/rollback-to/", {"reason": "bad", "confirm": "t"}).status_code == 422
    confirmed = {"reason": "bad", "confirm": "t_OFFLINE"}
    old = {**confirmed, "seen": "a preview of other replacements"}
    assert operator.post(f"{LINEAGE}{three[0]}/rollback-to/", old).status_code == 422
    assert observe(world.ctx, TABLE).lineage.visible(world.ideal) == ["d"]
    confirmed["seen"] = seen(operator, f"{LINEAGE}{three[0]}/rollback-to/")
    operator.post(f"{LINEAGE}{three[0]}/rollback-to/", confirmed)
    assert {state(world, e) for e in three} == {State.REVERTED}
    assert observe(world.ctx, TABLE).lineage.visible(world.ideal) == ["a"]


def test_the_timeline_offers_several_steps_where_one_is_not_enough(operator: Client, three: list[str]) -> None:
    text = operator.get(LINEAGE).content.decode()
    assert f"{three[0]}/rollback-to/" in text
    assert f"{three[2]}/rollback-to/" not in text


def test_a_rollback_over_several_steps_that_cannot_be_done_says_why(
    operator: Client, world: World, three: list[str]
) -> None:
    world.memory.delete_tree(paths.external_view(TABLE.typed))
    text = operator.get(f"{LINEAGE}{three[0]}/rollback-to/").content.decode()
    assert "This cannot be done now" in text
    assert "segment &#x27;a&#x27; of the snapshot before it exists, but no live server serves it. Wait" in text


def test_the_tick_that_goes_past_a_refusal_names_what_is_refused(
    operator: Client, world: World, three: list[str]
) -> None:
    """Not that a replacement has not ended, where it is a new segment that is gone."""
    address = f"{LINEAGE}{three[0]}/rollback-to/"
    opened = "have not ended; their pushes will fail"
    gone = "new segments are gone that no replacement removed"
    deletion.remove_segments(world.ctx, TABLE, world.visible, actor=ANN)
    text = operator.get(address).content.decode()
    assert (opened in text, gone in text) == (False, True)
    world.upload("z")
    later = replacement.start_replace(world.ctx, TABLE, ["z"], ["y"], actor=ANN)
    make_entry(Table.objects.get(), later, "IN_PROGRESS", segments_from=["z"], segments_to=["y"])
    text = operator.get(f"{LINEAGE}{later}/rollback-to/").content.decode()
    assert (opened in text, gone in text) == (True, False)


def test_two_snapshots_are_compared(operator: Client, three: list[str]) -> None:
    text = operator.get(
        "/console/tables/t_OFFLINE/diff/", {"from": f"{three[2]}:from", "to": "current"}
    ).content.decode()
    for words in ("Only in the first (1)", "Only in the second (1)", "Segments", "Rows"):
        assert words in text
    assert operator.get("/console/tables/t_OFFLINE/diff/").status_code == 200
    assert operator.get("/console/tables/t_OFFLINE/diff/", {"from": "nobody"}).status_code == 404
    assert operator.get("/console/tables/t_OFFLINE/diff/", {"from": f"{three[0]}:side"}).status_code == 400

"""The lineage page, and a rollback through its form."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from segments.console.presenters import lineage
from segments.errors import StateConflict
from segments.models import AuditEvent
from segments.services.replacement import protocol as replacement
from tests.console.test_tables import FRAME
from tests.factories import make_entry, make_event, make_segments, make_table
from tests.services.world import ANN, TABLE, World

LINEAGE = "/console/tables/t_OFFLINE/lineage/"


@pytest.fixture
def entry(world: World, db: None) -> str:
    """Snapshot old (10 rows in 1 segment) was replaced by new (20 rows in 2); mirrored."""
    world.upload("old_0")
    entry = replacement.start_replace(world.ctx, TABLE, ["old_0"], ["new_0", "new_1"], actor=ANN)
    world.upload("new_0", "new_1")
    replacement.end_replace(world.ctx, TABLE, entry, actor=ANN)
    table = make_table("t_OFFLINE")
    make_segments(table, "old_0", is_visible=False)
    make_segments(table, "new_0", "new_1")
    make_entry(table, entry, segments_from=["old_0"], segments_to=["new_0", "new_1"])
    return entry


def _filled(client: Client, address: str, **values: str) -> dict[str, str]:
    """The form as a person would send it after seeing the page."""
    found = re.search(r'name="seen" value="([0-9a-f]+)"', client.get(address).content.decode())
    assert found, "the page shows no form"
    return {"seen": found[1], "reason": "bad data", "confirm": "t_OFFLINE", **values}


def test_the_timeline_shows_who_why_and_until_when(
    operator: Client, entry: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(FRAME + 6):
        text = operator.get(LINEAGE).content.decode()
    for words in (
        entry,
        "COMPLETED",
        "what queries see",
        "From 1 segment",
        "To 2 segments",
        "because",
        "Possible until",
        "Roll back…",
    ):
        assert words in text


def test_the_entry_that_queries_see_is_marked_after_a_rollback_over_several_steps(
    operator: Client, world: World
) -> None:
    """Not the one with the latest time: clocks of machines differ, and parallel replacements are seen together."""
    table = make_table("t_OFFLINE")
    make_segments(table, "a", "b", "c", "x", "y")
    make_entry(table, "seen-0", segments_from=[], segments_to=["a"], timestamp_ms=1_000)
    make_entry(table, "seen-1", segments_from=["x"], segments_to=["y"], timestamp_ms=2_000)
    make_entry(table, "back-1", "REVERTED", segments_from=["a"], segments_to=["b"], timestamp_ms=9_000)
    make_entry(table, "back-2", "REVERTED", segments_from=["b"], segments_to=["c"], timestamp_ms=9_000)
    make_entry(table, "gone", segments_from=["w"], segments_to=["x"], timestamp_ms=5_000)
    cards = operator.get(LINEAGE).content.decode().split('<li class="card')[1:]
    marked = {re.search(r"Choose entry ([\w-]+)", card)[1] for card in cards if "what queries see" in card}  # type: ignore[index]
    assert marked == {"seen-0", "seen-1"}


def test_an_entry_that_cannot_be_taken_back_says_why(operator: Client, world: World) -> None:
    table = make_table("t_OFFLINE")
    make_segments(table, "a", "b", is_visible=False)
    make_entry(table, "first", segments_from=["a"], segments_to=["b"], timestamp_ms=1_700_000_000_000)
    make_entry(table, "second", segments_from=["b"], segments_to=["c"])
    make_entry(table, "third", segments_from=["gone"], segments_to=["d"])
    text = operator.get(LINEAGE).content.decode()
    assert "replaced again by entry &#x27;second&#x27;" in text
    assert "&#x27;gone&#x27; of the old side is deleted." in text


def test_a_long_list_of_segments_is_on_the_page_of_its_entry_and_folded_there(viewer: Client, world: World) -> None:
    make_entry(make_table("t_OFFLINE"), segments_to=[f"s_{i}" for i in range(12)])
    listed = viewer.get(LINEAGE).content.decode()
    assert f'<a class="small" href="{LINEAGE}entry-1/">and 7 more</a>' in listed
    assert "s_11" not in listed


def test_of_a_very_long_list_the_first_500_are_shown() -> None:
    text = render_to_string("console/partials/names.html", {"names": [f"s_{i}" for i in range(1200)]})
    assert text.count("<li>") == 500
    assert "These are the first 500; 700 more are not listed here." in text


def test_the_page_asks_which_segments_are_served_only_of_what_could_be_taken_back_now(
    operator: Client, world: World
) -> None:
    table = make_table("t_OFFLINE")
    for n in range(3):
        sides = [[f"s{at}_{i}" for i in range(20)] for at in (n, n + 1)]
        make_entry(table, f"e{n}", segments_from=sides[0], segments_to=sides[1], timestamp_ms=1_700_000_000_000 + n)
    with CaptureQueriesContext(connection) as captured:
        operator.get(LINEAGE)
    asked = " ".join(q["sql"] for q in captured if 'FROM "segments_segment"' in q["sql"])
    assert "s2_19" in asked
    assert "s1_0" not in asked


def test_old_sides_of_more_segments_than_one_statement_takes_are_asked_for_in_pieces(
    operator: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite takes 32,766 values in one."""
    monkeypatch.setattr(lineage, "_AT_ONCE", 2)
    table = make_table("t_OFFLINE")
    make_segments(table, *(f"old_{i}" for i in range(4)), is_visible=False)
    make_entry(table, "first", segments_from=[f"old_{i}" for i in range(5)], segments_to=["new"])
    assert "&#x27;old_4&#x27; of the old side is deleted." in operator.get(LINEAGE).content.decode()


def test_without_entries_the_page_explains_itself(viewer: Client, world: World) -> None:
    make_table("t_OFFLINE")
    assert "No replacements yet" in viewer.get(LINEAGE).content.decode()


def test_the_preview_compares_before_and_after(viewer: Client, entry: str) -> None:
    text = viewer.get(f"{LINEAGE}{entry}/rollback/").content.decode()
    for words in (
        "Segments that are deleted (2)",
        "new_1",
        "old_0",
        "\N{MINUS SIGN}10",
        "\N{MINUS SIGN}50.0%",
        "200 B",
        "100 B",
    ):
        assert words in text
    assert "Needs the right <code>segments.operate</code>" in text


def test_a_preview_stays_the_same_while_only_time_passes(operator: Client, entry: str, world: World) -> None:
    address = f"{LINEAGE}{entry}/rollback/"
    values = _filled(operator, address)
    world.now += 5000
    assert operator.post(address, values).status_code == 302
    assert world.visible == ["old_0"]


def test_a_rollback_happens_and_the_page_reports_what(operator: Client, entry: str, world: World) -> None:
    address = f"{LINEAGE}{entry}/rollback/"
    answer = operator.post(address, _filled(operator, address), follow=True)
    assert world.visible == ["old_0"]
    assert world.state(entry) == "REVERTED"
    event = AuditEvent.objects.get(action="revertReplaceSegments")
    assert (event.actor, event.reason, event.outcome) == ("olga", "bad data", "done")
    text = answer.content.decode()
    for words in (
        "Rolled back. Queries on t_OFFLINE see the previous snapshot again.",
        "10 rows in 1 segment",
        f"Audit record {event.pk}",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"confirm": "t"}, "This is not the table&#x27;s name"),
        ({"reason": " "}, "Say why"),
        ({"seen": "0123"}, "The table changed since you saw the preview"),
    ],
)
def test_a_wrong_form_changes_nothing(
    operator: Client, entry: str, world: World, wrong: dict[str, str], words: str
) -> None:
    address = f"{LINEAGE}{entry}/rollback/"
    answer = operator.post(address, _filled(operator, address, **wrong))
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert world.state(entry) == "COMPLETED"


def test_confirming_again_after_a_change_works(operator: Client, entry: str, world: World) -> None:
    address = f"{LINEAGE}{entry}/rollback/"
    again = operator.post(address, _filled(operator, address, seen="0123")).content.decode()
    found = re.search(r'name="seen" value="([0-9a-f]+)"', again)
    assert found
    assert operator.post(address, {"seen": found[1], "reason": "r", "confirm": "t_OFFLINE"}).status_code == 302
    assert world.state(entry) == "REVERTED"


def test_a_refusal_of_the_service_is_shown_with_its_remedy(
    operator: Client, entry: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{LINEAGE}{entry}/rollback/"
    form = _filled(operator, address)

    def refuse(*_: object, **__: object) -> None:
        raise StateConflict("Somebody was faster.", remedy="Look again.")

    monkeypatch.setattr(replacement, "revert_replace", refuse)
    answer = operator.post(address, form)
    assert answer.status_code == 409
    assert "Somebody was faster. Look again." in answer.content.decode()


def test_an_entry_that_somebody_reverted_meanwhile_shows_the_outcome(
    operator: Client, entry: str, world: World
) -> None:
    address = f"{LINEAGE}{entry}/rollback/"
    form = _filled(operator, address)
    replacement.revert_replace(world.ctx, TABLE, entry, actor=ANN)
    answer = operator.post(address, form)
    assert answer.status_code == 422
    assert "ann reverted this replacement" in answer.content.decode()
    assert AuditEvent.objects.filter(action="revertReplaceSegments").count() == 1


def test_an_unfinished_replacement_needs_a_tick(operator: Client, world: World) -> None:
    world.upload("old_0")
    entry = replacement.start_replace(world.ctx, TABLE, ["old_0"], ["new_0"], actor=ANN)
    make_entry(make_table("t_OFFLINE"), entry, "IN_PROGRESS", segments_from=["old_0"], segments_to=["new_0"])
    address = f"{LINEAGE}{entry}/rollback/"
    assert operator.post(address, _filled(operator, address)).status_code == 422
    assert operator.post(address, _filled(operator, address, force="on")).status_code == 302
    assert world.state(entry) == "REVERTED"


def test_blockers_hide_the_form(operator: Client, entry: str, world: World) -> None:
    later = replacement.start_replace(world.ctx, TABLE, ["new_0", "new_1"], ["x"], actor=ANN)
    text = operator.get(f"{LINEAGE}{entry}/rollback/").content.decode()
    assert "This cannot be taken back now." in text
    assert later in text
    assert 'name="confirm"' not in text


def test_an_unknown_entry_says_so_with_404(operator: Client, entry: str) -> None:
    answer = operator.get(f"{LINEAGE}nothing/rollback/")
    assert answer.status_code == 404
    assert "Lineage entry &#x27;nothing&#x27; does not exist" in answer.content.decode()


def test_an_event_of_another_table_is_not_shown(viewer: Client, world: World) -> None:
    make_entry(make_table("t_OFFLINE"), "entry-1")
    make_event(target="other_OFFLINE", reason="not mine")
    assert "not mine" not in viewer.get(LINEAGE).content.decode()

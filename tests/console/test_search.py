"""The search finds what has a page, of what the person may read, with few queries."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from segments.console.presenters.search import hits
from segments.models import Grant
from tests.console.conftest import logged_in
from tests.console.test_tables import FRAME
from tests.factories import make_entry, make_push, make_segments, make_session, make_table, make_user

PAGE = "/console/search/"


def found(client: Client, text: str) -> str:
    answer = client.get(PAGE, {"q": text}, headers={"X-Palette": "1"})
    assert answer.status_code == 200
    return answer.content.decode()


def test_rows_of_each_kind_are_found_by_their_names(viewer: Client) -> None:
    table = make_table()
    make_segments(table, "flights_0", "other_1")
    make_entry(table, "entry-77")
    make_session(table, "cp_9_abc")
    push = make_push()
    assert 'href="/console/tables/flights_OFFLINE/"' in found(viewer, "LIGHT")
    assert 'href="/console/tables/flights_OFFLINE/segments/flights_0/"' in found(viewer, "flights_")
    assert "flights_0" not in found(viewer, "lights_0")
    assert "/lineage/entry-77/" in found(viewer, "entry-")
    assert "/ingestion/sessions/cp_9_abc/" in found(viewer, "cp_9")
    for written in (str(push.pk), push.pk.hex, str(push.pk)[:10], str(push.pk)[:4].upper()):
        assert f"/console/pushes/{push.pk}/" in found(viewer, written)
    assert "/console/audit/" in found(viewer, "aud")
    assert "Nothing fits" in found(viewer, "zzz<b>")
    assert "<b>" not in found(viewer, "zzz<b>")
    for odd in ("%", "_", "'", "\U0010ffff", "x" * 300):
        found(viewer, odd)


def test_actions_are_offered_to_who_may_do_them(viewer: Client, operator: Client) -> None:
    make_table("r_REALTIME")
    assert "/console/tables/r_REALTIME/consumption/pause/" in found(operator, "pause r_")
    assert "consumption/pause" not in found(viewer, "pause r_")
    assert "/console/pushes/new/" in found(operator, "new pu")
    assert "reveal" not in found(operator, "show r_")


@pytest.mark.parametrize("text", ["roll back f", "f roll back", "ROLL f", "undo f", "Undo a rollback f"])
def test_actions_of_several_words_are_found_with_a_table(operator: Client, text: str) -> None:
    make_table("f_OFFLINE")
    assert "/console/tables/f_OFFLINE/lineage/" in found(operator, text)


def test_tables_that_begin_with_the_text_come_before_those_whose_type_holds_it(operator: Client) -> None:
    for name in ("a_OFFLINE", "b_OFFLINE", "c_OFFLINE", "d_OFFLINE", "e_OFFLINE", "g_OFFLINE", "flights_live_OFFLINE"):
        make_table(name)
    for text in ("fl", "roll back fl"):
        shown = found(operator, text)
        assert 0 < shown.index("flights_live_OFFLINE") < shown.index("a_OFFLINE")


def test_every_action_and_every_page_of_a_table_is_found_by_its_words(operator: Client, viewer: Client) -> None:
    for name in ("f_OFFLINE", "r_REALTIME"):
        make_table(name)
    root = logged_in("root", is_superuser=True)
    for action in hits.ACTIONS:
        assert _link(action) in found(root, f"{action.words} {_name(action)}"), action
        assert _link(action) not in found(viewer, f"{action.words} {_name(action)}"), action
    for about in hits.TABLE_PAGES:
        assert _link(about) in found(viewer, f"{about.words} {_name(about)}"), about
        assert _link(about) not in found(viewer, about.words), "without a name there would be too many"
    assert "/console/passes/run/?table=f_OFFLINE" in found(operator, "run a pass f_")
    assert "/console/new-table/" in found(root, "new ta")
    assert "/console/new-table/" not in found(operator, "new ta")
    assert "/console/clusters/new/" in found(root, "add a cl")
    assert "/console/settings/" in found(viewer, "time zone")


def _name(of: hits.TableAction) -> str:
    return "r_REALTIME" if of.kind == "REALTIME" else "f_OFFLINE"


def _link(of: hits.TableAction) -> str:
    return f'href="{reverse(f"console:{of.page}", args=[_name(of)])}"'


def test_only_what_one_may_read_is_found(settings: Any, operator: Client) -> None:
    settings.READ_BY_GRANT = True
    for name in ("sales_OFFLINE", "pay_OFFLINE"):
        table = make_table(name)
        make_segments(table, f"{name}_seg")
        make_entry(table, f"entry-{name}")
        make_push(table_name=name.removesuffix("_OFFLINE"))
        make_session(table, f"session-{name}")
    reader = logged_in("rita")
    Grant.objects.create(user_id=reader.session["_auth_user_id"], tables="sales", right="read")
    for text in ("pay", "pay_OFFLINE", "entry-pay", "session-pay"):
        assert "/pay_OFFLINE/" not in found(reader, text)
        assert "Push to pay" not in found(reader, text)
    assert "sales_OFFLINE_seg" in found(reader, "sales")


def test_people_are_found_by_those_who_see_them_in_the_admin(viewer: Client) -> None:
    make_user("hildegard")
    assert "hildegard" not in found(viewer, "hilde")
    assert "/admin/auth/user/" in found(logged_in("root", is_superuser=True), "hilde")


def test_a_search_takes_few_queries(viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    for number in range(30):
        make_segments(make_table(f"flights{number:02}_OFFLINE"), f"flights{number:02}_a")
    with django_assert_max_num_queries(FRAME + 8):
        text = found(viewer, "flights")
    assert text.count("/segments/") == 6
    assert "<h1>Search</h1>" in viewer.get(PAGE, {"q": "flights"}).content.decode()

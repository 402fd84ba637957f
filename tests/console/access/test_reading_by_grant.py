"""Where reading is restricted, pages of console and admin show nothing of tables that their reader has no grant for."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from segments.models import Grant
from tests.console.conftest import FakeBroker, logged_in
from tests.factories import (
    CLUSTER,
    PASSWORD,
    make_entry,
    make_event,
    make_finding,
    make_push,
    make_run,
    make_segments,
    make_table,
)
from tests.services.world import World


@pytest.fixture
def vera(world: World, db: None, settings: Any) -> Client:
    """May read ``t`` and not ``zebra``; of both there is everything that pages show."""
    for raw in ("t", "zebra"):
        typed = f"{raw}_OFFLINE"
        table = make_table(typed)
        make_segments(table, f"{raw}_segment")
        make_entry(table)
        make_push(table_name=raw)
        make_finding(table_name=typed, message=f"of {raw}")
        make_run(table_name=typed, sentences=[f"of {raw}"])
        make_event(target=typed)
    settings.READ_BY_GRANT = True
    client = logged_in("vera")
    Grant.objects.create(user=User.objects.get(username="vera"), tables="t", right="read", cluster=CLUSTER)
    return client


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/console/pushes/",
        "/console/query/",
        "/console/findings/",
        "/console/audit/",
        "/console/audit/csv/",
        "/console/passes/",
        "/console/servers/",
        "/console/clusters/",
        "/console/cluster/",
        "/?q=zebr",
        "/console/findings/?table=zeb",
    ],
)
def test_pages_of_all_tables_show_those_that_may_be_read(vera: Client, path: str) -> None:
    answer = vera.get(path)
    text = answer.getvalue().decode()
    assert answer.status_code == 200
    assert "zebra_OFFLINE" not in text
    assert "of zebra" not in text
    assert ">zebra<" not in text
    if "?" not in path and path not in (
        "/console/query/",
        "/console/servers/",
        "/console/clusters/",
        "/console/cluster/",
    ):
        assert "t_OFFLINE" in text or ">t<" in text


@pytest.mark.parametrize(
    "page", ["", "segments/", "config/", "checks/", "passes/", "audit/", "lineage/", "deleted/", "config/secrets/"]
)
def test_pages_of_another_table_are_refused_as_those_of_one_that_is_not_there(vera: Client, page: str) -> None:
    assert vera.get(f"/console/tables/t_OFFLINE/{page}").status_code == 200
    answers = [vera.get(f"/console/tables/{name}_OFFLINE/{page}") for name in ("zebra", "missing")]
    assert [a.status_code for a in answers] == [403, 403]
    assert "grant" in answers[0].content.decode()


def test_pushes_and_events_of_another_table_are_not_there(vera: Client) -> None:
    from segments.models import AuditEvent, Push

    for raw, status in (("t", 200), ("zebra", 404)):
        push, event = Push.objects.get(table_name=raw), AuditEvent.objects.get(target=f"{raw}_OFFLINE")
        assert vera.get(f"/console/pushes/{push.pk}/").status_code == status
        assert vera.get(f"/console/pushes/{push.pk}/progress/").status_code == status
        assert vera.get(f"/console/audit/{event.pk}/").status_code == status
        assert ("zebra" in vera.get(f"/console/pushes/new/?again={push.pk}").content.decode()) is False


def test_a_query_and_its_export_take_the_right_for_the_table(vera: Client, broker: FakeBroker) -> None:
    assert vera.post("/console/query/", {"sql": "select * from t"}).status_code == 200
    assert vera.post("/console/query/", {"sql": "select * from zebra"}).status_code == 403
    assert vera.post("/console/query/csv/", {"sql": "select * from zebra"}).status_code == 403
    assert broker.asked == ["select * from t"]


def test_the_admin_lists_rows_of_readable_tables_only_and_its_links_name_no_other(vera: Client) -> None:
    from segments.models import Push, Table

    user = User.objects.get(username="vera")
    user.is_staff = True
    user.save()
    user.user_permissions.set(
        Permission.objects.filter(content_type__app_label="segments", codename__startswith="view_")
    )
    client = Client()
    assert client.login(username="vera", password=PASSWORD)
    for model in (
        "table",
        "segment",
        "consumingsegment",
        "lineageentry",
        "push",
        "pushsegment",
        "auditevent",
        "finding",
        "passrun",
    ):
        for query in ("", "?q=zebra"):
            answer = client.get(f"/admin/segments/{model}/{query}")
            assert answer.status_code == 200, model
            text = answer.content.decode()
            assert "zebra_OFFLINE" not in text, model
            assert "of zebra" not in text, model
    zebra = Table.objects.get(name="zebra_OFFLINE")
    assert client.get(f"/admin/segments/table/{zebra.pk}/change/").status_code in (302, 404)
    for address in (f"table/{zebra.pk}/console", f"push/{Push.objects.get(table_name='zebra').pk}/console"):
        answer = client.get(f"/admin/segments/{address}", follow=False)
        assert answer.status_code in (301, 302, 404)
        assert "zebra" not in answer.get("Location", "")

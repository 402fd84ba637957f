"""The tour on the start page: steps tick off when they are done; it ends when all are, or when it is dismissed."""

from __future__ import annotations

from django.test import Client
from django.utils import timezone

from segments.models import SetAsideMessage, TourMark
from tests.console.conftest import FakeBroker
from tests.factories import CLUSTER, make_event, make_table, make_user

TITLE = "Five minutes to try it"


def start_page(client: Client) -> str:
    return client.get("/").content.decode()


def test_steps_lead_to_their_pages_and_wait_for_a_table_of_their_kind(operator: Client) -> None:
    assert TITLE not in start_page(operator)
    make_table("sales_OFFLINE")
    text = start_page(operator)
    assert text.count("there is no table for it yet") == 3
    assert text.count('href="/console/tables/sales_OFFLINE/history/"') == 2
    make_table("clicks_REALTIME")
    text = start_page(operator)
    assert "there is no table for it yet" not in text
    assert 'href="/console/tables/clicks_REALTIME/consumption/"' in text
    make_table("views_REALTIME")
    assert (
        "/console/tables/views_REALTIME/consumption/" not in start_page(operator).split(TITLE)[1].split("</section>")[0]
    )
    SetAsideMessage.objects.create(
        cluster=CLUSTER, table_name="views_REALTIME", topic="views", partition=0, offset="1", place="01", segment="s",
        noticed_at=timezone.now(), reason="odd", size=1, payload=b"x", kept_bytes=1,
    )  # fmt: skip
    for page in ("consumption/", "consumption/set-aside/"):  # where there is something to replay
        assert f'href="/console/tables/views_REALTIME/{page}"' in start_page(operator)


def test_a_query_ticks_the_first_step_once(operator: Client, broker: FakeBroker) -> None:
    make_table("sales_OFFLINE")
    for _ in range(2):
        assert operator.post("/console/query/", {"sql": "select 1 from sales"}).status_code == 200
    assert TourMark.objects.count() == 1
    assert "<s>Query a table</s>" in start_page(operator)


def test_what_the_audit_record_shows_is_ticked_but_only_of_this_person_done_and_with_a_reason(operator: Client) -> None:
    make_table("sales_OFFLINE")
    make_event(actor="someone", action="rollback")
    make_event(actor="olga", action="undoRollback", outcome="refused")
    make_event(actor="olga", action="pauseConsumption", reason="")
    make_event(actor="olga", action="restoreSnapshot", detail={"partOf": "restoreTable"})  # a deleted table came back
    assert "<s>" not in start_page(operator)
    make_event(actor="olga", action="pauseConsumption", reason="maintenance")
    make_event(actor="olga", action="revertReplaceSegments")
    text = start_page(operator)
    assert text.count("<s>") == 2
    assert "<s>Pause consumption</s>" in text
    assert "<s>Roll a table back</s>" in text


def test_it_is_over_when_all_steps_are_done(operator: Client, broker: FakeBroker) -> None:
    make_table("sales_OFFLINE")
    operator.post("/console/query/", {"sql": "select 1 from sales"})
    for action in ("rollback", "undoRollback", "pauseConsumption", "resumeConsumption", "replaySetAside"):
        assert TITLE in start_page(operator)
        make_event(actor="olga", action=action, reason="because")
    assert TITLE not in start_page(operator)


def test_going_back_to_a_snapshot_and_its_undo_are_a_rollback_and_its_undo(operator: Client) -> None:
    make_table("sales_OFFLINE")

    def goes(to: int, left: int, table: str = "sales_OFFLINE") -> str:
        make_event(actor="olga", action="restoreSnapshot", target=table, detail={"snapshot": to, "from": left})
        return start_page(operator)

    text = goes(to=2, left=5)
    assert "<s>Roll a table back</s>" in text
    assert "<s>Undo it</s>" not in goes(to=5, left=7, table="other_OFFLINE")
    assert "<s>Undo it</s>" not in goes(to=1, left=6)
    assert "<s>Undo it</s>" in goes(to=5, left=7)


def test_dismissed_it_does_not_come_back_for_this_person(operator: Client) -> None:
    make_table("sales_OFFLINE")
    assert operator.get("/console/tour/dismiss/").status_code == 405
    assert operator.post("/console/tour/dismiss/").status_code == 302
    assert TITLE not in start_page(operator)
    other = Client()
    other.force_login(make_user("admin2", is_superuser=True))
    assert TITLE in start_page(other)


def test_who_may_change_nothing_is_not_asked_to(viewer: Client) -> None:
    make_table("sales_OFFLINE")
    assert TITLE not in start_page(viewer)

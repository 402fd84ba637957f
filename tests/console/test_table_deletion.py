"""A table is deleted with its name typed, after the page said what goes; who may brings it back."""

from __future__ import annotations

from html import unescape

import pytest
from django.test import Client

from segments.models import AuditEvent, Table
from segments.services.tables import schemas, tables
from segments.services.tables.table_record import read_table_config
from segments.services.tables.tables import list_tables
from tests.console.conftest import logged_in
from tests.factories import make_table
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db
DELETE, BACK = (
    f"/console/tables/{TABLE.typed}/config/delete-table/",
    f"/console/deleted-tables/{TABLE.typed}/bring-back/",
)
LIST = "/console/deleted-tables/"


@pytest.fixture(autouse=True)
def mirrored(world: World) -> Table:
    """The table's schema, and its row in the database."""
    columns = [{"name": "id", "dataType": "INT"}]
    schemas.create_schema(world.ctx, {"schemaName": "t", "dimensionFieldSpecs": columns}, override=False, actor=ANN)
    tables.update_table(world.ctx, TABLE.raw, read_table_config(world.ctx, TABLE).body, actor=ANN)
    return make_table(TABLE.typed, rows_visible=1234, segments_total=3)


@pytest.fixture
def adele() -> Client:
    return logged_in("adele", "operate", "administer")


def press(client: Client, **more: str) -> int:
    text = client.get(DELETE).content.decode()
    seen = text.split('name="seen" value="')[1].split('"')[0]
    return client.post(DELETE, {"seen": seen, "reason": "not used", "confirm": TABLE.typed, **more}).status_code


def test_the_page_says_what_goes_and_wants_the_name(adele: Client, world: World) -> None:
    text = unescape(adele.get(DELETE).content.decode())
    for words in ("3 segments", "1,234 rows", "Deleted tables brings the table back", f"Delete {TABLE.typed}"):
        assert words in text
    assert press(adele, confirm="other") == 422
    assert list_tables(world.ctx) == ["t"]


def test_a_deleted_table_is_listed_and_comes_back(adele: Client, world: World) -> None:
    assert press(adele) == 302
    assert list_tables(world.ctx) == []
    Table.objects.all().delete()
    listed = adele.get(LIST).content.decode()
    assert "not used" in listed
    assert BACK in listed
    assert "It was deleted on" in unescape(adele.get(BACK).content.decode())
    assert adele.post(BACK, {"reason": "it is used"}).status_code == 302
    assert list_tables(world.ctx) == ["t"]
    assert AuditEvent.objects.get(action="restoreTable").outcome == "done"
    assert BACK not in adele.get(LIST).content.decode()


def test_a_table_without_recorded_rows_comes_back_empty_and_says_so(adele: Client, world: World) -> None:
    assert press(adele) == 302
    assert "it comes back empty" in unescape(adele.get(BACK).content.decode())


def test_who_may_not_administer_neither_deletes_nor_brings_back(adele: Client, operator: Client, world: World) -> None:
    assert operator.post(DELETE, {"reason": "x", "confirm": TABLE.typed}).status_code == 403
    assert press(adele) == 302
    assert BACK not in operator.get(LIST).content.decode()
    assert operator.get(BACK).status_code == 403
    assert operator.post(BACK, {"reason": "x"}).status_code == 403
    assert list_tables(world.ctx) == []


def test_what_was_never_deleted_is_not_found(adele: Client, world: World) -> None:
    assert adele.get(BACK).status_code == 404
    assert adele.get("/console/deleted-tables/nothing_OFFLINE/bring-back/").status_code == 404

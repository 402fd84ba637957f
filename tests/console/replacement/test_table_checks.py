"""The page of a table's checks: rules in words, an editor that names the wrong field, results, the way back."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from segments.domain.replacement.checks import CheckReport, Level, Outcome
from segments.domain.tables import schema as schemas
from segments.models import AuditEvent, Table
from segments.services.replacement import protocol as replacement
from segments.services.replacement.checks import check_settings, snapshot_checks
from segments.store import paths
from tests.console.conftest import logged_in
from tests.console.test_tables import FRAME
from tests.factories import make_entry, make_table
from tests.services.world import ANN, TABLE, World

PAGE = "/console/tables/t_OFFLINE/checks/"
COLUMN = "day"
SCHEMA = {
    "schemaName": "t",
    "dateTimeFieldSpecs": [
        {"name": COLUMN, "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:DAYS"}
    ],
}
DOCUMENT = {
    "checks": [
        {"kind": "rowCount", "min": 1, "minRatio": 0.8},
        {"kind": "nullShare", "column": COLUMN, "max": 0.05, "level": "warn"},
        {"kind": "time", "column": COLUMN, "notAfter": "now+1d", "maxAge": "2d"},
        {"kind": "sql", "name": "some rows", "sql": "select count(*) from t", "expect": "> 0"},
    ]
}


@pytest.fixture
def admin(db: None) -> Client:
    """May change checks."""
    return logged_in("anna", "administer")


@pytest.fixture
def table(world: World, db: None) -> World:
    """Mirrored, with a schema, without checks."""
    world.memory.create(paths.schema("t"), schemas.parse_schema(SCHEMA).to_record())
    make_table("t_OFFLINE")
    return world


def form(client: Client, document: Any, reason: str = "stricter") -> dict[str, str]:
    seen = re.search(r'name="seen" value="(\w+)"', client.get(PAGE).content.decode())
    assert seen
    return {
        "document": document if isinstance(document, str) else json.dumps(document),
        "reason": reason,
        "seen": seen[1],
    }


def stored(world: World) -> list[Any]:
    found: list[Any] = check_settings.read_check_document(world.ctx, TABLE)["checks"]
    return found


def test_without_checks_the_page_says_so_and_shows_how_to_write_them(admin: Client, table: World) -> None:
    text = admin.get(PAGE).content.decode()
    for words in ("No checks", "nullShare", "maxRatio", "They have not run yet", "Save the checks"):
        assert words in text


def test_saved_checks_are_reported_in_words(admin: Client, table: World) -> None:
    text = html.unescape(admin.post(PAGE, form(admin, DOCUMENT), follow=True).content.decode())
    assert stored(table) == DOCUMENT["checks"]
    for words in (
        "t_OFFLINE has 4 checks now",
        "At least 1 rows, at least 0.8 times the rows that are replaced",
        f"At most 0.05 of column {COLUMN} is null",
        f"{COLUMN}: nothing after now+1d, the last value is at most 2 d old",
        "select count(*) from t gives > 0",
        "blocks",
        "warns",
    ):
        assert words in text
    event = AuditEvent.objects.get(action="updateChecks", outcome="done")
    assert (event.actor, event.reason) == ("anna", "stricter")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{", "is not JSON"),
        ({"checks": [{"kind": "rowCont"}]}, "checks[0].kind"),
        ({"checks": [{"kind": "nullShare", "column": COLUMN}]}, "checks[0].max"),
        ({"checks": [{"kind": "nullShare", "column": "nobody", "max": 1}]}, "nobody"),
        ({"checks": [{"kind": "sql", "sql": "select count(*) from other", "expect": "= 0"}]}, "does not read table"),
        ("", "Write a document"),
    ],
)
def test_a_mistake_is_shown_next_to_the_editor_and_names_the_field(
    admin: Client, table: World, document: Any, words: str
) -> None:
    answer = admin.post(PAGE, form(admin, document))
    text = html.unescape(answer.content.decode())
    assert answer.status_code in (400, 422)
    beside = text.split('<textarea name="document"')[1].split("<details")[0]
    assert words in beside
    assert 'aria-invalid="true"' in beside
    assert stored(table) == []


def test_a_reason_is_needed(admin: Client, table: World) -> None:
    assert admin.post(PAGE, form(admin, DOCUMENT, reason="")).status_code == 422
    assert stored(table) == []


def test_what_somebody_else_saved_meanwhile_is_not_lost(admin: Client, table: World) -> None:
    mine = form(admin, {"checks": []})
    check_settings.write_check_document(table.ctx, TABLE, DOCUMENT, actor=ANN)
    answer = admin.post(PAGE, mine)
    assert answer.status_code == 422
    assert "Somebody changed the checks" in answer.content.decode()
    assert stored(table) == DOCUMENT["checks"]


def test_a_change_is_taken_back_from_its_message(admin: Client, table: World) -> None:
    check_settings.write_check_document(table.ctx, TABLE, DOCUMENT, actor=ANN)
    text = admin.post(PAGE, form(admin, {"checks": []}), follow=True).content.decode()
    assert "All checks are removed" in text
    assert "?undo=1#editor" in text
    back = html.unescape(admin.get(PAGE, {"undo": "1"}).content.decode())
    assert "These are the former checks" in back
    before = back.split('<textarea name="document"')[1].split(">", 1)[1].split("</textarea>")[0]
    assert json.loads(before)["checks"] == DOCUMENT["checks"]
    assert stored(table) == []


def test_who_may_only_operate_reads_and_changes_nothing(operator: Client, table: World) -> None:
    text = operator.get(PAGE).content.decode()
    assert "segments.administer" in text
    assert "<textarea" not in text
    assert operator.post(PAGE, {"document": json.dumps(DOCUMENT), "reason": "x", "seen": ""}).status_code == 403
    assert stored(table) == []
    assert AuditEvent.objects.get(outcome="refused").action == "updateChecks"


def test_a_document_that_cannot_be_read_is_shown_with_the_reason(admin: Client, table: World) -> None:
    node = table.memory.get(paths.table_config(TABLE.typed))
    assert node is not None
    assert node.record is not None
    broken = json.dumps({"customConfigs": {"pinotadmin.checks": "{broken"}})
    table.memory.replace(paths.table_config(TABLE.typed), node.record.with_simple(metadata=broken), node.version)
    text = admin.get(PAGE).content.decode()
    assert "The stored checks cannot be read" in text
    assert "is not JSON" in text


def test_the_last_results_of_its_entries_are_listed_in_one_query(
    admin: Client, table: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    row, ids = Table.objects.get(), iter([f"e-{number}" for number in range(12)])
    table.ctx = replace(table.ctx, new_id=lambda: next(ids))
    for number in range(12):
        entry = replacement.start_replace(table.ctx, TABLE, [], [f"s{number}"], actor=ANN)
        make_entry(row, entry, timestamp_ms=number)
        outcome = Outcome("rows", "rowCount", Level.BLOCK, False, f"{number} rows", "at least 99")
        report = CheckReport(
            "t_OFFLINE", f"e-{number}", table.now, 3, 1, (outcome,), override="ok" if number == 11 else "", actor="ann"
        )
        snapshot_checks._store(table.ctx, TABLE, report)
    admin.get(PAGE)
    with django_assert_max_num_queries(FRAME + 3):
        text = admin.get(PAGE).content.decode()
    for words in ("e-11", "measured 11 rows, allowed at least 99", "overridden", "blocked", "e-2<"):
        assert words in text
    assert "e-1<" not in text

"""Rows per day and values of a column of two snapshots, as parts of the page that compares them."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from segments.console.views.replacement import values
from segments.errors import InvalidInput
from segments.services.replacement.values_diff import (
    ColumnSide,
    ColumnValues,
    DayRows,
    Days,
    NullRows,
    Nulls,
    ValueCount,
)
from tests.console.conftest import TYPED
from tests.factories import make_table
from tests.services.world import World

pytestmark = pytest.mark.django_db
DAYS, VALUES = f"/console/tables/{TYPED}/diff/days/?from=1&to=2", f"/console/tables/{TYPED}/diff/values/?from=1&to=2"


@pytest.fixture(autouse=True)
def mirrored(world: World) -> None:
    make_table(TYPED)


def give(monkeypatch: pytest.MonkeyPatch, name: str, answer: Any) -> list[tuple[Any, ...]]:
    """The comparison answers this, or raises it; what it was asked for."""
    asked: list[tuple[Any, ...]] = []

    def found(*given: Any) -> Any:
        asked.append(given[1:])
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(values, name, found)
    return asked


def test_days_have_bars_of_one_scale_newest_first(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    days = [DayRows("2024-03-01", 100, 50), DayRows("2024-03-02", 0, None)]
    give(monkeypatch, "compare_days", Days("day", days, ["The second is <gone>."]))
    text = viewer.get(DAYS).content.decode()
    assert text.index("2024-03-02") < text.index("2024-03-01")
    for words in ('width="100.0"', 'width="50.0"', "differs", "The second is &lt;gone&gt;."):
        assert words in text


def test_values_have_shares_of_their_side(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    side = ColumnSide(200, 50, [ValueCount("<b>AA</b>", 100)])
    asked = give(monkeypatch, "compare_column", ColumnValues("carrier", side, None, "", "Not on servers."))
    text = viewer.get(f"{VALUES}&column=carrier").content.decode()
    assert [str(part) for part in asked[0]] == [TYPED, "1", "2", "carrier"]
    for words in ("50 of 200 null", 'width="25.0"', 'width="50.0"', "&lt;b&gt;AA&lt;/b&gt;", "Not on servers."):
        assert words in text


def test_nulls_have_shares_of_their_side_and_the_largest_change_comes_first(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = [NullRows("same", 50, 25), NullRows("<worse>", 0, 75), NullRows("unread", None, 1)]
    give(monkeypatch, "compare_nulls", Nulls((200, 100), columns, ["The first is gone."]))
    text = viewer.get(DAYS.replace("days", "nulls")).content.decode()
    assert text.index("&lt;worse&gt;") < text.index("unread") < text.index("same")
    for words in ('width="75.0"', "75.0 %", ">25 <", "differs", "The first is gone.", "not compared"):
        assert words in text


def test_a_refusal_is_shown_in_the_part_and_by_the_status(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, "compare_column", InvalidInput("No such column."))
    assert viewer.get(VALUES).status_code == 400
    part = viewer.get(VALUES, headers={"HX-Request": "true"})
    assert part.status_code == 200
    assert "No such column." in part.content.decode()


def test_the_page_asks_for_days_at_once_and_for_values_when_opened(viewer: Client, world: World) -> None:
    text = viewer.get(f"/console/tables/{TYPED}/diff/?from=current&to=current").content.decode()
    assert f"/console/tables/{TYPED}/diff/days/?from=current&amp;to=current" in text
    assert text.index("Rows per day") < text.index("Only in the first")

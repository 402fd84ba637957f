"""A whole installation whose table skips what it is too late for: what queries see, and where people read of it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from segments.domain.realtime.streams.offset_auto_reset import ENABLE, MESSAGES
from tests.integration.running import Client, Installation
from tests.integration.test_realtime_basic import Table
from tests.waiting import poll

pytestmark = pytest.mark.integration

#: Messages: of the first segment, in the stream before the table, and sent once it has caught up.
FIRST, WAITING, THEN = 500, 3_000, 40


def test_what_a_table_is_too_late_for_is_skipped_and_is_on_record(
    installation: Installation, client: Client, page: Page
) -> None:
    keys = {ENABLE: "true", MESSAGES: "1000"}
    table = Table(installation, client, "late", FIRST, waiting=WAITING, stream=keys)

    def losses() -> list[dict[str, object]]:
        found: list[dict[str, object]] = client.call("GET", "/api/v1/tables/late_REALTIME/dataLosses").json()["losses"]
        return found

    poll(losses, 60, "the range that is skipped")
    table.send(THEN)
    poll(lambda: table.counted() == [FIRST + THEN] * 2, 30, "rows of the first segment and those that came then")
    assert client.sql("select min(n), max(n) from late") == [[0, WAITING + THEN - 1]]
    [loss] = losses()
    assert (loss["partition"], loss["isSkipped"], loss["count"]) == (0, True, WAITING - FIRST)
    page.goto("/console/tables/late_REALTIME/consumption/")
    row = page.locator("#data-losses tbody tr")
    expect(row).to_contain_text("2,500")
    expect(row).to_contain_text("skipped")
    expect(row).to_contain_text(str(loss["segment"]))

"""The browser's journey on the real Pinot 0.11.0, through an installation with its own workers and mirror."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from playwright.sync_api import Page

from segments.domain.segments.archive import KEEP_COPIES
from segments.domain.tables.table_config import CONSISTENT_PUSH
from tests.browser import pinot_journey as journey
from tests.browser.pinot_journey import Names
from tests.integration.running import Client, config_of, schema_of
from tests.real_pinot.test_pinot_realtime import Topic
from tests.streams.kafka_broker import KafkaBroker
from tests.waiting import poll

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(600)]
_numbers = itertools.count(1)


class RealPlace:
    """A table of each type of cluster ``real``. Pinot 0.11.0 forgets ``consistentDataPush``, hence our key for it."""

    def __init__(self, real: Client, folder: Path, realtime: str = "") -> None:
        self._real, raw = real, f"walk_{next(_numbers)}"
        self.names = Names("/console/c/real/", f"{raw}_OFFLINE", f"{realtime}_REALTIME", folder / raw)
        self.names.folder.mkdir()
        (self.names.folder / "monday.csv").write_text("v,n,day\nRom,1,19000\nBern,2,19001\n")
        real.call("POST", "/schemas", json=schema_of(raw))
        config = config_of(raw, replication=1)
        keys = dict.fromkeys((KEEP_COPIES, CONSISTENT_PUSH), "true")
        real.call("POST", "/tables", json={**config, "metadata": {"customConfigs": keys}})
        real.upload(raw, "old")
        poll(lambda: self.visible() == ["old"], 60, "the first segment answers")

    def work(self) -> None:
        """The installation's processes do."""

    def visible(self) -> list[str]:
        """Segments that answer the next query."""
        raw = self.names.offline.removesuffix("_OFFLINE")
        sql = f'select "$segmentName", count(*) from {raw} group by "$segmentName" limit 100'
        return sorted(str(row[0]) for row in self._real.sql(sql))


def test_a_push_is_rolled_back_and_the_rollback_undone(real: Client, page: Page, input_root: Path) -> None:
    place = RealPlace(real, input_root)
    pushed = journey.push(page, place)
    journey.roll_back(page, place)
    assert place.visible() == ["old"]
    journey.undo(page, place)
    assert [s.partition("_undo")[0] for s in place.visible()] == pushed


def test_consumption_is_paused_and_goes_on(real: Client, page: Page, input_root: Path, kafka: KafkaBroker) -> None:
    topic = Topic(real, kafka, "journey")
    topic.send(100)
    topic.shows_all()
    place = RealPlace(real, input_root, topic.name)
    journey.pause(page, place)
    topic.send(50)
    assert topic.seen() == [100, 100]
    journey.resume(page, place)
    topic.shows_all()

"""A day with a Pinot cluster in the console, by mouse and keyboard: push, roll back, undo; pause and resume. The same
steps on the fake Pinot and on a real one; what other processes do is the ``Place``'s affair.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from playwright.sync_api import Page, expect


@dataclass(frozen=True)
class Names:
    """Where the journey goes: the page of the cluster with its slash, typed tables, the folder of the input files."""

    cluster: str
    offline: str
    realtime: str
    folder: Path


class Place(Protocol):
    """A Pinot with an OFFLINE table that shows one snapshot."""

    names: Names

    def work(self) -> None:
        """Have workers carry out what waits, and the mirror follow, where no processes of an installation do."""

    def visible(self) -> list[str]:
        """Segments from which queries on the OFFLINE table are answered."""


def push(page: Page, place: Place) -> list[str]:
    """A push by the form, until queries see its snapshot; its segments."""
    before, names = place.visible(), place.names
    spec = {
        "jobType": "SegmentCreationAndMetadataPush", "inputDirURI": str(names.folder),
        "tableSpec": {"tableName": names.offline.removesuffix("_OFFLINE")}, "recordReaderSpec": {"dataFormat": "csv"},
    }  # fmt: skip
    page.goto(f"{names.cluster}pushes/new/")
    page.get_by_label("Job specification (YAML)").fill(json.dumps(spec))
    page.get_by_label("Reason").fill("the files of Monday")
    page.get_by_role("button", name="Check and start").click()
    expect(page.get_by_text("is queued.")).to_be_visible()
    place.work()
    expect(page.get_by_text("Queries see the new snapshot.", exact=True)).to_be_visible(timeout=240_000)
    after = place.visible()
    assert after
    assert not set(after) & set(before)
    return after


def roll_back(page: Page, place: Place) -> None:
    """The newest replacement is taken back from the table's lineage."""
    table = place.names.offline
    page.goto(f"{place.names.cluster}tables/{table}/lineage/")
    page.get_by_role("link", name="Roll back…").first.click()
    expect(page.get_by_role("region", name="What queries see before and after")).to_contain_text("Rows")
    page.get_by_label("Reason").fill("Monday was incomplete")
    page.get_by_label("Type the table's name to confirm").fill(table)
    page.get_by_role("button", name=re.compile("^Roll back")).click()
    expect(page.get_by_role("heading", name="Rolled back")).to_be_visible(timeout=60_000)
    place.work()


def undo(page: Page, place: Place) -> None:
    """From the page that follows the rollback."""
    page.reload()
    page.get_by_role("link", name="Undo the rollback…").first.click()
    page.get_by_label("Reason").fill("Monday was right")
    page.get_by_role("button", name="Undo the rollback").click()
    expect(page.get_by_text("The rollback is undone.")).to_be_visible(timeout=120_000)
    place.work()


def pause(page: Page, place: Place) -> None:
    """The whole table, with a reason that its page shows."""
    page.goto(_consumption(place))
    page.get_by_role("link", name="Pause…").first.click()
    page.get_by_label("Reason").fill("the topic is moved")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("is paused; what was consumed is being committed.")).to_be_visible()
    expect(page.get_by_text("the topic is moved").first).to_be_visible()
    place.work()
    expect(page.get_by_text("Nothing is consuming; new rows wait in the stream.")).to_be_visible(timeout=120_000)


def resume(page: Page, place: Place) -> None:
    """Where it stopped."""
    page.goto(_consumption(place))
    page.get_by_role("link", name="Resume…").first.click()
    page.get_by_label("where it stopped").check()
    page.get_by_label("Reason").fill("the topic is there")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_text("consumes again.")).to_be_visible()
    place.work()
    expect(page.get_by_role("link", name="Pause…").first).to_be_visible(timeout=60_000)


def _consumption(place: Place) -> str:
    return f"{place.names.cluster}tables/{place.names.realtime}/consumption/"

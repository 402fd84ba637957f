"""Somebody in front of a page: finds what can be seen by the words on it, presses it, types, reads; and is counted.

There is no other way to the page from here: no address but that of the start page, no identifier, no REST call.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from playwright.sync_api import Error, Locator, Page

from bench.newcomer.tally import Tally

Words = str | re.Pattern[str]
#: What can be pressed; a person does not distinguish them.
_PRESSED = ("link", "button")
#: What belongs together to the eye: an entry of a list, a row of a table.
_GROUPS = ("listitem", "row")
#: How long somebody waits for the next thing.
_PATIENCE_S = 60.0
#: Files as they hang on the pointer while they are dragged.
_DRAGGED = """([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name, {type: "text/csv"}));
  return files;
}"""


class Missing(Exception):
    """The task cannot be gone on with; says what was not there."""


class Person:
    """Logged in. ``pictures``: where a screenshot of each step goes; None: none are made."""

    def __init__(self, page: Page, pictures: Path | None = None, *, patience_s: float = _PATIENCE_S) -> None:
        self._page, self._pictures, self._patience_ms = page, pictures, patience_s * 1000
        self._tally, self._task = Tally(), ""

    def begin(self, task: str) -> Tally:
        """Come to the start page, which is not counted; the tally of what follows."""
        self._page.goto("/")
        self._page.wait_for_load_state("load")
        self._tally, self._task = Tally(), re.sub(r"\W+", "-", task.lower()).strip("-")
        return self._tally

    def click(self, words: Words, *, near: str = "") -> None:
        """Press the one link or button that says this. ``near``: words of the row or entry that it stands in."""
        place = self._group(near) if near else self._page
        found = self._one([place.get_by_role(role, name=words, exact=True) for role in _PRESSED], words)
        self._tally.click(time.perf_counter())
        found.click()

    def fill(self, label: str, text: str) -> None:
        """Type into the one field with this label."""
        found = self._one([self._page.get_by_label(label, exact=True)], label)
        self._tally.fill(time.perf_counter())
        found.fill(text)

    def drop(self, words: str, file: Path) -> None:
        """Drag a file onto the place that says this, and let it go; counts as a click."""
        dragged = self._page.evaluate_handle(_DRAGGED, [file.name, file.read_text()])
        found = self._one([self._page.get_by_text(words)], words)
        self._tally.click(time.perf_counter())
        found.dispatch_event("drop", {"dataTransfer": dragged})

    def read(self, words: Words) -> None:
        """Wait until the page says this."""
        self._see(self._page.get_by_text(words), words)

    def end(self) -> None:
        """The task is done: what the last click led to was read, else its time would be missing."""
        if self._tally.is_waiting:
            raise Missing("what the last click led to: the task ends before it is read")
        self._picture("end")

    def picture_of_failure(self, folder: Path) -> Path:
        """The page as it is, for whoever mends it."""
        path = folder / f"{self._task}-missing.png"
        self._page.screenshot(path=path, full_page=True)
        return path

    def _group(self, near: str) -> Locator:
        groups = [self._page.get_by_role(role).filter(has_text=near) for role in _GROUPS]
        return _any_of(groups)

    def _one(self, ways: Sequence[Locator], words: Words) -> Locator:
        found = self._see(_any_of(ways), words)
        if (count := found.count()) > 1:
            raise Missing(f"one thing called {_text(words)}: {count} are, and a person would not know which is meant")
        return found

    def _see(self, wanted: Locator, words: Words) -> Locator:
        """Visible, on a page that has loaded what makes it work."""
        found = wanted.filter(visible=True)
        try:
            found.first.wait_for(timeout=self._patience_ms)
            self._page.wait_for_load_state("load")
        except Error as error:
            raise Missing(f"{_text(words)}, within {self._patience_ms / 1000:g} s") from error
        self._tally.see(time.perf_counter())
        self._picture(str(self._tally.clicks + self._tally.fields))
        return found

    def _picture(self, step: str) -> None:
        if self._pictures:
            self._page.screenshot(path=self._pictures / f"{self._task}-{step}.png", full_page=True)


def _any_of(ways: Sequence[Locator]) -> Locator:
    return reduce(lambda found, other: found.or_(other), ways)


def _text(words: Words) -> str:
    return f"“{words if isinstance(words, str) else words.pattern}”"

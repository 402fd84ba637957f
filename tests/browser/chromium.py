"""The machine's own Chromium, and a person who logs in through the form."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

#: Debian's headless shell comes first: it starts, and opens a page, in half the time of the whole browser.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
#: It reaches this machine only. A route that refuses the rest would make each request wait for the test's own thread.
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)


def installed() -> str:
    """Where it is; empty: it is not installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), "")


@contextmanager
def running() -> Iterator[Browser]:
    """Started and ended. Playwright runs an event loop in this thread, which Django would take for a mistake."""
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=installed(), args=list(_ARGUMENTS))
            yield browser
            browser.close()
    finally:
        if before is None:
            del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


def log_in(page: Page, user: str, password: str) -> None:
    """Returns when the list of tables is there with style and scripts: keys and colours need those."""
    page.goto("/")
    page.get_by_label("User name").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Tables").wait_for()
    page.wait_for_load_state("load")

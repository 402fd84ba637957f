"""What a browser gets that has never been there: bytes over loopback, and when something is painted first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from playwright.sync_api import Browser

from bench.console.filling import LARGE, LONG
from tests.browser import chromium

AIM_BYTES: Final = 350_000
AIM_MS: Final = 1_000.0
PASSWORD: Final = "correct horse battery"
_PAGES: Final = (
    "/", f"/console/tables/{LARGE}/", f"/console/tables/{LARGE}/segments/", f"/console/tables/{LONG}/history/",
    "/console/audit/", "/console/query/", "/console/new-table/",
)  # fmt: skip
#: Header and body of everything that was fetched, and the first contentful paint.
_TAKEN: Final = """() => {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return [all.reduce((sum, one) => sum + one.transferSize, 0), paint ? paint.startTime : null,
          all.filter(one => new URL(one.name).host !== location.host).length];
}"""


def paint_all() -> int:
    """Print a row for each page; 1 when one is over an aim, or fetches something from elsewhere."""
    if not chromium.installed():
        print("  No Chromium is installed: what a browser gets was not measured.")
        return 0
    with _served() as url, chromium.running() as browser:
        cookies = _logged_in(browser, url)
        print(f"  {'cold, in Chromium':<46}{'paint ms':>9}{'kB':>7}")
        return max([_paint(browser, url, cookies, page) for page in _PAGES])


@contextmanager
def _served() -> Iterator[str]:
    """The pages and their files over HTTP, from a thread of this process."""
    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.test.testcases import LiveServerThread

    thread = LiveServerThread("127.0.0.1", StaticFilesHandler)
    thread.daemon = True
    thread.start()
    thread.is_ready.wait()
    if thread.error:
        raise thread.error
    try:
        yield f"http://127.0.0.1:{thread.port}"
    finally:
        thread.terminate()


def _logged_in(browser: Browser, url: str) -> list[Any]:
    context = browser.new_context(base_url=url)
    chromium.log_in(context.new_page(), "bench", PASSWORD)
    cookies = list(context.cookies())
    context.close()
    return cookies


def _paint(browser: Browser, url: str, cookies: list[Any], address: str) -> int:
    """Each page in a profile of its own, so that nothing of it is cached."""
    context = browser.new_context(base_url=url, viewport={"width": 1360, "height": 900})
    context.add_cookies(cookies)
    page = context.new_page()
    page.goto(address, wait_until="networkidle")
    size, painted, foreign = page.evaluate(_TAKEN)
    context.close()
    is_over = painted is None or painted > AIM_MS or size > AIM_BYTES or foreign > 0
    print(f"  {address:<46}{painted or 0:>9.0f}{size / 1000:>7.0f}{'  over its aim' if is_over else ''}", flush=True)
    return int(is_over)

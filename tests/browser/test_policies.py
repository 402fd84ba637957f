"""In a real browser no page, of console, admin and API explorer, logs in or out, breaks its policy; and what they need
does work.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page

from segments.models import AuditEvent, Push, Table
from tests.browser.test_journey import PAGES, TABLE_PAGE
from tests.factories import PASSWORD, make_user

pytestmark = pytest.mark.browser

#: Reports every violation to the page itself, with the directive that was broken.
_LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation", e =>
  window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
"""


def _broken(page: Page, addresses: list[str]) -> dict[str, list[str]]:
    broken: dict[str, list[str]] = {}
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for address in addresses:
        page.goto(address)
        page.wait_for_load_state("networkidle")
        found = [*page.evaluate("window.violations"), *errors]
        errors.clear()
        if found:
            broken[address] = found
    return broken


def test_no_page_of_the_console_breaks_its_policy(page: Page) -> None:
    page.add_init_script(_LISTEN)
    push, event = Push.objects.get(), AuditEvent.objects.first()
    assert event is not None
    more = [
        f"/console/pushes/{push.pk}/",
        f"/console/audit/{event.pk}/",
        "/console/pushes/new/",
        f"{TABLE_PAGE}config/",
        "/console/nothing/",
    ]
    assert _broken(page, [*PAGES, *more]) == {}


def test_no_page_breaks_its_policy_before_anybody_logs_in(world: object, context: BrowserContext) -> None:
    page = context.new_page()
    page.add_init_script(_LISTEN)
    assert _broken(page, ["/login/", "/admin/login/", "/nothing/"]) == {}


def test_no_page_of_the_admin_breaks_its_policy_and_its_menus_open(page: Page, context: BrowserContext) -> None:
    make_user("root", is_staff=True, is_superuser=True)
    context.clear_cookies()
    page.goto("/login/")
    page.get_by_label("User name").fill("root")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/")
    page.add_init_script(_LISTEN)
    models = ("cluster", "table", "segment", "lineageentry", "push", "auditevent", "finding", "passrun", "grant")
    table = Table.objects.first()
    assert table is not None
    pages = [f"/admin/segments/{model}/" for model in models]
    more = [
        f"/admin/segments/table/{table.pk}/change/",
        "/admin/segments/grant/add/",
        "/admin/auth/user/",
        "/admin/auth/user/add/",
    ]
    assert _broken(page, ["/admin/", *pages, *more]) == {}
    # The admin's user interface is Alpine's: what it hides until it has run is shown and hidden by it.
    page.goto("/admin/")
    assert page.evaluate("typeof window.Alpine") == "object"
    assert page.locator("[x-cloak]:visible").count() == 0


def test_the_api_explorer_works_within_its_policy(page: Page) -> None:
    page.add_init_script(_LISTEN)
    assert _broken(page, ["/api/docs/"]) == {}
    page.locator(".swagger-ui .opblock").first.wait_for()


def test_a_page_that_tried_to_run_a_script_of_its_text_could_not(page: Page) -> None:
    """The listener hears: an inline script that somebody got into a page is reported and does not run."""
    page.add_init_script(_LISTEN)
    page.goto("/")
    page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.ran = true'; document.body.append(s)"
    )
    page.wait_for_function("window.violations.length > 0")
    assert page.evaluate("window.ran") is None

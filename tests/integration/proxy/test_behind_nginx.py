"""Behind a real nginx with TLS, below ``/pinot/``, in a browser and over REST; who was it, says the audit record."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, Page, Request, Response, expect
from requests.adapters import HTTPAdapter

from tests.integration.proxy.nginx import MISSING, PROXY, certificate, program, running_nginx
from tests.integration.running import ROOT, Client, Installation, administrator

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not program(), reason=MISSING),
]
PERSON = "127.0.0.5"
FORGED = "203.0.113.9"


@dataclass
class Behind:
    """The installation, and the address at which people find it."""

    installation: Installation
    site: str
    authority: Path

    def client(self) -> Client:
        """The administrator's, through nginx, from a host of their own."""
        client = Client({**self.installation.endpoints, "controller": f"{self.site}/pinot"})
        client.http.verify = str(self.authority)
        client.http.trust_env = False
        client.http.mount("https://", FromPerson())
        return client


class FromPerson(HTTPAdapter):
    """Connections come from the person's address."""

    def init_poolmanager(self, *args: Any, **more: Any) -> None:
        super().init_poolmanager(*args, **more, source_address=(PERSON, 0))  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    folder = tmp_path_factory.mktemp("behind_nginx")
    settings = {
        "PINOTADMIN_PATH_PREFIX": "/pinot",
        "PINOTADMIN_TRUSTED_PROXIES": PROXY,
        "PINOTADMIN_SECURE_COOKIES": "true",
    }
    authority = certificate(folder)
    installation = Installation(folder / "data", settings=settings).start()
    try:
        with running_nginx(folder, installation.endpoints["controller"]) as nginx:
            yield Behind(installation, nginx.site, authority)
    finally:
        assert installation.stop() == 0, installation.log.read_text()[-4000:]


@pytest.fixture
def page(browser: Browser, behind: Behind) -> Iterator[Page]:
    """A browser that trusts the certificate."""
    context = browser.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


@pytest.mark.browser
def test_a_person_works_in_a_browser_and_never_leaves_the_prefix(behind: Behind, page: Page, tmp_path: Path) -> None:
    asked, failed = _watched(page)
    page.goto(f"{behind.site}/pinot")
    user, password = administrator(behind.installation.endpoints)
    page.get_by_label("User name").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Tables").wait_for()
    file = tmp_path / "cities.csv"
    file.write_text("city,people\nBerlin,3\nRome,2\n")
    page.goto(f"{behind.site}/pinot/console/new-table/")
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Create and push").click()
    expect(page.get_by_text("Queries see the new snapshot.", exact=True)).to_be_visible(timeout=90_000)
    for name in ("Tables", "Servers", "Audit"):
        page.get_by_role("navigation", name="Main").get_by_role("link", name=name, exact=True).click()
        page.locator(".health .badge").first.wait_for()
    page.keyboard.press("Control+K")
    page.locator("#palette-text").fill("cities")
    page.locator("#palette-list").get_by_text("cities_OFFLINE").first.click()
    page.wait_for_url("**/pinot/console/tables/cities_OFFLINE/**")
    page.goto(f"{behind.site}/pinot/admin/")
    page.get_by_role("heading", name=re.compile("admin", re.IGNORECASE)).first.wait_for()
    page.goto(f"{behind.site}/pinot/api/docs/")
    page.locator(".opblock-get .opblock-summary-control").first.click()
    page.get_by_role("button", name="Try it out").first.click()
    page.get_by_role("button", name="Execute").first.click()
    expect(page.locator(".request-url").first).to_contain_text(f"{behind.site}/pinot/")
    cookies = {(c["name"], c["path"], c["secure"]) for c in page.context.cookies()}
    assert {(path, secure) for _, path, secure in cookies} == {("/pinot/", True)}, cookies
    page.goto(f"{behind.site}/pinot/")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/pinot/login/**")
    assert [url for url in asked if not url.startswith((f"{behind.site}/pinot", "data:", "blob:"))] == []
    assert failed == []


def _watched(page: Page) -> tuple[list[str], list[str]]:
    """Everything that the page asks for, and what of it failed."""
    asked: list[str] = []
    failed: list[str] = []

    def answered(response: Response) -> None:
        if response.status >= 400:
            failed.append(f"{response.status} {response.url}")

    def sent(request: Request) -> None:
        asked.append(request.url)

    page.on("request", sent)
    page.on("response", answered)
    page.on("pageerror", lambda error: failed.append(str(error)))
    return asked, failed


def test_rest_clients_take_the_whole_address(behind: Behind) -> None:
    client = behind.client()
    client.create("sales")
    client.upload("sales", "s1")
    client.online("sales", "s1")
    assert client.sql("select count(*) from sales") == [[10]]
    entry = client.start("sales", ["s1"], ["s2"])
    client.upload("sales", "s2", rows=20)
    client.end("sales", entry)
    assert client.sql("select count(*) from sales") == [[20]]
    wanted = {"name": "cli", "scopes": ["read", "query"], "tables": "*", "expiresInDays": 1}
    made = client.call("POST", "/api/v1/tokens", 201, json=wanted)
    assert made.headers["Location"].startswith("/pinot/api/v1/tokens/")
    document = client.call("GET", "/api/schema/?format=json").json()
    assert document["servers"] == [{"url": "/pinot"}]
    environment = {"PATH": "", "SSL_CERT_FILE": str(behind.authority), "PINOTADMIN_TOKEN": made.json()["token"]}
    done = subprocess.run(
        [sys.executable, "-m", "pinotadmin_client", "query", "select max(n) from sales", "--url", client.base],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, "19" in done.stdout) == (0, True), done.stdout + done.stderr


def test_the_audit_record_has_the_persons_address_whatever_they_write(behind: Behind) -> None:
    client = behind.client()
    direct = Client(behind.installation.endpoints)
    for name, caller, expected in (("through", client, PERSON), ("straight", direct, "127.0.0.1")):
        headers = {"X-Forwarded-For": FORGED, "X-Real-IP": FORGED, "Forwarded": f"for={FORGED}"}
        caller.call(
            "POST", "/schemas", json={"schemaName": name, "dimensionFieldSpecs": [{"name": "v", "dataType": "STRING"}]},
            headers=headers,
        )  # fmt: skip
        found = direct.call("GET", f"/api/v1/audit?target={name}").json()
        records = found if isinstance(found, list) else found["events"]
        assert {record["address"] for record in records} == {expected}, records
    wrong = requests.Session()
    wrong.mount("https://", FromPerson())
    answer = wrong.get(
        f"{behind.site}/pinot/tables", auth=("admin", "wrong"), headers={"X-Forwarded-For": FORGED},
        verify=str(behind.authority), timeout=30,
    )  # fmt: skip
    assert answer.status_code == 401
    assert FORGED not in direct.call("GET", "/api/v1/audit").text


def test_a_proxy_may_take_the_prefix_off(behind: Behind) -> None:
    folder, controller = behind.authority.parent, behind.installation.endpoints["controller"]
    with running_nginx(folder, controller, takes_prefix_off=True) as nginx:
        page = requests.get(f"{nginx.site}/pinot/", verify=str(behind.authority), timeout=30)
    assert (page.status_code, page.url) == (200, f"{nginx.site}/pinot/login/?next=/pinot/")
    assert 'href="/pinot/static/segments/console.css"' in page.text

"""Below ``/pinot/``: no link, form, script or live part of any page that Django knows leads out of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments.models import Table
from segments.services.core.page_addresses import mounted_at
from segments.store.records.instances import join
from tests.browser.accessibility.registered import admin_addresses, console_routes, whole_pages
from tests.browser.accessibility.rows import client_of, values_of
from tests.browser.conftest import NEW
from tests.factories import make_entry, make_files, make_session
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.services.realtime_world import TABLE as REALTIME
from tests.services.realtime_world import RealtimeWorld
from tests.services.world import World

#: Whatever has an address: links, forms, scripts, htmx, data of our own scripts.
_ADDRESSES: Final = re.compile(r"""\s(href|src|action|formaction|hx-[a-z]+|data-[a-z-]+)="(/[^"]*)""")
#: Texts of curl and the like.
_IN_TEXTS: Final = re.compile(r"https?://testserver(/[^\s<&\"']*)")


@pytest.fixture(autouse=True)
def below_pinot(settings: Any) -> Iterator[None]:
    """As PINOTADMIN_PATH_PREFIX=/pinot sets them, and the web process for each request."""
    settings.PATH_PREFIX = settings.FORCE_SCRIPT_NAME = "/pinot"
    settings.STATIC_URL, settings.LOGIN_URL = "/pinot/static/", "/pinot/login/"
    settings.LOGIN_REDIRECT_URL, settings.LOGOUT_REDIRECT_URL = "/pinot/", "/pinot/login/"
    settings.UNFOLD = {**settings.UNFOLD, "SITE_URL": "/pinot/"}
    with mounted_at("/pinot/"):
        yield


def test_no_page_of_the_console_leads_out_of_it(root: User, prod: PinotCluster, world: World) -> None:
    join(world.memory, "Server_s_8098", "s", 8098, ["DefaultTenant_OFFLINE"], adminPort="8097")
    client = client_of(root)
    routes = [r for r in console_routes() if "/consumption/" not in r.path]
    values = values_of("t_OFFLINE", NEW[0]) | {"task_type": "none"}
    query = f"s={NEW[0]}&e=entry-1&from=1&to=2"
    pages, _ = whole_pages(client, routes, values, query)
    of_pinot, _ = whole_pages(client, routes, values, query, base="/console/c/prod/")
    assert len(pages) > 50
    assert len(of_pinot) > 10
    assert _ways_out(client, [*pages, *of_pinot]) == {}


def test_no_page_of_consumption_and_of_the_admin_leads_out_of_it(root: User, realtime: RealtimeWorld) -> None:
    table = Table.objects.get(name=REALTIME.typed)
    make_files(make_session(table), "FAILED", "/data/in/bad.csv", error="'x' is not an INT.", line=7)
    make_entry(table)
    client, typed = client_of(root), REALTIME.typed
    routes = [r for r in console_routes() if "/consumption/" in r.path]
    pages, _ = whole_pages(client, routes, values_of(typed, realtime.consuming[0]), f"t={typed}&all=1")
    admin = dict.fromkeys(address.removeprefix("/pinot") for address in admin_addresses(root))
    assert len(pages) > 5
    assert _ways_out(client, [*pages, *admin, "/api/docs/"]) == {}


def _ways_out(client: Client, pages: Iterable[str]) -> dict[str, set[str]]:
    found = {}
    for page in pages:
        text = client.get(page).content.decode()
        addresses = {address for _, address in _ADDRESSES.findall(text)} | set(_IN_TEXTS.findall(text))
        if out := {a for a in addresses if not f"{a}/".startswith("/pinot/")}:
            found[page] = out
    return found

"""Each button's page has the same as a call of curl; it fits a route, and does what the button does."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import resolve

from segments.console.rest_calls.call import Pressed, Rest, as_curl
from segments.console.rest_calls.declared import CALLS, WITHOUT_CALL, call_of
from segments.console.urls import BUTTONS
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, Finding, FindingSnooze
from tests.console.conftest import TYPED, logged_in
from tests.factories import CLUSTER, PASSWORD, make_finding
from tests.services.world import World


def test_every_button_has_its_call_and_every_call_its_button() -> None:
    assert not WITHOUT_CALL & set(CALLS)
    assert {name for name, _ in BUTTONS} == set(CALLS) | WITHOUT_CALL


@pytest.mark.parametrize("name", [name for name, _ in BUTTONS])
@pytest.mark.parametrize("chosen", [{}, {"p": ["1"], "s": ["seg"], "e": ["entry"], "m": ["7"]}])
def test_every_call_fits_a_route_and_its_method(name: str, chosen: dict[str, list[str]]) -> None:
    route = dict(BUTTONS)[name]
    names = {n: "7" if kind == "int" else "x" for kind, n in re.findall(r"<(\w+):(\w+)>", route)}
    if "typed" in names or "/push" in f"/{route}":
        names["table"] = TYPED
    pressed = Pressed(names, lambda key: chosen.get(key, []), "http://host/")
    call = call_of(name, pressed)
    for line in as_curl(call, pressed).splitlines() if call else []:
        method, address, _, body = taken_apart(line)
        view = resolve(urlsplit(address).path).func
        assert hasattr(view.view_class, method.lower()), (method, address)  # type: ignore[attr-defined]  # Django's
        assert not body or body.startswith("@") or isinstance(json.loads(body), dict)


def taken_apart(line: str) -> tuple[str, str, dict[str, str], str]:
    """Method, address, headers and body of a call."""
    words = shlex.split(line)
    assert words[:2] == ["curl", "-X"]
    heads = dict(words[i + 1].split(": ", 1) for i, word in enumerate(words) if word == "-H")
    body = words[words.index("--data") + 1] if "--data" in words else ""
    return words[2], words[-1], heads, body


def run(client: Client, page: str, name: str) -> int:
    """Run the call that a page shows, as a person with a password; its status."""
    shown = re.search(r'id="curl-text"[^>]*>(.*?)</pre>', client.get(page).content.decode(), re.DOTALL)
    assert shown is not None, page
    method, address, heads, body = taken_apart(unescape(shown[1]))
    assert heads["Authorization"] == "Bearer $PINOTADMIN_TOKEN"
    split = urlsplit(address)
    caller = Client()
    caller.login(username=name, password=PASSWORD)
    answer = caller.generic(
        method, f"{split.path}?{split.query}", body, content_type="application/json", headers={"X-Reason": "why"}
    )
    return answer.status_code


def test_the_call_of_a_page_does_what_its_button_does(db: None, world: World) -> None:
    ClusterFollower(world.memory, Cluster.objects.get_or_create(name=CLUSTER)[0]).sync_all()
    operator, finding = logged_in("olga", "operate"), make_finding(table_name=TYPED)
    page = f"/console/tables/{TYPED}/findings/{finding.pk}"
    assert run(operator, f"{page}/assign/", "olga") == 200
    assert Finding.objects.get().assignee == "olga"
    assert run(operator, f"{page}/snooze/", "olga") == 200
    assert FindingSnooze.objects.get().reason == "why"
    assert run(operator, f"{page}/lift/", "olga") == 200
    assert not FindingSnooze.objects.exists()


def test_names_are_quoted_for_addresses_and_for_the_shell() -> None:
    pressed = Pressed({"table": "a b'c/d"}, lambda _: ["x;y"], "http://host/", "far")
    words = shlex.split(as_curl(Rest("POST", "tables/{table}/x", {"q": "{s}"}), pressed))
    assert words[-1] == "http://host/clusters/far/tables/a%20b%27c%2Fd/x?q=x%3By"
    many = Pressed({"table": "t"}, lambda _: [f"s{n}" for n in range(30)], "http://host/")
    lines = as_curl(Rest("POST", "segments/{table}/{s}/reset", each="s"), many).splitlines()
    assert (len(lines), lines[-1]) == (21, "# and 10 more")

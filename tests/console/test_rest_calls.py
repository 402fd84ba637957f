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

from segments.api.documentation.parameters import NEEDED
from segments.console.rest_calls.call import Pressed, Rest, as_curl
from segments.console.rest_calls.declared import CALLS, call_of
from segments.console.urls import BUTTONS
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, Finding, FindingSnooze
from segments.services.upkeep import passes
from tests.console.conftest import TYPED, logged_in
from tests.factories import CLUSTER, PASSWORD, make_finding
from tests.services.world import World


def test_every_button_has_its_call_and_every_call_its_button() -> None:
    assert {name for name, _ in BUTTONS} == set(CALLS)


@pytest.mark.parametrize("name", [name for name, _ in BUTTONS])
@pytest.mark.parametrize("chosen", [{}, {"p": ["1"], "s": ["7"], "e": ["entry"], "m": ["7"], "from": ["smallest"]}])
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


@pytest.mark.parametrize("name", [name for name, _ in BUTTONS])
def test_every_call_has_the_parameters_without_which_it_is_refused(name: str) -> None:
    call = CALLS[name]
    needed = {re.sub("{.*?}", "{}", operation): names for operation, names in NEEDED.items()}
    of_call = needed.get(f"{call.method} /{re.sub('{.*?}', '{}', call.path)}", frozenset())
    assert of_call - set(call.query) == set() or name == "run_pass", "the page of a pass names it itself"


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


@pytest.mark.parametrize(
    ("page", "chosen", "method", "ends", "body"),
    [
        ("commit", {"p": ["0", "2"]}, "POST", "tables/t/forceCommit?partitions=0%2C2", ""),
        ("commit", {}, "POST", "tables/t/forceCommit", ""),
        ("resume", {"from": ["smallest"]}, "POST", "resumeConsumption?comment=why&consumeFrom=smallest", ""),
        ("resume", {"from": ["odd"]}, "POST", "resumeConsumption?comment=why", ""),
        (
            "resume",
            {"p": ["1"], "from": ["largest"]},
            "POST", "resumePartitions", {"partitions": [1], "consumeFrom": "largest"},
        ),
        ("replay_set_aside", {"m": ["7"]}, "POST", "set-aside/replay", {"ids": [7], "dryRun": False}),
        (
            "replay_set_aside",
            {"all": ["1"], "partition": ["0"], "q": ["is no number"], "state": ["waiting"]},
            "POST", "set-aside/replay", {"partition": 0, "contains": "is no number", "dryRun": False},
        ),
        ("delete_set_aside", {"m": ["7", "8"]}, "DELETE", "set-aside?ids=7%2C8", ""),
        ("delete_set_aside", {"q": ["{table}"]}, "DELETE", "set-aside?contains=%7Btable%7D&all=true", ""),
        ("reload_segment", {}, "POST", "segments/t/SEGMENT/reload?forceDownload=true", ""),
        ("restore", {"s": ["a"]}, "POST", "restore", {"segments": ["a"], "dryRun": False, "overwrite": True}),
        ("run_schedule", {}, "POST", "http://host/api/v1/schedules/SCHEDULE/run", ""),
        ("switch_schedules_off", {"s": ["3"]}, "PUT", "http://host/api/v1/schedules/3", {"enabled": False}),
    ],
)  # fmt: skip
def test_a_call_concerns_what_the_page_was_opened_for(
    page: str, chosen: dict[str, list[str]], method: str, ends: str, body: object
) -> None:
    pressed = Pressed({"table": "t"}, lambda key: chosen.get(key, []), "http://host/", "")
    call = call_of(page, pressed)
    assert call is not None
    found = taken_apart(as_curl(call, pressed))
    assert (found[0], json.loads(found[3]) if found[3] else "") == (method, body)
    assert found[1].endswith(ends), found[1]


def test_what_was_replayed_already_is_replayed_by_no_call() -> None:
    pressed = Pressed({"table": "t"}, lambda key: {"state": ["all"]}.get(key, []), "http://host/")
    assert call_of("replay_set_aside", pressed) is None


def test_the_call_of_a_pass_names_the_one_that_the_page_offers_first(db: None, world: World) -> None:
    ClusterFollower(world.memory, Cluster.objects.get_or_create(name=CLUSTER)[0]).sync_all()
    root = logged_in("root", is_superuser=True)
    for query, ends in (
        (f"?table={TYPED}", f"taskname={min(passes.WORDS)}&tableName={TYPED}"),
        ("?task=RetentionManager", "taskname=RetentionManager"),
    ):
        page = root.get(f"/console/passes/run/{query}").content.decode()
        line = re.search(r'id="curl-text"[^>]*>(.*?)</pre>', page, re.DOTALL)
        assert line is not None
        assert taken_apart(unescape(line[1]))[1].endswith(ends), line[1]


def test_names_are_quoted_for_addresses_and_for_the_shell() -> None:
    pressed = Pressed({"table": "a b'c/d"}, lambda _: ["x;y"], "http://host/", "far")
    words = shlex.split(as_curl(Rest("POST", "tables/{table}/x", {"q": "{s}"}), pressed))
    assert words[-1] == "http://host/clusters/far/tables/a%20b%27c%2Fd/x?q=x%3By"
    many = Pressed({"table": "t"}, lambda _: [f"s{n}" for n in range(30)], "http://host/")
    lines = as_curl(Rest("POST", "segments/{table}/{s}/reset", each="s"), many).splitlines()
    assert (len(lines), lines[-1]) == (21, "# and 10 more")

"""Every console address with odd names, parameters and form fields: pages, form errors and refusals, never a fault of
ours.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.urls import URLPattern, URLResolver

from segments.console.urls import urlpatterns
from tests.console.conftest import TYPED, logged_in
from tests.factories import make_table
from tests.security.odd_requests import WORDS, YAMLS
from tests.services.world import World

#: Fields of forms and filters of pages.
FIELDS = [
    "reason",
    "comment",
    "spec",
    "sql",
    "text",
    "document",
    "segments",
    "segment",
    "confirm",
    "q",
    "page",
    "state",
    "from",
    "to",
    "type",
    "next",
    "action",
    "retention",
    "name",
    "cluster",
    "overrideChecks",
    "override",
    "partitions",
    "offsets",
    "consume_from",
    "cron",
    "format",
    "undo",
    "kind",
    "actor",
    "outcome",
    "table",
    "sort",
    "before",
    "username",
    "password",
    "controller_urls",
    "auth",
    "force",
]
_REQUESTS = 4


def _addresses(patterns: Any, before: str = "") -> Iterator[str]:
    for item in patterns:
        if isinstance(item, URLResolver):
            yield from _addresses(item.url_patterns, before + str(item.pattern))
        elif isinstance(item, URLPattern):
            yield before + str(item.pattern)


def _filled(address: str, chance: random.Random) -> str:
    """The address with a name that is there, or an odd one, in every hole."""
    known = {
        "typed": TYPED,
        "segment": "a",
        "entry_id": "id-1",
        "instance": "Server_127.0.0.1_8098",
        "push_id": "0" * 8 + "-0000-0000-0000-" + "0" * 12,
    }
    out = address
    while "<" in out:
        before, _, rest = out.partition("<")
        hole, _, after = rest.partition(">")
        name = hole.rpartition(":")[2]
        words = [w for w in WORDS if w and "/" not in w]
        drawn = (
            known.get(name, "x") if chance.random() < 0.7 or hole.startswith(("uuid", "int")) else chance.choice(words)
        )
        out = f"{before}{quote(drawn if not hole.startswith('int') else '1', safe='')}{after}"
    return "/" + out


@pytest.mark.parametrize("address", sorted(set(_addresses(urlpatterns))))
def test_odd_input_meets_a_page_or_a_refusal(world: World, db: None, address: str) -> None:
    make_table(TYPED)
    client = logged_in("root", is_superuser=True)
    client.raise_request_exception = False
    chance = random.Random(f"20 {address}")
    for method in ("get", "post") * _REQUESTS:
        given = {
            chance.choice(FIELDS): chance.choice([*WORDS, *YAMLS]).encode("utf-8", "surrogatepass") for _ in range(6)
        }
        path = _filled(address, chance)
        if method == "get":
            answer = client.get(f"{path}?{urlencode(given)}")
        else:
            answer = client.post(path, urlencode(given), content_type="application/x-www-form-urlencoded")
        assert answer.status_code < 500, (method, path, given, answer.content[:300])


def test_the_addresses_are_those_of_the_console() -> None:
    found = set(_addresses(urlpatterns))
    assert {"console/tables/<str:typed>/", "console/pushes/new/"} <= found

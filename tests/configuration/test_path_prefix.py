"""What a path means below PINOTADMIN_PATH_PREFIX, and whose address a request has behind proxies."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from uvicorn.config import Config
from uvicorn.main import main as uvicorn_command

from pinotadmin.asgi import application
from pinotadmin.configuration.given import Given
from pinotadmin.configuration.path_prefix import check_prefix, with_prefix, without_prefix
from pinotadmin.configuration.setting_texts import as_path_prefix
from pinotadmin.response_headers import with_headers
from segments.processes.roles.commands import web_command


def _scope(path: str, **more: Any) -> dict[str, Any]:
    return {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "headers": [], **more}


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("/pinot/console/", "/console/"), ("/pinot/", "/"), ("/pinot", ""), ("/console/", "/console/"),
        ("/pinots/", "/pinots/"), ("/x/pinot/", "/x/pinot/"), ("/pinot/pinot/", "/pinot/"),
    ],
)  # fmt: skip
def test_a_path_means_the_same_with_and_without_the_prefix(settings: Any, asked: str, meant: str) -> None:
    settings.PATH_PREFIX = "/pinot"
    found = without_prefix(_scope(asked))
    assert (found["path"], found["raw_path"]) == (meant, meant.encode())
    assert with_prefix(found)["path"] == f"/pinot{meant}"


def test_a_prefix_that_is_written_in_another_way_has_no_raw_path(settings: Any) -> None:
    settings.PATH_PREFIX = "/pinot"
    found = without_prefix({**_scope("/pinot/tables"), "raw_path": b"/%70inot/tables"})
    assert (found["path"], found["raw_path"]) == ("/tables", None)


def test_nothing_changes_without_one() -> None:
    scope = _scope("/pinot/console/")
    assert without_prefix(scope) is scope
    assert with_prefix(scope) is scope


@pytest.mark.parametrize(("path", "status"), [("/pinot", 308), ("/pinot/health/liveness", 200)])
def test_the_prefix_alone_leads_to_the_start_page_and_probes_may_have_it(settings: Any, path: str, status: int) -> None:
    settings.PATH_PREFIX = "/pinot"
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    asyncio.run(application(_scope(path), receive, send))
    assert sent[0]["status"] == status
    assert ((b"location", b"/pinot/") in sent[0]["headers"]) is (status == 308)


def test_no_cookie_goes_to_other_programs_of_the_same_host(settings: Any) -> None:
    settings.PATH_PREFIX = "/pinot"
    answer = HttpResponse()
    answer.set_cookie("sessionid", "1")
    answer.set_cookie("sign_on", "1", path="/pinot/login/sso/")
    with_headers(answer, "/")
    assert {name: cookie["path"] for name, cookie in answer.cookies.items()} == {
        "sessionid": "/pinot/",
        "sign_on": "/pinot/login/sso/",
    }


@pytest.mark.parametrize("text", ["pinot", "//host", "/a b", "/..", "/pinot?x", "/./x", "http://host/pinot"])
def test_a_prefix_that_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="PINOTADMIN_PATH_PREFIX"):
        Given({"PINOTADMIN_PATH_PREFIX": text}).value("PINOTADMIN_PATH_PREFIX", "", "", as_path_prefix)


def test_a_slash_at_its_end_does_not_matter() -> None:
    assert [as_path_prefix(text) for text in ("", "/", "/pinot/", "/tools/pinot")] == ["", "", "/pinot", "/tools/pinot"]


@pytest.mark.parametrize("prefix", ["/tables", "/console/x", "/api", "/static", "/admin", "/health"])
def test_a_prefix_that_begins_like_an_address_of_ours_is_refused(settings: Any, prefix: str) -> None:
    settings.PATH_PREFIX = prefix
    with pytest.raises(ImproperlyConfigured, match=re.escape(f"/{prefix.split('/')[1]}: an address")):
        check_prefix()


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "seen"),
    [
        ([], "127.0.0.1", "203.0.113.9", "127.0.0.1"),
        (["10.0.0.0/24"], "127.0.0.1", "203.0.113.9", "127.0.0.1"),
        (["10.0.0.0/24"], "10.0.0.7", "192.0.2.4", "192.0.2.4"),
        (["10.0.0.0/24"], "10.0.0.7", "203.0.113.9, 192.0.2.4", "192.0.2.4"),
        (["10.0.0.0/24"], "10.0.0.7", "203.0.113.9, 192.0.2.4, 10.0.0.8", "192.0.2.4"),
    ],
    ids=["no proxy is named", "another one is", "by it", "what the person wrote before", "by two of them"],
)
def test_a_request_has_the_address_that_trusted_proxies_saw(
    trusted: list[str], peer: str, forwarded: str, seen: str
) -> None:
    found = _served(trusted, peer, [(b"x-forwarded-for", forwarded.encode()), (b"x-forwarded-proto", b"https")])
    assert (found["client"][0], found["scheme"]) == (seen, "http" if seen == peer else "https")


def _served(trusted: list[str], peer: str, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    """What the application is given, by the options with which the web process is started."""
    given = uvicorn_command.make_context("uvicorn", list(web_command("127.0.0.1", 9000, trusted)[3:])).params
    found: dict[str, Any] = {}

    async def record(scope: Any, _receive: Any, _send: Any) -> None:
        found.update(scope)

    names = ("proxy_headers", "forwarded_allow_ips")
    config = Config(record, **{name: given[name] for name in names}, interface="asgi3", log_config=None)
    config.load()
    scope = _scope("/tables", client=(peer, 4711), scheme="http", headers=headers)
    asyncio.run(config.loaded_app(scope, None, None))  # type: ignore[arg-type]  # neither is called
    return found

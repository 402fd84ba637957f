"""Following a push from the command line goes on while the web process is restarted."""

from __future__ import annotations

import httpx
import pytest

from segments.management.commands.push import _Remote

ENDPOINTS = {"controller": "http://127.0.0.1:1", "authorization": "Basic x"}


def remote(down_for: int) -> _Remote:
    """Starts a push at once; does not answer the next ``down_for`` requests."""
    asked = iter(range(1000))

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET" and next(asked) < down_for:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(200, json={"id": "p1", "state": "DONE"})

    made = _Remote(ENDPOINTS)
    made.http = httpx.Client(base_url=ENDPOINTS["controller"], transport=httpx.MockTransport(answer))
    return made


def test_a_web_process_that_comes_back_is_waited_for() -> None:
    assert remote(down_for=2).start("jobType: x", "")()["state"] == "DONE"


def test_one_that_does_not_come_back_ends_the_command() -> None:
    gone = remote(down_for=1000)
    gone.patience_s = 0.0
    look = gone.start("jobType: x", "")
    with pytest.raises(httpx.ConnectError):
        look()

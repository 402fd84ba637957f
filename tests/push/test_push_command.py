"""Following a push from the command line goes on while the web process is restarted."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from django.core.management import CommandError, call_command

from segments import wiring
from segments.management.commands.push import _Remote, _start_here
from segments.request_ids import current_request
from segments.services.jobs import queue
from segments.services.push import pushes

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


def test_a_reason_to_pass_over_checks_is_sent_and_a_blocked_push_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, str]] = []
    push = {
        "id": "p1",
        "tableName": "t",
        "state": "BLOCKED",
        "stage": "END",
        "error": "too few rows",
        "rows": 1,
        "bytes": 1,
    }
    push |= dict.fromkeys(("filesTotal", "filesDone", "segmentsTotal", "segmentsBuilt", "segmentsUploaded"), 1)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            sent.append(json.loads(request.content))
        return httpx.Response(200, json=push)

    def made(endpoints: dict[str, str]) -> _Remote:
        found = _Remote(endpoints)
        found.http = httpx.Client(base_url=endpoints["controller"], transport=httpx.MockTransport(answer))
        return found

    (tmp_path / "endpoints.json").write_text(json.dumps(ENDPOINTS))
    (tmp_path / "spec.yaml").write_text("jobType: x")
    monkeypatch.setattr("segments.management.commands.push._Remote", made)
    with pytest.raises(CommandError, match="BLOCKED: too few rows"):
        call_command(
            "push",
            str(tmp_path / "spec.yaml"),
            "--data-dir",
            str(tmp_path),
            "--override-checks",
            "known",
            stdout=io.StringIO(),
        )
    assert sent == [{"spec": "jobType: x", "reason": "", "overrideChecks": "known", "overwrite": False}]


def test_a_push_that_is_started_here_is_on_record_with_one_request_as_are_the_tasks_that_it_queues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    found = SimpleNamespace(pk="p1")
    monkeypatch.setattr(wiring, "context", lambda: None)
    monkeypatch.setattr(wiring, "input_roots", list)
    monkeypatch.setattr(pushes, "create_push", lambda *_, **__: (seen.append(current_request()), found)[1])
    monkeypatch.setattr(queue, "enqueue_push", lambda *_: seen.append(current_request()))
    _start_here("jobType: x", "", "", False)
    assert (len(seen[0]), seen[0], current_request()) == (32, seen[1], "")

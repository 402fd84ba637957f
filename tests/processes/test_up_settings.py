"""What the environment sets is honoured under ``up``; an option of the command comes first, and folders add up."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from segments.management.commands import up
from segments.processes.run import Request


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """What ``up`` would run, instead of running it."""
    found: list[Request] = []
    monkeypatch.setattr(up, "run_cluster", lambda request, environ: found.append(request) or 0)
    for name in ("HOST", "PORT", "INPUT_ROOTS"):
        monkeypatch.delenv(f"PINOTADMIN_{name}", raising=False)
    return found


def run(folder: Path, *arguments: str, **options: Any) -> None:
    with pytest.raises(SystemExit):
        call_command("up", "--data-dir", str(folder / "data"), *arguments, **options)


def test_host_port_and_folders_of_the_environment_hold(
    tmp_path: Path, started: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PINOTADMIN_HOST", "127.0.0.2")
    monkeypatch.setenv("PINOTADMIN_PORT", "9017")
    monkeypatch.setenv("PINOTADMIN_INPUT_ROOTS", os.pathsep.join(str(tmp_path / n) for n in "ab"))
    run(tmp_path)
    [request] = started
    assert (request.options.host, request.port) == ("127.0.0.2", 9017)
    assert request.options.input_roots == (tmp_path / "a", tmp_path / "b")


def test_an_option_comes_before_the_environment_and_folders_add_up(
    tmp_path: Path, started: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PINOTADMIN_HOST", "127.0.0.2")
    monkeypatch.setenv("PINOTADMIN_PORT", "9017")
    monkeypatch.setenv("PINOTADMIN_INPUT_ROOTS", str(tmp_path / "b"))
    run(tmp_path, "--host", "127.0.0.3", "--port", "0", "--input-root", str(tmp_path / "a"))
    [request] = started
    assert (request.options.host, request.port) == ("127.0.0.3", 0)
    assert request.options.input_roots == (tmp_path / "a", tmp_path / "b")


def test_without_either_the_defaults_hold(tmp_path: Path, started: list[Request]) -> None:
    run(tmp_path)
    assert (started[0].options.host, started[0].port, started[0].options.input_roots) == ("127.0.0.1", None, ())


@pytest.mark.parametrize(("name", "value"), [("PORT", "http"), ("PORT", "70000"), ("INPUT_ROOTS", "/nowhere/at/all")])
def test_a_setting_that_cannot_be_meant_is_refused_by_name(
    tmp_path: Path, started: list[Request], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"PINOTADMIN_{name}", value)
    with pytest.raises(CommandError, match=f"PINOTADMIN_{name}.*{value}"):
        call_command("up", "--data-dir", str(tmp_path))
    assert started == []

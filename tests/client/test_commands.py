"""The command ``pinotadmin`` against a cluster in memory: tables and JSON, previews, reasons, exit statuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from pinotadmin_client.commands.main import run
from segments.models import AuditEvent
from tests.api.cluster import ApiCluster, FakeBroker
from tests.api.replacement.test_lineage import replaced
from tests.api.replacement.test_lineage import table as table
from tests.api.replacement.test_snapshots import follower as follower
from tests.api.replacement.test_snapshots import history as history
from tests.client.conftest import PASSWORD, URL, Connect

Run = Callable[..., int]


@pytest.fixture
def pinotadmin(connect: Connect, http: httpx.Client, monkeypatch: pytest.MonkeyPatch, cluster: ApiCluster) -> Run:
    """The command with URL and token from the environment; returns its exit status."""
    monkeypatch.setattr(http, "close", lambda: None)
    root = connect(user="root", password=PASSWORD)
    token = root.installation.create_token(name="tests", scopes=["administer", "query"]).token
    monkeypatch.setenv("PINOTADMIN_URL", URL)
    monkeypatch.setenv("PINOTADMIN_TOKEN", token)
    return lambda *arguments: run(arguments, http=http)


def test_reading_is_a_table_or_json(table: ApiCluster, pinotadmin: Run, capsys: pytest.CaptureFixture[str]) -> None:
    entry = replaced(table, ["a"], ["b"])
    assert pinotadmin("tables") == 0
    assert capsys.readouterr().out.split() == ["TABLE", "t"]
    assert pinotadmin("snapshots", "t") == 0
    head, line = capsys.readouterr().out.splitlines()
    assert (head.split()[0], line.split()[:2]) == ("ENTRY", [entry, "COMPLETED"])
    assert pinotadmin("snapshots", "t", "--json") == 0
    assert json.loads(capsys.readouterr().out)[entry]["segmentsTo"] == ["b"]
    assert pinotadmin("query", "select 1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["exceptions"] == []


def test_a_rollback_wants_a_reason_and_a_yes_and_a_dry_run_changes_nothing(
    table: ApiCluster, pinotadmin: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = replaced(table, ["a"], ["b"])
    with pytest.raises(SystemExit) as stopped:
        pinotadmin("rollback", "t", entry, "--yes")
    assert stopped.value.code == 2
    assert pinotadmin("rollback", "t", entry, "--reason", "x", "--dry-run") == 0
    assert "rows 3 -> 3, segments 1 -> 1" in capsys.readouterr().out
    assert pinotadmin("rollback", "t", entry, "--reason", "x") == 4
    assert "Nothing was changed" in capsys.readouterr().err
    assert not AuditEvent.objects.filter(reason="x").exists()
    assert pinotadmin("rollback", "t", entry, "--reason", "wrong prices", "--yes", "--json") == 0
    assert json.loads(capsys.readouterr().out)["reverted"] == [entry]
    assert AuditEvent.objects.filter(reason="wrong prices").exists()
    assert pinotadmin("audit", "--target", "t_OFFLINE") == 0
    assert "wrong prices" in capsys.readouterr().out
    assert pinotadmin("rollback", "t", entry, "--reason", "again", "--yes") == 1


def test_the_history_is_listed_and_gone_back_to_by_number(
    history: ApiCluster, pinotadmin: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pinotadmin("history", "t") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert (head.split()[0], [line.split()[0] for line in lines]) == ("SNAPSHOT", ["2", "1"])
    assert pinotadmin("history", "t", "--json", "--before", "2") == 0
    assert [s["number"] for s in json.loads(capsys.readouterr().out)["snapshots"]] == [1]
    assert pinotadmin("go-back", "t", "1", "--reason", "wrong prices", "--dry-run") == 0
    assert "rows 6 -> 3, segments 2 -> 1" in capsys.readouterr().out
    assert pinotadmin("go-back", "t", "1", "--reason", "wrong prices") == 4
    assert pinotadmin("go-back", "t", "1", "--reason", "wrong prices", "--yes") == 0
    assert "see snapshot 1; undo: go-back 2." in capsys.readouterr().out
    assert pinotadmin("go-back", "t", "99", "--reason", "x", "--yes") == 1


def test_refusals_are_one_and_missing_credentials_two(
    pinotadmin: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pinotadmin("snapshots", "nowhere") == 1
    assert "nowhere" in capsys.readouterr().err
    monkeypatch.delenv("PINOTADMIN_TOKEN")
    assert pinotadmin("tables") == 2
    assert "PINOTADMIN_TOKEN" in capsys.readouterr().err


def test_with_json_standard_output_is_one_document_whatever_happens(
    table: ApiCluster, pinotadmin: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = replaced(table, ["a"], ["b"])
    failed = {"exceptions": [{"errorCode": 190, "message": "no such table"}], "numDocsScanned": 0}
    monkeypatch.setattr(FakeBroker, "query", lambda *_: failed)
    for status, arguments in (
        (1, ("query", "select 1")),
        (1, ("snapshots", "nowhere")),
        (2, ("load", "/nowhere.csv")),
        (4, ("rollback", "t", entry, "--reason", "x")),
    ):
        assert pinotadmin(*arguments, "--json") == status
        shown = json.loads(capsys.readouterr().out)
        assert shown["exceptions"][0]["message"] == "no such table" if arguments[0] == "query" else shown["error"]


def test_a_file_of_credentials_that_others_can_read_is_refused_and_goes_nowhere_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PINOTADMIN_URL", "PINOTADMIN_TOKEN", "PINOTADMIN_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps({"url": "http://127.0.0.1:1", "token": "s3cret"}))
    file.chmod(0o644)
    assert run(["tables", "--credentials", str(file)]) == 2
    file.chmod(0o600)
    assert run(["tables", "--credentials", str(file), "--url", "http://127.0.0.1:2"]) == 2
    assert run(["tables", "--credentials", str(file)]) == 3
    assert "s3cret" not in str(capsys.readouterr())

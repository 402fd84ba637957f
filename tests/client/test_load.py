"""``pinotadmin load FILE``: a file of one's own becomes a table, is only described, or is refused whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import call_command

from segments.models import AuditEvent, Push
from segments.store import paths
from tests.api.cluster import ApiCluster
from tests.client.test_commands import pinotadmin as pinotadmin

Run = Callable[..., int]


@pytest.fixture
def file(tmp_path: Path, settings: Any) -> Path:
    """Three rows of flights; the input root exists."""
    settings.INPUT_ROOTS = [str(tmp_path / "input")]
    (tmp_path / "input").mkdir()
    found = tmp_path / "my flights.csv"
    found.write_text("id,carrier,day\n1,AA,2024-03-01\n2,UA,2024-03-02\n3,,2024-03-02\n")
    return found


@pytest.fixture
def ends_as(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Workers that finish each push at once, in the given state."""

    def use(state: str) -> None:
        def finish(_: object, push: str) -> None:
            Push.objects.filter(pk=push).update(state=state, error="" if state == "DONE" else "a bad row")

        for module in ("tables.new_table", "pushes"):
            monkeypatch.setattr(f"segments.api.{module}.enqueue_push", finish)

    use("DONE")
    return use


def exists(cluster: ApiCluster, table: str) -> bool:
    return cluster.ctx.store.exists(paths.table_config(table)) is not None


@pytest.mark.usefixtures("ends_as")
def test_a_file_becomes_a_table_named_after_it(
    cluster: ApiCluster, pinotadmin: Run, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pinotadmin("load", str(file), "--yes", "--reason", "for the report") == 0
    shown = capsys.readouterr().out
    assert [line.split()[:2] for line in shown.splitlines()[:3]] == [
        ["COLUMN", "TYPE"],
        ["id", "INT"],
        ["carrier", "STRING"],
    ]
    assert "Table my_flights is loaded" in shown
    assert exists(cluster, "my_flights_OFFLINE")
    assert Push.objects.get().table_name == "my_flights"
    assert AuditEvent.objects.filter(reason="for the report").exists()


@pytest.mark.usefixtures("ends_as")
@pytest.mark.parametrize(
    ("called", "table"),
    [("My Flights (2).csv", "my_flights_2"), ("a.b.CSV", "a_b"), ("2013.csv", "t_2013"), ("Übung.csv", "ubung")],
)
def test_it_is_named_as_the_console_names_it(
    cluster: ApiCluster, pinotadmin: Run, file: Path, called: str, table: str
) -> None:
    assert pinotadmin("load", str(file.rename(file.with_name(called))), "--yes") == 0
    assert exists(cluster, f"{table}_OFFLINE")


@pytest.mark.usefixtures("cluster")
def test_lists_and_values_that_do_not_fit_are_shown(
    pinotadmin: Run, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{n},a;b\n" for n in range(20))
    file.write_text(f"delay,tags\n{rows}late,c;d\n")
    assert pinotadmin("load", str(file), "--dry-run") == 0
    shown = capsys.readouterr().out
    assert "STRING[]" in shown
    assert "Column delay: all but 1 of the values would fit LONG; these do not: late." in shown


@pytest.mark.usefixtures("ends_as")
def test_a_dry_run_shows_the_documents_and_creates_nothing(
    cluster: ApiCluster, pinotadmin: Run, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pinotadmin("load", str(file), "--table", "t2", "--append", "--dry-run", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tableConfig"]["ingestionConfig"]["batchIngestionConfig"]["segmentIngestionType"] == "APPEND"
    assert found["schema"]["schemaName"] == "t2"
    assert not exists(cluster, "t2_OFFLINE")


@pytest.mark.usefixtures("ends_as")
def test_without_a_yes_nothing_is_created(
    cluster: ApiCluster, pinotadmin: Run, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pinotadmin("load", str(file)) == 4
    assert "Nothing was created" in capsys.readouterr().err
    assert not exists(cluster, "my_flights_OFFLINE")


def test_a_push_that_fails_is_reported_with_its_reason(
    pinotadmin: Run, file: Path, ends_as: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    ends_as("FAILED")
    assert pinotadmin("load", str(file), "--yes") == 1
    assert "The push is FAILED: a bad row" in capsys.readouterr().err


@pytest.mark.usefixtures("ends_as", "cluster")
def test_a_file_for_a_table_that_exists_is_pushed_to_it(
    pinotadmin: Run, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pinotadmin("load", str(file), "--yes") == 0
    assert pinotadmin("load", str(file)) == 4
    assert "Nothing was pushed to my_flights: its rows take the place of all that are there." in capsys.readouterr().err
    assert pinotadmin("load", str(file), "--append", "--yes") == 2
    assert "rows of its pushes take the place of all that are there (REFRESH). Leave --append out" in (
        capsys.readouterr().err
    )
    assert Push.objects.count() == 1
    for options in ((), ("--refresh",)):
        assert pinotadmin("load", str(file), "--yes", *options, "--reason", "a correction") == 0
    assert "Table my_flights is loaded" in capsys.readouterr().out
    assert Push.objects.filter(reason="a correction", table_name="my_flights").count() == 2


def test_a_file_that_is_not_there_is_a_wrong_argument(pinotadmin: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert pinotadmin("load", "nowhere.csv") == 2
    assert "There is no file 'nowhere.csv'" in capsys.readouterr().err


@pytest.mark.usefixtures("ends_as")
def test_manage_py_load_is_the_same_command(
    cluster: ApiCluster, pinotadmin: Run, file: Path, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("httpx.Client", lambda **_: http)
    with pytest.raises(SystemExit) as ended:
        call_command("load", str(file), "--table", "mine", "--yes")
    assert ended.value.code == 0
    assert exists(cluster, "mine_OFFLINE")

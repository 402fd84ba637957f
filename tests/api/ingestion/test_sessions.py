"""Sessions of file ingestion over REST: lists in bounded pages, files by state and address, runs with their log."""

from __future__ import annotations

import pytest

from segments.models import Cluster, IngestionSession, Table
from tests.api.cluster import ApiCluster
from tests.factories import make_files, make_session, make_table

pytestmark = pytest.mark.django_db
BASE = "/api/v1/tables/flights/ingestion/sessions"


@pytest.fixture
def table(cluster: ApiCluster) -> Table:
    return make_table(cluster=Cluster.objects.create(name=cluster.ctx.cluster))


@pytest.fixture
def session(table: Table) -> IngestionSession:
    session = make_session(table)
    make_files(session, "BUILT", *(f"/data/in/day={n}.csv" for n in range(3)), rows=1_000)
    make_files(session, "FAILED", "/data/in/bad.csv", error="'x' is not an INT.", line=7)
    return session


def test_sessions_are_listed_in_pages_newest_first(cluster: ApiCluster, table: Table) -> None:
    for number in range(3):
        make_session(table, f"cp_{number}_a", started_at=f"2026-01-0{number + 1}T00:00:00Z")
    first = cluster.http.get(BASE, query_params={"limit": "2"}).json()
    assert ([s["id"] for s in first["sessions"]], first["total"]) == (["cp_2_a", "cp_1_a"], 3)
    rest = cluster.http.get(BASE, query_params={"limit": "2", "offset": "2"}).json()
    assert [s["id"] for s in rest["sessions"]] == ["cp_0_a"]
    assert cluster.http.get("/api/v1/tables/flights_OFFLINE/ingestion/sessions").json()["total"] == 3


def test_one_session_has_its_counts_and_runs(cluster: ApiCluster, session: IngestionSession) -> None:
    found = cluster.http.get(f"{BASE}/{session.session_id}").json()
    assert (found["state"], found["retryCount"], found["maxRetries"]) == ("IN_PROGRESS", 0, 3)
    assert (found["files"]["total"], found["files"]["built"], found["files"]["failed"]) == (5, 3, 2)
    assert [(run["run"], run["filesOk"], run["filesFailed"]) for run in found["runs"]] == [(0, 3, 2)]
    assert "log" not in found["runs"][0]


def test_files_come_failed_first_and_are_narrowed_by_state_and_address(
    cluster: ApiCluster, session: IngestionSession
) -> None:
    address = f"{BASE}/{session.session_id}/files"
    everything = cluster.http.get(address).json()
    assert everything["total"] == 4
    assert (everything["files"][0]["error"], everything["files"][0]["line"]) == ("'x' is not an INT.", 7)
    assert [f["uri"] for f in cluster.http.get(address, query_params={"search": "day=1"}).json()["files"]] == [
        "/data/in/day=1.csv"
    ]
    assert cluster.http.get(address, query_params={"state": "built", "limit": "1"}).json()["total"] == 3


def test_rows_that_do_not_fit_are_counted_and_the_first_are_listed(
    cluster: ApiCluster, session: IngestionSession
) -> None:
    IngestionSession.objects.filter(pk=session.pk).update(bad_rows=2)
    row = [7, None, "n", "'x'", "is not an INT."]
    session.files.filter(uri="/data/in/day=1.csv").update(bad_rows=2, bad=[row])
    assert cluster.http.get(f"{BASE}/{session.session_id}").json()["badRows"] == 2
    (found,) = cluster.http.get(f"{BASE}/{session.session_id}/files?badRows=true").json()["files"]
    assert (found["uri"], found["badRows"]) == ("/data/in/day=1.csv", 2)
    assert found["badValues"] == [{"line": 7, "row": None, "column": "n", "value": "'x'", "why": "is not an INT."}]


def test_a_run_has_its_log(cluster: ApiCluster, session: IngestionSession) -> None:
    session.attempts.update(log="12:00:00 5 files listed")
    assert cluster.http.get(f"{BASE}/{session.session_id}/runs/0").json()["log"] == "12:00:00 5 files listed"


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/cp_9_a", 404, "no file ingestion session 'cp_9_a'"),
        ("/cp_1_0a0b0c0d/runs/2", 404, "no run 2"),
        ("/cp_1_0a0b0c0d/files?state=LOST", 400, "'LOST' is not a state of a file"),
        ("/cp_1_0a0b0c0d/files?badRows=some", 400, "badRows"),
        ("/cp_1_0a0b0c0d/files?limit=0", 400, "'limit' must be at least 1"),
        ("?offset=-1", 400, "'offset' at least 0"),
    ],
)
def test_what_is_not_there_or_makes_no_sense_is_refused(
    cluster: ApiCluster, session: IngestionSession, path: str, status: int, words: str
) -> None:
    answer = cluster.http.get(f"{BASE}{path}")
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_a_realtime_table_has_no_sessions(cluster: ApiCluster) -> None:
    assert cluster.http.get("/api/v1/tables/flights_REALTIME/ingestion/sessions").status_code == 400

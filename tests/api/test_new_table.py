"""From a file to a table over REST: upload, inference, creation with the first push."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.models import AuditEvent, Grant, Push
from segments.services.tables.design.uploads import remove_expired
from segments.store import paths
from tests.api.cluster import ApiCluster

CSV = b"id,carrier,delay,day\n1,AA,5,2024-03-01\n2,UA,NA,2024-03-02\n3,AA,7,2024-03-02\n"
JSON = "application/json"


@pytest.fixture
def root(tmp_path: Path, settings: Any) -> Path:
    """The input root, of which nothing is there yet."""
    settings.INPUT_ROOTS = [str(tmp_path / "input")]
    (tmp_path / "input").mkdir()
    return tmp_path / "input"


@pytest.fixture(autouse=True)
def queued(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of pushes that were handed to the workers."""
    found: list[str] = []
    monkeypatch.setattr("segments.api.tables.new_table.enqueue_push", lambda _, push: found.append(push))
    return found


def upload(cluster: ApiCluster, content: bytes = CSV, name: str = "flights.csv", client: Any = None) -> Any:
    return (client or cluster.http).post(
        f"/api/v1/uploads?name={name}&tableName=flights", content, "application/octet-stream"
    )


def infer(cluster: ApiCluster, client: Any = None, **body: Any) -> Any:
    return (client or cluster.http).post("/api/v1/tables/infer", body, JSON)


def load(cluster: ApiCluster, found: dict[str, Any], client: Any = None, **more: Any) -> Any:
    body = {key: found[key] for key in ("tableName", "schema", "tableConfig", "job")} | more
    return (client or cluster.http).post("/api/v1/tables/load", body, JSON)


def files_below(root: Path) -> list[Path]:
    return [p for p in root.rglob("*") if p.is_file()]


def test_an_uploaded_file_becomes_a_table_with_a_push(cluster: ApiCluster, root: Path, queued: list[str]) -> None:
    sent = upload(cluster)
    assert sent.status_code == 201, sent.content
    found = infer(cluster, upload=sent.json()["upload"]).json()
    assert found["tableName"] == "flights"
    types = {c["name"]: (c["dataType"], c["nulls"]) for c in found["columns"]}
    assert types == {"id": ("INT", 0), "carrier": ("STRING", 0), "delay": ("INT", 1), "day": ("STRING", 0)}
    assert found["tableConfig"]["segmentsConfig"]["timeColumnName"] == "day"
    assert found["rows"][1] == {"id": "2", "carrier": "UA", "delay": None, "day": "2024-03-02"}
    made = load(cluster, found, reason="first try")
    assert made.status_code == 201, made.content
    push = Push.objects.get(pk=made.json()["id"])
    assert queued == [str(push.pk)]
    assert [f["path"] for f in push.plan["files"]] == [str(p) for p in files_below(root)]
    assert push.plan["replaces"]
    assert cluster.http.get("/tables/flights").json()["OFFLINE"]["tableName"] == "flights_OFFLINE"
    actions = list(AuditEvent.objects.order_by("pk").values_list("action", flat=True))
    assert actions[-4:] == ["uploadFile", "createSchema", "createTable", "push"]


def test_a_folder_or_a_file_of_the_input_root_is_read_in_place(cluster: ApiCluster, root: Path) -> None:
    (root / "day 1").mkdir()
    (root / "day 1" / "a[1].csv").write_bytes(CSV)
    (root / "day 1" / "README.md").write_text("words")
    found = infer(cluster, inputDirURI=str(root / "day 1")).json()
    assert (found["files"], found["job"]["includeFileNamePattern"]) == (1, "glob:**/*.csv")
    found = infer(cluster, inputDirURI="day 1/a[1].csv", tableName="one").json()
    assert found["tableName"] == "one"
    assert load(cluster, found).status_code == 201
    assert [f["path"] for f in Push.objects.get().plan["files"]] == [str(root / "day 1" / "a[1].csv")]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"inputDirURI": "/etc"}, 403),
        ({"inputDirURI": "../.."}, 403),
        ({"inputDirURI": "nowhere"}, 404),
        ({"inputDirURI": "s3://bucket/x"}, 403),
        ({"upload": "0" * 32}, 404),
        ({"upload": "../../x"}, 404),
        ({}, 400),
        ({"upload": "x", "inputDirURI": "y"}, 400),
        ({"inputDirURI": ".", "recordReaderSpec": {"dataFormat": "xls"}}, 400),
        ({"inputDirURI": ".", "unknown": 1}, 400),
    ],
)
def test_what_cannot_be_read_is_refused(cluster: ApiCluster, root: Path, body: dict[str, Any], status: int) -> None:
    answer = infer(cluster, **body)
    assert answer.status_code == status, answer.content
    assert answer.json()["error"]


def test_a_file_that_becomes_gigabytes_is_refused_with_its_name_and_the_limit(cluster: ApiCluster, root: Path) -> None:
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), ["x" * (4 << 20)])
    pq.write_table(pa.table({"a": text}), root / "bomb.parquet", store_schema=False)
    sent = upload(cluster, (root / "bomb.parquet").read_bytes(), "bomb.parquet").json()["upload"]
    for asked in ({"inputDirURI": str(root)}, {"upload": sent}):
        refused = infer(cluster, **asked)
        assert refused.status_code == 400, refused.content
        for part in ("bomb.parquet' take more than 1024 MB of memory", "POST /schemas"):
            assert part in refused.json()["error"]


def test_an_upload_is_for_its_sender_only_and_no_listing_shows_it(cluster: ApiCluster, root: Path) -> None:
    sent = upload(cluster).json()
    other = cluster.as_user("eve", "administer")
    assert infer(cluster, other, upload=sent["upload"]).status_code == 404
    for folder in (".", ".uploads", str(root / ".uploads")):
        assert infer(cluster, other, inputDirURI=folder).status_code == 404
    hidden = next((root / ".uploads").iterdir())
    assert infer(cluster, other, inputDirURI=str(hidden)).status_code == 404


def test_who_may_administer_one_table_sends_and_makes_only_that(cluster: ApiCluster, root: Path) -> None:
    rita = cluster.as_user("rita")
    assert upload(cluster, client=rita).status_code == 403
    Grant.objects.create(user_id=_id("rita"), tables="flights", right="administer")
    sent = upload(cluster, client=rita)
    assert sent.status_code == 201
    assert rita.post("/api/v1/uploads?name=x&tableName=sales", b"x", "application/octet-stream").status_code == 403
    assert rita.post("/api/v1/uploads?name=x", b"x", "application/octet-stream").status_code == 403
    found = infer(cluster, rita, upload=sent.json()["upload"], tableName="flights").json()
    assert infer(cluster, rita, upload=sent.json()["upload"], tableName="sales").status_code == 403
    for document, key, name in (("schema", "schemaName", "x"), ("tableConfig", "tableName", "x_OFFLINE")):
        other = {**found, document: {**found[document], key: name}}
        assert load(cluster, other, rita).status_code == 400
    job = {**found["job"], "tableSpec": {"tableName": "x"}}
    assert load(cluster, {**found, "job": job}, rita).status_code == 400
    assert cluster.http.get("/schemas").json() == []
    assert load(cluster, found, rita).status_code == 201


def test_uploads_are_bounded_for_each_person_and_leave_nothing_when_they_fail(
    cluster: ApiCluster, root: Path, settings: Any
) -> None:
    settings.INPUT_UPLOADS_PER_USER_BYTES = 250
    assert upload(cluster, b"a,b\n" + b"1,2\n" * 50).status_code == 201
    assert upload(cluster, b"a,b\n" + b"1,2\n" * 50).status_code == 413
    assert len(files_below(root)) == 1
    assert upload(cluster, b"a\n1\n", client=cluster.as_user("bo", "administer")).status_code == 201
    settings.INPUT_UPLOADS_BYTES = 200
    refused = upload(cluster, b"a\n1\n", client=cluster.as_user("bo", "administer"))
    assert refused.status_code == 429
    assert "PINOTADMIN_INPUT_UPLOADS_BYTES" in refused.json()["error"] + refused.json().get("remedy", "")


def test_a_full_disk_is_an_error_that_leaves_nothing(cluster: ApiCluster, root: Path, settings: Any) -> None:
    settings.KEPT_FREE_BYTES = 1 << 60
    assert upload(cluster).status_code == 503
    assert files_below(root) == []


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("../../etc/passwd", "passwd"),
        ("..", "file"),
        (".hidden", "hidden"),
        ("a%00b.csv", None),
        ("x%2F*y%3F.csv", "y_.csv"),
    ],
)
def test_the_name_of_an_upload_can_do_no_harm(cluster: ApiCluster, root: Path, name: str, saved: str | None) -> None:
    answer = upload(cluster, name=name)
    assert answer.status_code == (201 if saved else 400), answer.content
    assert [p.name for p in files_below(root)] == ([saved] if saved else [])


def test_when_a_step_is_refused_nothing_is_left_and_a_second_try_works(cluster: ApiCluster, root: Path) -> None:
    (root / "a.csv").write_bytes(CSV)
    found = infer(cluster, inputDirURI=".", tableName="t").json()
    bad_config = {**found["tableConfig"], "segmentsConfig": {"timeColumnName": "carrier"}}
    assert load(cluster, {**found, "tableConfig": bad_config}).status_code == 400
    assert cluster.http.get("/schemas").json() == []
    bad_job = {**found["job"], "includeFileNamePattern": "glob:**/*.nothing"}
    assert load(cluster, {**found, "job": bad_job}).status_code == 404
    assert (cluster.http.get("/schemas").json(), cluster.http.get("/tables").json()) == ([], {"tables": []})
    assert cluster.memory.get(paths.ideal_state("t_OFFLINE")) is None
    assert load(cluster, found).status_code == 201
    assert load(cluster, found).status_code == 409
    assert cluster.http.get("/schemas").json() == ["t"], "the table's schema stays when another creation is refused"


def test_another_schema_of_that_name_is_not_touched(cluster: ApiCluster, root: Path) -> None:
    (root / "a.csv").write_bytes(CSV)
    found = infer(cluster, inputDirURI=".", tableName="t").json()
    other = {"schemaName": "t", "dimensionFieldSpecs": [{"name": "x", "dataType": "INT"}]}
    cluster.http.post("/schemas", other, JSON)
    answer = load(cluster, found)
    assert answer.status_code == 409
    assert cluster.http.get("/schemas/t").json() == other


def test_numbers_and_texts_of_a_sample_are_json(cluster: ApiCluster, root: Path) -> None:
    (root / "a.json").write_text(json.dumps([{"a": 1, "b": [1, 2], "c": {"d": None}}, {"a": None, "b": [], "c": {}}]))
    found = infer(cluster, inputDirURI="a.json").json()
    assert found["rows"] == [{"a": 1, "b": [1, 2], "c": '{"d":null}'}, {"a": None, "b": [], "c": "{}"}]


def _id(name: str) -> int:
    from django.contrib.auth.models import User

    return User.objects.get(username=name).pk


def test_uploads_go_when_they_are_pushed_or_a_day_old_but_not_while_a_push_reads_them(
    cluster: ApiCluster, root: Path
) -> None:
    kept, pushed, read = (upload(cluster, name=f"{n}.csv").json() for n in ("kept", "pushed", "read"))
    for sent, table in ((pushed, "p"), (read, "r")):
        assert load(cluster, infer(cluster, upload=sent["upload"], tableName=table).json()).status_code == 201
    Push.objects.filter(table_name="p").update(state=Push.State.DONE)
    began_ms = int(Path(kept["inputDirURI"]).stat().st_mtime * 1000)
    cluster.now = began_ms + 1000
    remove_expired(cluster.now / 1000)
    assert {p.name for p in files_below(root)} == {"kept.csv", "read.csv"}
    cluster.now = began_ms + 90_000_000
    remove_expired(cluster.now / 1000)
    assert {p.name for p in files_below(root)} == {"read.csv"}
    Push.objects.filter(table_name="r").update(state=Push.State.FAILED)
    remove_expired(cluster.now / 1000)
    assert files_below(root) == []


def test_a_column_of_nulls_only_is_a_column(cluster: ApiCluster, root: Path) -> None:
    (root / "a.json").write_text('{"a": 1, "b": null}\n{"a": 2, "b": null}\n')
    answer = infer(cluster, inputDirURI=str(root / "a.json"))
    assert answer.status_code == 200, answer.content
    assert [(c["name"], c["nulls"], c["distinct"]) for c in answer.json()["columns"]] == [("a", 0, 2), ("b", 2, 0)]

"""A right is asked on exactly the thing that is changed: who may do all with one table changes nothing of another,
however it is named.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from segments.errors import Forbidden
from segments.models import AuditEvent, Grant, Push
from segments.names import OFFLINE, REALTIME, TableName
from segments.services.segments import uploads
from segments.services.segments.upload_files import check_place
from segments.store import paths
from tests.api.cluster import ANN, ApiCluster, config_of, schema_of
from tests.factories import make_push
from tests.security.routes import own_rest_routes

JSON = "application/json"
LLC = "other__0__0__20260101T0000Z"
SPEC = {
    "executionFrameworkSpec": {"name": "spark"}, "jobType": "SegmentCreationAndMetadataPush", "inputDirURI": "/nowhere",
    "recordReaderSpec": {"dataFormat": "csv"}, "tableSpec": {"tableName": "other"}, "pushJobSpec": {},
}  # fmt: skip
#: Bodies that name the other table in every way that some handler reads.
BODIES: list[Any] = [
    {},
    ["other_0"],
    {"tableName": "other", "tableType": OFFLINE, "schemaName": "other"},
    {"segments": ["other_0"]},
    SPEC,
    {"spec": SPEC},
    {"segmentsFrom": ["other_0"], "segmentsTo": ["x"]},
    {"reason": "because", "partitions": [0], "other": "x"},
    {**schema_of("other"), "dimensionFieldSpecs": [{"name": "more", "dataType": "INT"}]},
]
#: Of handlers whose address names no table.
NO_TABLE_IN_PATH = [SPEC, {"spec": SPEC}]
CHANGING = ("GET", "POST", "PUT", "PATCH", "DELETE")


@pytest.fixture
def world(cluster: ApiCluster, tasks: list[Any]) -> ApiCluster:
    """Tables ``mine`` and ``other`` with two segments each; ``mia`` may do everything with ``mine``."""
    for name in ("mine", "other"):
        cluster.create(name)
        for number in range(2):
            assert cluster.post_tar(cluster.build(f"{name}_{number}", table=name), tableName=name).status_code == 200
        cluster.serve(f"{name}_OFFLINE")
    cluster.as_user("mia")
    Grant.objects.create(user=User.objects.get(username="mia"), tables="mine", right="administer")
    return cluster


@pytest.fixture
def mia(world: ApiCluster) -> Client:
    return world.as_user("mia")


def of_other(world: ApiCluster) -> dict[str, Any]:
    """All that there is of the other table: znodes with their versions, files, rows of pushes, what is on record as
    done with it.
    """
    store = world.folder / "store"
    files = {
        str(f): (f.stat().st_size, f.stat().st_mtime_ns) for f in store.rglob("*") if f.is_file() and "other" in str(f)
    }
    rows = list(Push.objects.filter(table_name__startswith="other").values_list("pk", "state"))
    # A file that she sends may have any name.
    on_record = AuditEvent.objects.exclude(outcome="refused").exclude(action="uploadFile")
    done = on_record.filter(target__contains="other", actor="mia").count()
    nodes = {p: (n.version, n.data) for p, n in world.memory.tree.nodes.items() if "other" in p}
    return {"nodes": nodes, "files": files, "pushes": rows, "done": done}


#: Parameters of all routes together; what a route does not know it passes over.
PARAMETERS = {
    "type": OFFLINE,
    "tableType": OFFLINE,
    "name": LLC,
    "instance": "Server_1",
    "segments": "other_0",
    "streamPartitionMsgOffset": "5",
    "taskname": "RetentionManager",
    "state": "disable",
    "startTimestamp": "0",
    "endTimestamp": "9999999999999",
    "force": "true",
    "forceRevert": "true",
    "dryRun": "false",
    "batchConfigMapStr": '{"inputFormat":"csv"}',
    "sourceURIStr": "/nowhere/other.csv",
}


#: What stands in a route's path besides the table: things of the other table, where there are any.
NAMES = {
    "segment": "other_0",
    "job": "job",
    "instance": "Server_127.0.0.1_8098",
    "key": "k",
    "name": "n",
    "token": "1",
    "hook": "1",
    "schedule": "1",
    "number": "1",
    "partition": "0",
    "finding": "1",
    "session": "cp_1_0a0b0c0d",
    "run": "0",
    "task": "Task_FileIngestionTask_x_1",
    "task_type": "FileIngestionTask",
    "tenant": "DefaultTenant",
    "path": "x",
    "query": "1",
    "version": "1",
}


def requests(entry: str, push: str) -> Iterator[tuple[str, str, Any]]:
    """(method, address, body): every route of REST with both tables in its path, its parameters and its body."""
    for route in sorted(
        own_rest_routes(), key=lambda r: r.path == "/tables/<table>"
    ):  # which drops her table at the end
        fixed = {**NAMES, "entry": entry, "push_id": push}
        # (table in the path, table in the parameters): never both hers.
        pairs = (
            [("mine", "other"), ("other", "mine")]
            if {"table", "schema"} & set(route.parameters)
            else [("", "other"), ("", "mine"), ("", "")]
        )
        for method, (table, named) in itertools.product(set(route.methods) & set(CHANGING), pairs):
            if method == "GET" and getattr(route.view, "rights", {}).get("GET", "read") in ("read", "query"):
                continue
            query = {**PARAMETERS, "tableName": named, "segmentLineageEntryId": entry, "to": entry}
            query["tableNameWithType"] = f"{named}_OFFLINE" if named else ""
            address = route.address(**{**fixed, "table": table, "schema": table.removesuffix("_OFFLINE")})
            bodies = [b for b in BODIES if b not in NO_TABLE_IN_PATH] if pairs[0][0] else BODIES
            for body in bodies if method != "GET" else [None]:
                yield method, f"{address}?{'&'.join(f'{k}={v}' for k, v in query.items() if v)}", body


def test_with_rights_on_one_table_no_request_changes_another(world: ApiCluster, mia: Client) -> None:
    started = world.http.post(
        "/segments/other/startReplaceSegments?type=OFFLINE", {"segmentsFrom": [], "segmentsTo": ["other_9"]}, JSON
    )
    push = make_push(table_name="other", cluster="test", state="RUNNING")
    before, let_in, count = of_other(world), 0, 0
    for method, address, body in requests(started.json()["segmentLineageEntryId"], str(push.pk)):
        answer = mia.generic(method, address, json.dumps(body) if body is not None else "", JSON)
        count += 1
        let_in += answer.status_code < 400
        assert answer.status_code < 500 or answer.status_code == 503, (method, address, body, answer.content[:300])
        assert of_other(world) == before, (method, address, body, answer.content[:300])
    assert count > 300
    assert let_in > 10, "some of it was allowed, for her own table"


def upload_with(
    client: Client, path: str, part: str, tar: Path, headers: dict[str, str] | None = None, **query: str
) -> Any:
    body = {part: SimpleUploadedFile(part, tar.read_bytes(), "application/octet-stream")}
    return client.post(path, body, query_params=query, headers=headers)


def test_no_upload_changes_another_table_whatever_tar_part_and_parameters_name(world: ApiCluster, mia: Client) -> None:
    before, tar = of_other(world), world.build("other_0", count=9, table="other")
    ways: list[Callable[[], Any]] = [
        lambda: upload_with(mia, "/v2/segments", "other_0", tar),
        lambda: upload_with(mia, "/segments", "other_0", tar, tableName="other"),
        lambda: upload_with(mia, "/v2/segments", "other_0", tar, tableName="mine", tableType=REALTIME),
        lambda: upload_with(
            mia, "/segmentUpload", LLC, tar, tableName="mine", instance="Server_1", streamPartitionMsgOffset="5"
        ),
        lambda: upload_with(mia, "/segmentUpload", LLC, tar, tableName="mine", name=LLC),
        lambda: upload_with(
            mia, "/segmentCommitEndWithMetadata", "metadata.properties", tar, tableName="mine", name=LLC, location="x"
        ),
        lambda: upload_with(
            mia, "/v2/segments", "x", tar, {"UPLOAD_TYPE": "METADATA", "DOWNLOAD_URI": "file:///x"}, tableName="other"
        ),
        lambda: mia.post(
            "/v2/segments",
            "tableName=other&tableType=OFFLINE",
            JSON,
            query_params={},
            headers={"UPLOAD_TYPE": "URI", "DOWNLOAD_URI": "http://x"},
        ),
    ]
    for way in ways:
        assert way().status_code in (400, 403)
        assert of_other(world) == before
    # Of a tar that names another table the parameter counts: it goes into her own.
    assert upload_with(mia, "/v2/segments", "other_0", tar, tableName="mine").status_code == 200
    assert of_other(world)["nodes"].keys() - before["nodes"].keys() == {paths.segment("mine_OFFLINE", "other_0")}


def test_a_uri_push_that_names_its_table_in_a_form_needs_the_right_for_just_that_table(
    world: ApiCluster, mia: Client
) -> None:
    headers = {"UPLOAD_TYPE": "URI", "DOWNLOAD_URI": "ftp://nowhere/x"}
    assert mia.post("/v2/segments", "tableName=other", JSON, headers=headers).status_code == 403
    assert mia.post("/v2/segments", "tableName=mine", JSON, headers=headers).status_code == 400, (
        "let in, and told of the address"
    )


def test_a_file_of_another_table_is_not_taken_from_the_deep_store(world: ApiCluster) -> None:
    mine = TableName("mine", OFFLINE)
    url = world.ctx.deep_store.url
    for place in (
        "other/other_0",
        "Deleted_Segments/other/other_0",
        "Deleted_Records/other/x",
        "Staging/1/x",
        "%6Fther/other_0",
    ):
        with pytest.raises(Forbidden):
            check_place(world.ctx, mine, f"{url}/{place}")
    check_place(world.ctx, mine, f"{url}/mine/mine_0")
    check_place(world.ctx, mine, f"{url}/somewhere/else")
    info = uploads.read_info_from_tar(world.build("stolen", table="mine"))
    with pytest.raises(Forbidden):
        uploads.upload_metadata(world.ctx, mine, [(info, f"{url}/other/other_0", None)], actor=ANN)


def test_one_half_of_a_hybrid_table_does_not_replace_files_of_the_other(world: ApiCluster) -> None:
    world.memory.create(
        paths.table_config("mine_REALTIME"), world.memory.get(paths.table_config("mine_OFFLINE")).record
    )  # type: ignore[union-attr]
    for name in ("mine__0__0__20260101T0000Z",):
        answer = world.post_tar(world.build(name, table="mine"), tableName="mine")
        assert answer.status_code == 409, answer.content
    taken = "taken"
    world.memory.create(
        paths.segment("mine_REALTIME", taken), world.memory.get(paths.segment("mine_OFFLINE", "mine_0")).record
    )  # type: ignore[union-attr]
    assert world.post_tar(world.build(taken, table="mine"), tableName="mine").status_code == 409


@pytest.mark.parametrize("raw", ["Staging", "Deleted_Segments", "Deleted_Records"])
def test_a_table_is_not_named_like_a_folder_of_the_deep_store(world: ApiCluster, raw: str) -> None:
    assert world.http.post("/schemas", schema_of(raw), JSON).status_code == 200
    assert world.http.post("/tables", config_of(raw), JSON).status_code == 400

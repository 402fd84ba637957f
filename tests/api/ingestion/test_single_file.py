"""A single file over REST, as Pinot takes it in: by a form, or by its address; pushed, answered, and removed."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from segments import wiring
from segments.api.ingestion import single_file as views
from segments.gateways.input_files import source as sources
from segments.models import AuditEvent, Grant, Push
from segments.services.push import upload_folders
from tests.api.ingestion.conftest import APPEND, CSV, ROWS, Api
from tests.factories import make_push
from tests.services.world import TABLE

pytestmark = pytest.mark.django_db
BY_NAME = {"segmentIngestionType": "REFRESH", "consistentDataPush": False}


def test_a_file_is_added_to_the_table_and_answered_as_pinot_does(api: Api) -> None:
    answer = api.send()
    assert (answer.status_code, api.rows) == (200, 2)
    (name,) = Push.objects.get().segments.values_list("name", flat=True)
    assert answer.json() == {"status": f"Successfully ingested file into table: t_OFFLINE as segment: {name}"}
    assert api.uploads == []
    event = AuditEvent.objects.get(action="ingestFile")
    assert (event.actor, event.target, event.detail["source"]) == ("root", TABLE.typed, "rows.csv")


@pytest.mark.parametrize(
    "api", [APPEND, {"segmentIngestionType": "REFRESH", "consistentDataPush": False}], indirect=True
)
def test_the_same_file_twice_is_two_segments_unless_it_is_named(api: Api) -> None:
    assert [api.send().status_code, api.send().status_code, api.rows] == [200, 200, 4]
    named = json.dumps({
        "inputFormat": "csv", "segmentNameGenerator.type": "fixed", "segmentNameGenerator.configs.segment.name": "mine",
    })  # fmt: skip
    assert api.send(batchConfigMapStr=named).json()["status"].endswith("as segment: mine")
    again = api.send(ROWS + "Paris,3,17002\n", batchConfigMapStr=named)
    assert (again.status_code, api.rows, api.uploads) == (409, 6, [])


def test_reader_settings_and_formats_count(api: Api) -> None:
    batch = json.dumps(
        {"inputFormat": "CSV", "recordReader.prop.delimiter": "|", "recordReader.prop.skipHeader": False}
    )
    assert api.send(ROWS.replace(",", "|"), batchConfigMapStr=batch).status_code == 200
    lines = '{"city":"Rom","n":1,"day":17000}\n{"city":"Bern","n":2,"day":17001}\n'
    assert api.send(lines, batchConfigMapStr='{"inputFormat":"json"}').status_code == 200
    assert api.rows == 4


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ({"tableNameWithType": "t"}, 400, "Must provide table name with type suffix"),
        ({"tableNameWithType": "t_REALTIME"}, 400, "Cannot ingest file into REALTIME table"),
        ({"tableNameWithType": "gone_OFFLINE"}, 404, "gone"),
        ({"tableNameWithType": ""}, 400, "tableNameWithType"),
        ({"batchConfigMapStr": ""}, 400, "batchConfigMapStr"),
        ({"batchConfigMapStr": "[]"}, 400, "object of texts"),
        ({"batchConfigMapStr": "{"}, 400, "batchConfigMapStr"),
        ({"batchConfigMapStr": "{}"}, 400, "'inputFormat' is missing"),
        ({"batchConfigMapStr": '{"inputFormat":"pdf"}'}, 400, "'inputFormat' 'pdf' is not supported"),
        ({"batchConfigMapStr": '{"inputFormat":{"a":1}}'}, 400, "object of texts"),
        ({"batchConfigMapStr": '{"inputFormat":"csv","inputfromat":"x"}'}, 400, "'inputfromat' is not a key"),
        ({"batchConfigMapStr": '{"inputFormat":"csv","recordReader.prop.delimiter":"::"}'}, 400, "recordReader.prop."),
        (
            {"batchConfigMapStr": '{"inputFormat":"csv","segmentNameGenerator.type":"own"}'},
            400,
            "segmentNameGeneratorSpec.type",
        ),
    ],
)
def test_what_is_wrong_is_named_and_nothing_stays(api: Api, query: dict[str, str], status: int, says: str) -> None:
    answer = api.send(**query)
    assert (answer.status_code, says in answer.json()["error"]) == (status, True), answer.content
    assert (api.uploads, Push.objects.count()) == ([], 0)


def test_a_file_that_cannot_be_read_is_refused_with_its_line(api: Api) -> None:
    answer = api.send("city,n,day\nRom,three,17000\n")
    assert answer.status_code == 400
    assert "Got illegal argument when ingesting file into table: t_OFFLINE." in answer.json()["error"]
    assert "line 2" in answer.json()["error"]
    assert (api.uploads, api.rows) == ([], 0)
    assert api.send("").status_code == 400


@pytest.mark.parametrize("files", [0, 2])
def test_a_form_holds_exactly_one_file(api: Api, files: int) -> None:
    form = {f"f{i}": SimpleUploadedFile(f"{i}.csv", ROWS.encode()) for i in range(files)} or {"a": "text"}
    asked = {"tableNameWithType": TABLE.typed, "batchConfigMapStr": CSV}
    answer = api.people["root"].post("/ingestFromFile", form, query_params=asked)
    assert (answer.status_code, api.uploads) == (400, [])
    assert "exactly one part" in answer.json()["error"]
    assert api.people["root"].post("/ingestFromFile", ROWS, "text/csv", query_params=asked).status_code == 400


@pytest.mark.parametrize("by_uri", [False, True])
def test_a_file_that_is_too_large_or_fills_the_disk_is_refused(api: Api, settings: Any, by_uri: bool) -> None:
    api.world.file("a.csv", "Rom,1,17000")
    go: Callable[[], Any] = (lambda: api.fetch(str(api.world.folder / "a.csv"))) if by_uri else api.send
    settings.KEPT_FREE_BYTES = 1 << 60
    full = go()
    assert (full.status_code, "Make room" in full.json()["error"], api.uploads) == (503, True, [])
    settings.KEPT_FREE_BYTES, settings.MAX_UPLOAD_BYTES = 0, 10
    with wiring.use(replace(api.ctx, limits=replace(api.ctx.limits, upload_bytes=10))):
        assert (go().status_code, api.uploads, Push.objects.count()) == (413, [], 0)


@pytest.mark.parametrize("api", [{}], indirect=True)
def test_a_table_that_pushes_replace_as_a_whole_is_not_emptied_by_one_file(api: Api) -> None:
    answer = api.send()
    assert (answer.status_code, "POST /api/v1/pushes" in answer.json()["error"]) == (409, True)


def test_what_takes_long_is_answered_with_the_push_and_its_file_goes_when_it_is_over(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "WAIT_S", 0.0)
    api.is_idle = True
    answer = api.send()
    push = Push.objects.get()
    assert (answer.status_code, answer.json()["push"]) == (202, str(push.pk))
    assert answer["Location"] == f"/api/v1/pushes/{push.pk}"
    assert api.uploads == [str(push.pk), f"{push.pk}/data.csv"]
    assert upload_folders.sweep() == []
    api.is_idle = False
    api._work(str(push.pk))
    assert upload_folders.sweep() == [f"The file of upload {push.pk} was removed."]
    assert (api.uploads, api.rows) == ([], 2)


def test_what_a_dead_process_left_goes_after_a_while(api: Api) -> None:
    left, fresh, over = uuid.uuid4(), uuid.uuid4(), make_push(state="FAILED").pk
    for upload in (left, fresh, over):
        upload_folders.folder_of(upload).mkdir(parents=True)
        (upload_folders.folder_of(upload) / "uploaded").write_text("x")
    (upload_folders.root() / "not ours").mkdir()
    for path in (upload_folders.folder_of(left), upload_folders.folder_of(left) / "uploaded"):
        os.utime(path, (1_000, 1_000))
    assert len(upload_folders.sweep()) == 2
    assert api.uploads == sorted([str(fresh), f"{fresh}/uploaded", "not ours"])


def test_only_who_may_change_this_table_sends_a_file(api: Api) -> None:
    for name, tables in (("mia", "t"), ("eva", "other")):
        user = User.objects.create_user(name, password="a long enough secret")
        Grant.objects.create(user=user, cluster="*", tables=tables, right="operate")
    assert api.send(who="eva").status_code == 403
    assert api.send(who="eva", batchConfigMapStr="{").status_code == 403
    assert api.send(who="eva", tableNameWithType="").status_code == 403
    assert not upload_folders.root().exists()
    assert api.send(who="mia").status_code == 200


def test_a_file_at_an_address_is_added_and_stays_where_it_is(api: Api) -> None:
    path = api.world.file("deep/a b.csv", "Rom,1,17000")
    for uri in (str(path), f"file://{str(path).replace(' ', '%20')}"):
        answer = api.fetch(uri)
        assert answer.status_code == 200, answer.content
    assert (api.rows, path.exists(), api.uploads) == (2, True, [])
    assert AuditEvent.objects.filter(action="ingestFile").latest("pk").detail["source"].endswith("a%20b.csv")


@pytest.mark.parametrize(
    ("uri", "status"),
    [
        ("/etc/passwd", 403), ("/etc/nothing", 403), ("file:///etc/passwd", 403), ("IN/../../../etc/passwd", 403),
        ("IN/link.csv", 403), ("IN/gone.csv", 404), ("IN", 403), ("IN/deep", 400), ("in/a.csv", 400),
        ("file://host/a.csv", 400), ("http://127.0.0.1/a.csv", 400), ("s3://bucket/a.csv", 403), ("", 400),
    ],
)  # fmt: skip
def test_only_files_below_the_input_roots_are_read(api: Api, uri: str, status: int) -> None:
    (api.world.folder / "deep").mkdir()
    secret = api.folder / "secret.csv"
    secret.write_text(ROWS)
    (api.world.folder / "link.csv").symlink_to(secret)
    answer = api.fetch(uri.replace("IN", str(api.world.folder)))
    assert answer.status_code == status, answer.content
    assert (api.uploads, Push.objects.count()) == ([], 0)


def test_logins_of_an_address_are_used_and_not_kept(api: Api, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.INPUT_ROOTS = ["s3://bucket/in"]
    asked: list[Any] = []

    local = api.world.file("x.csv", "Rom,1,17000")
    real = sources.InputSource.open

    def fake(self: sources.InputSource, path: str) -> Any:
        if not path.startswith("s3:"):
            return real(self, path)
        asked.append((path, dict(self.access.login)))
        return real(sources.ANYWHERE, str(local))

    monkeypatch.setattr(sources.InputSource, "open", fake)
    keys = {"input.fs.prop.accessKey": "hidden-1", "input.fs.prop.secretKey": "hidden-2"}
    batch = json.dumps(
        {"inputFormat": "csv", "input.fs.className": "org.apache.pinot.plugin.filesystem.S3PinotFS", **keys}
    )
    answer = api.fetch("s3://bucket/in/a.csv", batchConfigMapStr=batch)
    assert answer.status_code == 200, answer.content
    assert asked[0][0] == "s3://bucket/in/a.csv"
    assert {"hidden-1", "hidden-2"} <= set(asked[0][1].values())
    push = Push.objects.get()
    kept = json.dumps([push.plan, push.spec, *AuditEvent.objects.values_list("detail", flat=True)])
    assert "hidden" not in kept
    assert api.fetch("s3://other/in/a.csv", batchConfigMapStr=batch).status_code == 403

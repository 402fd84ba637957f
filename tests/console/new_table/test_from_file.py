"""A newcomer makes a table of a file in the console: where it is, what it is to be, and its first push."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from segments import wiring
from segments.domain.formats.znrecord import ZNRecord
from segments.errors import InvalidInput
from segments.gateways.input_files.rules import InputRules
from segments.models import Grant, Push
from segments.services.jobs import queue
from segments.services.tables import schemas
from segments.services.tables.design import creation
from segments.services.tables.schemas import read_schema
from segments.services.tables.tables import list_tables
from segments.store import paths
from tests.console.conftest import FakeBroker, logged_in
from tests.factories import CLUSTER
from tests.services.world import ANN, World

pytestmark = pytest.mark.django_db
CSV = b"id,carrier,delay,day\n1,AA,5,01/02/2024\n2,UA,NA,13/02/2024\n3,AA,7,14/02/2024\n"
CHOOSE, COLUMNS = "/console/new-table/", "/console/new-table/columns/"


@pytest.fixture
def root(tmp_path: Path, settings: Any) -> Path:
    settings.INPUT_ROOTS = [str(tmp_path / "input")]
    (tmp_path / "input").mkdir()
    return tmp_path / "input"


@pytest.fixture
def world(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """As everywhere in the console, with a root that input may come from and a queue that takes everything."""
    monkeypatch.setattr(queue, "enqueue_push", lambda *_: True)
    world = World(tmp_path)
    world.ctx = replace(world.ctx, cluster=CLUSTER, inputs=InputRules((str(root),)))
    with wiring.use(world.ctx, FakeBroker()):
        yield world


@pytest.fixture
def adele(world: World) -> Client:
    return logged_in("adele", "operate", "administer")


def fields_of(text: str) -> dict[str, str]:
    """What a browser would send of the page's form, without a button."""
    form = text[text.index('<form method="post" action="/console/new-table/columns/"') : text.rindex("</form>")]
    found: dict[str, str] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        named = re.search(r'name="([^"]*)"', tag)
        if named is None or (('type="checkbox"' in tag or 'type="radio"' in tag) and " checked" not in tag):
            continue
        value = re.search(r'value="([^"]*)"', tag)
        found[named[1]] = unescape(value[1]) if value else "on" if 'type="checkbox"' in tag else ""
    for name, body in re.findall(r'<textarea[^>]*name="([^"]*)"[^>]*>(.*?)</textarea>', form, re.DOTALL):
        found[name] = unescape(body).removeprefix("\n")
    for name, body in re.findall(r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'<option(?: value="([^"]*)")? selected>([^<]*)', body)
        found[name] = "" if chosen is None else chosen[1] if chosen[1] is not None else chosen[2]
    return found


def sent(client: Client, content: bytes = CSV, name: str = "") -> str:
    """The page of columns after a file was sent without JavaScript."""
    file = SimpleUploadedFile("My Flights.csv", content)
    answer = client.post(CHOOSE, {"file": file, "name": name})
    assert answer.status_code == 302, answer.content.decode()
    page = client.get(answer["Location"])
    assert page.status_code == 200
    return page.content.decode()


def test_a_file_becomes_a_table_whose_push_is_followed(adele: Client, world: World) -> None:
    text = sent(adele)
    for words in ("13/02/2024", "SIMPLE_DATE_FORMAT|dd/MM/yyyy", "2024-02-01T00:00:00Z", "1 null", "Create and push"):
        assert words in text
    fields = fields_of(text)
    assert (fields["name"], fields["time"], fields["reason"]) == ("my_flights", "3", "New table from My Flights.csv")
    fields |= {"c1_name": "airline", "replicas": "1", "action": "create"}
    answer = adele.post(COLUMNS, fields)
    push = Push.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/console/pushes/{push.pk}/")
    assert push.plan["reader"]["header"] == ["id", "airline", "delay", "day"]
    assert list(read_schema(world.ctx, "my_flights").by_name) == ["id", "airline", "delay", "day"]
    assert "my_flights" in list_tables(world.ctx)
    assert "Table my_flights is created" in adele.get(answer["Location"]).content.decode()


def test_grid_and_json_stay_in_step(adele: Client, world: World) -> None:
    fields = fields_of(sent(adele))
    fields = fields_of(
        adele.post(COLUMNS, {**fields, "c2_type": "LONG", "c0_key": "on", "retention": "30"}).content.decode()
    )
    schema, config = json.loads(fields["schema"]), json.loads(fields["config"])
    assert schema["primaryKeyColumns"] == ["id"]
    assert (
        next(f for f in schema["dimensionFieldSpecs"] + schema["metricFieldSpecs"] if f["name"] == "delay")["dataType"]
        == "LONG"
    )
    assert config["segmentsConfig"]["retentionTimeValue"] == "30"
    schema["dimensionFieldSpecs"].append({"name": "extra", "dataType": "STRING", "maxLength": 9})
    config["segmentsConfig"]["replication"] = "2"
    config["quota"] = {"storage": "1G"}
    edited = {**fields, "schema": json.dumps(schema), "config": json.dumps(config)}
    fields = fields_of(adele.post(COLUMNS, edited).content.decode())
    assert (fields["replicas"], fields["retention"]) == ("2", "30")
    fields = fields_of(adele.post(COLUMNS, {**fields, "c0_type": "STRING"}).content.decode())
    schema, config = json.loads(fields["schema"]), json.loads(fields["config"])
    assert {"name": "extra", "dataType": "STRING", "maxLength": 9} in schema["dimensionFieldSpecs"]
    assert config["quota"] == {"storage": "1G"}


@pytest.mark.parametrize(
    ("document", "change", "words"),
    [
        ("config", {"segmentsConfig": "x"}, "segmentsConfig: expected an object"),
        ("config", {"tableIndexConfig": ["x"]}, "tableIndexConfig: expected an object"),
        ("config", {"tableIndexConfig": {"rangeIndexColumns": 5}}, "rangeIndexColumns: expected a list"),
        ("config", {"ingestionConfig": 1}, "ingestionConfig: expected an object"),
        ("schema", {"primaryKeyColumns": 5}, "primaryKeyColumns: expected a list"),
        ("schema", {"dimensionFieldSpecs": {"a": 1}}, "dimensionFieldSpecs: expected a list"),
    ],
)
def test_json_of_other_types_is_refused_next_to_its_field_and_kept(
    adele: Client, document: str, change: dict[str, Any], words: str
) -> None:
    fields = fields_of(sent(adele))
    edited = json.dumps({**json.loads(fields[document]), **change})
    for action in ("", "create"):
        text = adele.post(COLUMNS, {**fields, document: edited, "action": action}).content.decode()
        assert words in unescape(text)
        assert fields_of(text)[document] == edited
        assert '<details id="documents" open>' in text


def test_what_only_the_creation_refuses_stands_next_to_the_text_that_says_it(adele: Client, world: World) -> None:
    fields = fields_of(sent(adele))
    config = json.dumps({**json.loads(fields["config"]), "query": {"timeoutMs": -1}})
    answer = adele.post(COLUMNS, {**fields, "config": config, "action": "create"})
    text = unescape(answer.content.decode())
    assert answer.status_code == 400
    assert re.search(r'id="config_wrong"[^>]*>.*\'query.timeoutMs\' is \'-1\', which is not a limit', text, re.DOTALL)
    assert '<details id="documents" open>' in text
    assert "my_flights" not in list_tables(world.ctx)


def test_a_column_that_only_the_schema_has_is_named_below_the_grid(adele: Client) -> None:
    fields = fields_of(sent(adele))
    schema = json.loads(fields["schema"])
    schema["dimensionFieldSpecs"].append({"name": "source", "dataType": "STRING", "defaultNullValue": "upload"})
    text = adele.post(COLUMNS, {**fields, "schema": json.dumps(schema)}).content.decode()
    assert "Only in the schema, not in what is read: <code>source</code>." in text


LEFT = {"schemaName": "my_flights", "dimensionFieldSpecs": [{"name": "id", "dataType": "STRING"}]}


def test_a_schema_that_a_deleted_table_left_is_replaced_when_somebody_says_so(adele: Client, world: World) -> None:
    schemas.create_schema(world.ctx, LEFT, override=False, actor=ANN)
    text = sent(adele)
    assert "Replace the schema of this name that no table uses" in text
    fields = {**fields_of(text), "action": "create"}
    refused = adele.post(COLUMNS, fields)
    assert refused.status_code == 409
    assert "A schema &#x27;my_flights&#x27; with other columns exists already" in refused.content.decode()
    assert read_schema(world.ctx, "my_flights").body == LEFT
    assert adele.post(COLUMNS, {**fields, "replace_schema": "on"}).status_code == 302
    assert "carrier" in read_schema(world.ctx, "my_flights").by_name
    assert "Replace the schema" not in sent(adele)  # a table uses it now


def test_a_replaced_schema_is_back_when_a_later_step_is_refused(
    adele: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise InvalidInput("No push today.", remedy="Come tomorrow.")

    monkeypatch.setattr(creation, "create_push", refuse)
    schemas.create_schema(world.ctx, LEFT, override=False, actor=ANN)
    fields = {**fields_of(sent(adele)), "action": "create", "replace_schema": "on"}
    assert "No push today." in adele.post(COLUMNS, fields).content.decode()
    assert read_schema(world.ctx, "my_flights").body == LEFT
    assert "my_flights" not in list_tables(world.ctx)


def test_more_replicas_than_servers_are_taken_with_a_warning(adele: Client, world: World) -> None:
    record = ZNRecord(
        "Server_a_1", {"HELIX_HOST": "a", "HELIX_PORT": "1"}, lists={"TAG_LIST": ["DefaultTenant_OFFLINE"]}
    )
    world.memory.create(paths.participant("Server_a_1"), record)
    fields = fields_of(sent(adele))
    warning = "only 1 enabled server has the tag 'DefaultTenant_OFFLINE': each segment gets 1 replica"
    assert warning not in unescape(adele.post(COLUMNS, fields).content.decode())
    assert warning in unescape(adele.post(COLUMNS, {**fields, "replicas": "3"}).content.decode())
    assert adele.post(COLUMNS, {**fields, "replicas": "3", "action": "create"}).status_code == 302


def test_values_that_do_not_fit_a_chosen_type_are_counted(adele: Client) -> None:
    fields = fields_of(sent(adele))
    text = adele.post(COLUMNS, {**fields, "c1_type": "INT"}).content.decode()
    assert "3 values do not fit: AA, UA" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "../x"}, "cannot be a table name"),
        ({"replicas": "0"}, "greater than or equal to 1"),
        ({"c1_name": "id"}, "is there twice"),
        ({"c3_format": "SIMPLE_DATE_FORMAT|qqqq"}, "is not supported"),
        ({"time": "", "retention": "3"}, "choose a time column first"),
        ({"schema": "{"}, "The text is not JSON"),
        ({"reason": ""}, "Say why"),
    ],
)  # fmt: skip
def test_what_is_wrong_stands_next_to_its_field_and_nothing_is_created(
    adele: Client, world: World, change: dict[str, str], words: str
) -> None:
    answer = adele.post(COLUMNS, {**fields_of(sent(adele)), **change, "action": "create"})
    assert answer.status_code in (400, 409, 422), answer.content.decode()
    assert words in unescape(answer.content.decode())
    assert not Push.objects.exists()
    assert "my_flights" not in list_tables(world.ctx)
    fields = fields_of(answer.content.decode())
    corrected = {**fields, "name": "my_flights", "replicas": "1", "retention": "", "reason": "x", "action": "create"}
    corrected |= {"c1_name": "carrier", "c3_format": "SIMPLE_DATE_FORMAT|dd/MM/yyyy"}
    if change.get("schema"):
        corrected["schema"] = json.dumps(
            {"schemaName": "my_flights", "dimensionFieldSpecs": [{"name": "id", "dataType": "INT"}]}
        )
        corrected["config"] = corrected["config"].replace('"timeColumnName": "day"', '"loadMode": "MMAP"')
    assert adele.post(COLUMNS, corrected).status_code == 302


def test_files_that_are_there_need_no_upload_and_a_headerless_one_can_be_read(adele: Client, root: Path) -> None:
    (root / "plain.csv").write_bytes(b"ann,x\nbob,y\n")
    answer = adele.post(CHOOSE, {"address": "plain.csv"})
    text = adele.get(answer["Location"]).content.decode()
    assert "It holds values" in text
    link = unescape(re.search(r'href="\?([^"]*header=no)"', text)[1])  # type: ignore[index]  # it is there
    assert 'value="column_1"' in adele.get(f"{COLUMNS}?{link}").content.decode()


@pytest.mark.parametrize(("address", "words"), [("/etc", "is outside the folders"), ("nowhere", "is not a folder")])
def test_an_address_that_cannot_be_read_is_refused_next_to_its_field(adele: Client, address: str, words: str) -> None:
    answer = adele.post(CHOOSE, {"address": address})
    assert answer.status_code in (400, 403)
    assert words in unescape(answer.content.decode())


def test_who_has_no_right_sees_why_and_reads_no_file(world: World, root: Path, operator: Client) -> None:
    (root / "plain.csv").write_bytes(CSV)
    assert "segments.administer" in operator.get(CHOOSE).content.decode()
    assert operator.get(COLUMNS, {"address": "plain.csv"}).status_code == 403
    assert operator.post(CHOOSE, {"address": "plain.csv"}).status_code == 403


def test_who_may_make_one_table_makes_only_that(world: World, root: Path) -> None:
    from django.contrib.auth.models import User

    rita = logged_in("rita")
    Grant.objects.create(user=User.objects.get(username="rita"), tables="flights", right="administer")
    file = SimpleUploadedFile("sales.csv", CSV)
    assert rita.post(CHOOSE, {"file": file, "name": ""}).status_code == 403
    fields = fields_of(sent(rita, name="flights"))
    assert rita.post(COLUMNS, {**fields, "name": "sales", "action": "create"}).status_code == 403
    assert list_tables(world.ctx) == ["t"]
    assert rita.post(COLUMNS, {**fields, "action": "create"}).status_code == 302


def test_a_first_query_is_offered_when_the_push_is_done(viewer: Client, world: World) -> None:
    from tests.factories import make_push

    push = make_push(table_name="t", state="DONE", stage="END")
    assert "Query it" in viewer.get(f"/console/pushes/{push.pk}/").content.decode()

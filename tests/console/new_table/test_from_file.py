"""A newcomer makes a table of a file in the console: where it is, what it is to be, and its first push."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from segments import wiring
from segments.gateways.input_files.access import FileAccess
from segments.gateways.input_files.rules import InputRules
from segments.gateways.input_files.source import InputSource
from segments.models import Grant, Push
from segments.services.tables.schemas import read_schema
from segments.services.tables.tables import list_tables
from tests.console.conftest import FakeBroker, logged_in
from tests.services.world import World

pytestmark = pytest.mark.django_db
CSV = b"id,carrier,delay,day\n1,AA,5,01/02/2024\n2,UA,NA,13/02/2024\n3,AA,7,14/02/2024\n"
CHOOSE, COLUMNS = "/console/new-table/", "/console/new-table/columns/"


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


def test_the_sample_has_true_false_and_null_as_json_has_them(adele: Client, world: World) -> None:
    rows = [{"id": 1, "paid": True, "tags": ["a", None]}, {"id": 2, "paid": False}]
    content = "\n".join(map(json.dumps, rows)).encode()
    answer = adele.post(CHOOSE, {"file": SimpleUploadedFile("orders.json", content), "name": ""})
    text = unescape(adele.get(answer["Location"]).content.decode())
    for shown in ("<td>true</td>", "<td>false</td>", '<td>["a",null]</td>', "<code>true</code>"):
        assert shown in text
    assert not re.search(r">[^<]*\b(True|False|None)\b", text)


@pytest.fixture
def logins(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A login ``sales`` is kept for tables ``sales*``; each login that a store is asked with is noted."""
    file, used = tmp_path / "logins.json", []
    secrets = {"accessKey": "kept-key", "secretKey": "kept-secret"}
    login = {"className": "org.apache.pinot.plugin.filesystem.S3PinotFS", "roots": ["s3://lake/in"], **secrets}
    file.write_text(json.dumps({"sales": {**login, "tables": ["sales*"]}}))
    rules = replace(world.ctx.inputs, logins_file=str(file))
    local = rules.access(world.ctx.inputs.roots[0], {}, table="")

    def access(self: InputRules, folder: str, given: Mapping[str, str], *, table: str) -> FileAccess:
        used.append(dict(checked(self, folder, given, table=table).login).get("accessKey", ""))
        return local

    checked = InputRules.access
    monkeypatch.setattr(InputRules, "access", access)
    monkeypatch.setattr(InputSource, "folder", lambda *_: world.ctx.inputs.roots[0])
    monkeypatch.setattr(wiring, "input_roots", lambda: ["s3://lake/in", *world.ctx.inputs.roots])
    world.ctx = replace(world.ctx, inputs=rules)
    return used


def test_a_store_is_read_with_the_login_that_was_named(
    adele: Client, world: World, root: Path, logins: list[str]
) -> None:
    (root / "a.csv").write_bytes(CSV)
    with wiring.use(world.ctx, FakeBroker()):
        text = adele.get(CHOOSE).content.decode()
        assert '<option value="sales">' in text
        asked = {"address": "s3://lake/in/sales_2024", "login": "sales", "name": ""}
        answer = adele.post(CHOOSE, asked)
        page = adele.get(answer["Location"]).content.decode()
        other = adele.post(CHOOSE, {**asked, "name": "people"})
    assert fields_of(page)["login"] == "sales"
    assert set(logins) == {"kept-key"}
    assert "kept-" not in text + page
    assert "There is no login" in unescape(other.content.decode())


def test_names_of_logins_are_shown_to_nobody_who_administers_only_some_tables(
    world: World, root: Path, logins: list[str]
) -> None:
    rita = logged_in("rita")
    Grant.objects.create(user_id=rita.session["_auth_user_id"], tables="flights", right="administer")
    with wiring.use(world.ctx, FakeBroker()):
        text = rita.get(CHOOSE).content.decode()
    assert 'name="login"' in text
    assert '<option value="sales">' not in text

"""A table's settings are changed in the console: form and JSON in step, the difference before saving, what is wrong
next to its field, and the way back by the history.
"""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments.models import ConfigVersion, Grant, Table
from segments.services.tables import schemas, tables
from segments.services.tables.edits.documents import Documents, read_documents
from tests.console.conftest import logged_in
from tests.console.new_table.test_from_file import fields_of as all_fields
from tests.factories import make_table
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db
EDIT, HISTORY = f"/console/tables/{TABLE.typed}/config/edit/", f"/console/tables/{TABLE.typed}/config/history/"


@pytest.fixture(autouse=True)
def mirrored(world: World) -> Table:
    """The table's schema, and its row in the database."""
    columns = [{"name": "id", "dataType": "INT"}, {"name": "name", "dataType": "STRING"}]
    schemas.create_schema(world.ctx, {"schemaName": "t", "dimensionFieldSpecs": columns}, override=False, actor=ANN)
    return make_table(TABLE.typed)


@pytest.fixture
def adele() -> Client:
    return logged_in("adele", "operate", "administer")


def fields_of(text: str) -> dict[str, str]:
    """What a browser would send of the page's form, without a button."""
    begin = text.index(f'<form method="post" action="{EDIT}"')
    return all_fields(text[begin:].replace(EDIT, "/console/new-table/columns/", 1))


def stored(world: World) -> Documents:
    return read_documents(world.ctx, TABLE)


def post(client: Client, fields: dict[str, str], **more: str) -> Any:
    return client.post(EDIT, {**fields, **more})


def test_a_change_is_previewed_saved_with_a_reason_and_undone(adele: Client, world: World) -> None:
    fields = fields_of(adele.get(EDIT).content.decode())
    previewed = post(adele, fields, quota="5G", action="preview").content.decode()
    for words in ("What changes", "quota", "5G", "Quota: it holds at once.", "Save"):
        assert words in previewed
    assert "quota" not in stored(world).config
    call = unescape(re.findall(r'<pre class="wrap" id="curl-text"[^>]*>(.*?)</pre>', previewed, re.DOTALL)[0])
    assert "curl -X PUT" in call
    body = json.loads(shlex.split(call)[-2])
    assert (body["config"]["quota"], "version" in body) == ({"storage": "5G"}, True)
    assert post(adele, fields_of(previewed), action="save").status_code == 422
    answer = post(adele, fields_of(previewed), action="save", reason="costs")
    assert (answer.status_code, answer["Location"]) == (302, HISTORY)
    assert stored(world).config["quota"] == {"storage": "5G"}
    text = adele.get(HISTORY).content.decode()
    assert "By adele: “costs”" in text
    tables.update_table(world.ctx, TABLE.raw, {**stored(world).config, "quota": {"storage": "6G"}}, actor=ANN)
    first = ConfigVersion.objects.get(reason="costs")
    back = adele.get(EDIT, {"version": first.pk}).content.decode()
    assert "What changes" in back
    assert "Back to version" in back
    assert post(adele, fields_of(back), action="save").status_code == 302
    assert stored(world).config["quota"] == {"storage": "5G"}


def test_form_and_json_stay_in_step(adele: Client, world: World) -> None:
    fields = fields_of(adele.get(EDIT).content.decode())
    fields = fields_of(post(adele, fields, quota="5G").content.decode())
    config = json.loads(fields["config"])
    assert config["quota"] == {"storage": "5G"}
    config["quota"] = {"storage": "7G"}
    fields = fields_of(post(adele, {**fields, "config": json.dumps(config)}).content.decode())
    assert fields["quota"] == "7G"


def test_what_becomes_of_values_that_do_not_fit_is_chosen_in_words_and_written_as_a_flag(
    adele: Client, world: World
) -> None:
    for choice, written in (("true", True), ("false", False), ("", None)):
        fields = fields_of(adele.get(EDIT).content.decode())
        previewed = fields_of(post(adele, fields, misfits=choice, action="preview").content.decode())
        assert post(adele, previewed, action="save", reason="odd sources").status_code == 302
        assert (stored(world).config.get("ingestionConfig") or {}).get("continueOnError") is written
        assert fields_of(adele.get(EDIT).content.decode())["misfits"] == choice


def test_a_column_is_added_in_the_grid(adele: Client, world: World) -> None:
    fields = fields_of(post(adele, fields_of(adele.get(EDIT).content.decode()), new_name="city").content.decode())
    at = next(key[:-4] for key, value in fields.items() if key.endswith("_was") and value == "city")
    changed = {f"{at}_type": "INT", f"{at}_null": "7", f"{at}_description": "where"}
    previewed = post(adele, {**fields, **changed}, action="preview").content.decode()
    assert "columns.city" in previewed
    post(adele, fields_of(previewed), action="save", reason="wanted")
    assert {"name": "city", "dataType": "INT", "defaultNullValue": "7", "description": "where"} in stored(world).schema[
        "dimensionFieldSpecs"
    ]


def test_what_is_wrong_stands_next_to_its_field_and_cannot_be_saved(adele: Client, world: World) -> None:
    before = stored(world)
    fields = fields_of(adele.get(EDIT).content.decode())
    schema = json.loads(fields["schema"])
    name = schema["dimensionFieldSpecs"][0]["name"]
    schema["dimensionFieldSpecs"][0]["dataType"] = "BYTES"
    text = unescape(post(adele, {**fields, "schema": json.dumps(schema)}, action="preview").content.decode())
    assert f"Column '{name}' of schema" in text
    assert "Add a new column instead." in text
    assert 'value="save"' not in text
    assert post(adele, fields, replicas="0", action="preview").status_code == 422
    refused = post(adele, fields, timeout="-1", action="preview").content.decode()
    assert 'aria-invalid="true"' in re.findall(r'<input[^>]*name="timeout"[^>]*>', refused)[0]
    config = json.dumps({**json.loads(fields["config"]), "query": {"timeoutMs": -1}})
    refused = unescape(post(adele, {**fields, "config": config}, action="preview").content.decode())
    assert "'query.timeoutMs' is '-1', which is not a limit." in refused
    assert 'aria-invalid="true"' in re.findall(r'<input[^>]*name="timeout"[^>]*>', refused)[0]
    assert "Choose a unit" in post(adele, fields, retention="90", action="preview").content.decode()
    assert "The text is not JSON" in post(adele, {**fields, "config": "{"}, action="preview").content.decode()
    assert stored(world) == before


@pytest.mark.parametrize(
    ("document", "change"),
    [
        ("config", {"segmentsConfig": "x"}),
        ("config", {"tableIndexConfig": ["x"]}),
        ("config", {"task": {"taskTypeConfigsMap": {"A": 5}}}),
        ("schema", {"primaryKeyColumns": 5}),
        ("schema", {"dimensionFieldSpecs": {"a": 1}}),
    ],
)
def test_json_of_other_types_is_refused_next_to_its_text(
    adele: Client, world: World, document: str, change: dict[str, Any]
) -> None:
    before = stored(world)
    fields = fields_of(adele.get(EDIT).content.decode())
    edited = json.dumps({**json.loads(fields[document]), **change})
    answer = post(adele, {**fields, document: edited}, action="preview")
    assert answer.status_code == 422
    assert f'id="{document}_wrong"' in answer.content.decode()
    assert stored(world) == before


def test_of_two_people_the_second_reads_whose_change_was_faster(adele: Client, world: World) -> None:
    fields = fields_of(adele.get(EDIT).content.decode())
    previewed = fields_of(post(adele, fields, quota="5G", action="preview").content.decode())
    tables.update_table(world.ctx, TABLE.raw, {**stored(world).config, "quota": {"storage": "6G"}}, actor=ANN)
    answer = post(adele, previewed, action="save", reason="costs")
    assert answer.status_code == 409
    assert f"changed by {ANN.name} since you read them" in answer.content.decode()
    assert stored(world).config["quota"] == {"storage": "6G"}


def test_what_changed_after_the_preview_is_previewed_first(adele: Client, world: World) -> None:
    fields = fields_of(adele.get(EDIT).content.decode())
    previewed = fields_of(post(adele, fields, quota="5G", action="preview").content.decode())
    answer = post(adele, {**previewed, "quota": "9G"}, action="save", reason="costs")
    assert answer.status_code == 409
    assert "changed something since the preview" in answer.content.decode()
    assert "quota" not in stored(world).config


def test_who_may_not_administer_sees_the_history_and_no_form(operator: Client, world: World) -> None:
    assert operator.get(EDIT).status_code == 403
    assert operator.post(EDIT, {}).status_code == 403
    assert operator.get(HISTORY).status_code == 200
    assert "segments.administer" in operator.get(f"/console/tables/{TABLE.typed}/config/").content.decode()


def test_a_right_for_one_half_does_not_change_the_schema_of_both(world: World) -> None:
    rita = logged_in("rita")
    Grant.objects.create(user=User.objects.get(username="rita"), tables=TABLE.typed, right="administer")
    fields = fields_of(rita.get(EDIT).content.decode())
    text = post(rita, fields, new_name="city", action="preview").content.decode()
    assert "belongs to both tables" in unescape(text)
    assert not re.search(r'value="save"', text)


@pytest.mark.parametrize("version", ["0", "99999999", "x", "-1", "9" * 40])
def test_an_odd_version_is_not_found(adele: Client, version: str) -> None:
    assert adele.get(EDIT, {"version": version}).status_code == 404

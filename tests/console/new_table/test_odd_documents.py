"""What the documents of a new table can say besides what the grid shows, and refusals next to their texts."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import InvalidInput
from segments.services.tables import schemas
from segments.services.tables.design import creation
from segments.services.tables.schemas import read_schema
from segments.services.tables.tables import list_tables
from segments.store import paths
from tests.console.new_table.test_from_file import CHOOSE, COLUMNS, fields_of, sent
from tests.services.world import ANN, World

pytestmark = pytest.mark.django_db


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


@pytest.mark.parametrize("content", [b"%PDF-1.4\n", bytes(range(1, 256)) * 9])
def test_a_binary_file_is_refused_once_and_by_the_name_that_it_was_sent_with(adele: Client, content: bytes) -> None:
    file = SimpleUploadedFile("orders.csv", content)
    text = unescape(adele.post(CHOOSE, {"file": file, "name": ""}).content.decode())
    assert "Input file 'orders.csv' is not a CSV, JSON, Parquet, ORC or Avro file." in text
    assert "one of the two" not in text


def test_dates_of_two_meanings_are_reported(adele: Client) -> None:
    assert "Every value fits dd/MM/yyyy, too" in sent(adele, b"id,day\n1,01/02/2024\n2,03/04/2024\n")
    assert "too: check which one" not in sent(adele, b"id,day\n1,01/02/2024\n2,03/14/2024\n")

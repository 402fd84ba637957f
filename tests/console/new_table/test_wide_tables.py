"""Tables of many columns: the grid has pages, and what is set on one stays while another is shown."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from segments.models import Push
from segments.names import TableName
from segments.services.tables.schemas import read_schema
from segments.services.tables.table_record import read_table_config
from tests.console.new_table.test_from_file import COLUMNS, fields_of, sent
from tests.services.world import World

pytestmark = pytest.mark.django_db
#: Bytes of a page.
LIGHT = 200_000


def wide(count: int) -> bytes:
    """A file of so many columns, the last a day."""
    names = [f"measured_value_{n:03d}" for n in range(count - 1)]
    rows = [[*(f"{n * 17 + at}.5" for at in range(count - 1)), f"2024-03-{1 + n % 28:02d}"] for n in range(60)]
    return "\n".join(map(",".join, [[*names, "day"], *rows])).encode()


def go(client: Client, fields: dict[str, str], **changed: str) -> dict[str, str]:
    """The form after another page of columns was asked for."""
    return fields_of(client.post(COLUMNS, {**fields, **changed}).content.decode())


def test_a_table_of_a_hundred_columns_is_a_light_page(adele: Client, world: World) -> None:
    text = sent(adele, wide(100))
    assert len(text.encode()) < LIGHT
    fields = fields_of(text)
    assert ("c49_type" in fields, "c50_type" in fields) == (True, False)
    for n in range(50):
        del fields[f"c{n}_keep"]
    text = adele.post(COLUMNS, {**fields, "go": "50"}).content.decode()
    assert len(text.encode()) < LIGHT, "also where all columns of the other page are left out"
    assert "c99_type" in fields_of(text)


def test_what_was_set_on_one_page_of_columns_is_created_from_another(adele: Client, world: World) -> None:
    fields = fields_of(sent(adele, wide(120)))
    del fields["c7_keep"]
    dimensions = {f"c{n}_kind": "DIMENSION" for n in (5, 6)}
    set_here = {"c3_name": "renamed", "c5_type": "STRING", "c6_key": "on", "c7_type": "LONG", "c8_null": "-1"}
    fields = go(adele, fields | dimensions | set_here, go="100")
    assert ("c3_name" in fields, "c119_format" in fields, fields["time"]) == (False, True, "119")
    fields = go(adele, fields, c110_name="another", c111_index="range", go="0")
    assert (fields["c3_name"], fields["c5_type"], fields["c6_key"], fields["c7_type"], fields["c8_null"]) == (
        "renamed", "STRING", "on", "LONG", "-1",
    )  # fmt: skip
    assert "c7_keep" not in fields
    fields = go(adele, fields, go="50")
    assert adele.post(COLUMNS, {**fields, "action": "create"}).status_code == 302
    made = read_schema(world.ctx, "my_flights")
    config = read_table_config(world.ctx, TableName("my_flights", "OFFLINE"))
    assert (len(made.by_name), made.by_name["measured_value_005"].data_type) == (119, "STRING")
    assert {"renamed", "another", "day"} <= made.by_name.keys()
    assert "measured_value_007" not in made.by_name
    assert made.body["primaryKeyColumns"] == ["measured_value_006"]
    assert config.time_column == "day"
    assert config.body["tableIndexConfig"]["rangeIndexColumns"] == ["measured_value_111"]
    header = Push.objects.get().plan["reader"]["header"]
    assert (header[3], header[110], header[119]) == ("renamed", "another", "day")


def test_a_wrong_column_of_another_page_is_shown_with_what_is_wrong(adele: Client, world: World) -> None:
    fields = go(adele, fields_of(sent(adele, wide(120))), c2_name="twice", go="50")
    answer = adele.post(COLUMNS, {**fields, "c60_name": "twice", "go": "100"})
    assert "Column &#x27;twice&#x27; is there twice" in answer.content.decode()
    assert "c2_type" in fields_of(answer.content.decode())


def test_json_and_grid_stay_in_step_across_pages(adele: Client, world: World) -> None:
    fields = fields_of(sent(adele, wide(120)))
    schema = json.loads(fields["schema"])
    columns = [c for listed in schema.values() if isinstance(listed, list) for c in listed if isinstance(c, dict)]
    next(c for c in columns if c["name"] == "measured_value_090")["dataType"] = "STRING"
    fields = go(adele, fields, schema=json.dumps(schema))
    fields = go(adele, fields, c5_type="FLOAT", go="50")
    assert fields["c90_type"] == "STRING"
    assert go(adele, fields, go="0")["c5_type"] == "FLOAT"


@pytest.mark.parametrize("odd", ["-1", "x", "9" * 30, "120", "\u0663"])
def test_an_odd_page_of_columns_is_the_first(adele: Client, world: World, odd: str) -> None:
    assert "c0_type" in go(adele, fields_of(sent(adele, wide(60))), go=odd)

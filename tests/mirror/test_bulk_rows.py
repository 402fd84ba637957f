"""Many rows by few statements: what is written, on both databases and where a role may make no temporary table."""

from __future__ import annotations

import pytest
from django.db import connection

from segments.mirror import bulk_rows
from segments.mirror.segment_rows import COLUMNS, SegmentRow
from segments.models import Segment, Table
from tests.factories import make_table

pytestmark = pytest.mark.django_db


def write(table: Table, *rows: tuple[str, SegmentRow]) -> None:
    bulk_rows.write_rows(Segment, ("table_id", "name"), COLUMNS, [(table.pk, name, *row) for name, row in rows])


def read(table: Table) -> dict[str, SegmentRow]:
    found = Segment.objects.filter(table=table).values_list("name", *COLUMNS)
    return {name: SegmentRow(*values) for name, *values in found}


@pytest.mark.parametrize("streamed_from", [1, 1000])
def test_rows_are_inserted_and_updated_as_they_are(monkeypatch: pytest.MonkeyPatch, streamed_from: int) -> None:
    monkeypatch.setattr(bulk_rows, "_STREAMED_FROM", streamed_from)
    table = make_table("written_OFFLINE")
    first = SegmentRow(crc=2**40, download_url="a\tb\\N\n'é", replicas={"Server_h_1": "ONLINE"}, is_consuming=True)
    write(table, ("a", first), ("b", SegmentRow()))
    write(table, ("b", first), ("c", SegmentRow(crc=1)))
    assert read(table) == {"a": first, "b": first, "c": SegmentRow(crc=1)}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has rights for temporary tables")
def test_a_role_without_temporary_tables_writes_by_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_rows, "_STREAMED_FROM", 1)
    table, name = make_table("written_OFFLINE"), connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE weak")
        cursor.execute(f'REVOKE TEMPORARY ON DATABASE "{name}" FROM PUBLIC')
        cursor.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO weak")
        cursor.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO weak")
        cursor.execute("SET LOCAL ROLE weak")
    write(table, ("a", SegmentRow(crc=1)))
    assert read(table) == {"a": SegmentRow(crc=1)}

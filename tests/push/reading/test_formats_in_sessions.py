"""A file ingestion session of every format, however it is compressed: queries find the values of the file."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
import zstandard

from segments.domain.ingestion.session import FileState
from segments.segmentfile import SegmentReader, extract_tar
from tests.ingestion.ingesting import APPEND, IngestionWorld
from tests.services.world import TABLE

pytestmark = pytest.mark.django_db

ROWS: list[dict[str, Any]] = [
    {"city": "Zürich, CH", "n": 1, "day": 17000},
    {"city": 'of "quotes"', "n": -2147483647, "day": 17001},
    {"city": "\U0001f600", "n": 0, "day": 17000},
]
NESTED = {"complexTypeConfig": {"fieldsToUnnest": ["visits"], "prefixesToRename": {"visits.": "", "place.": ""}}}
AVRO = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "city", "type": "string"}, {"name": "n", "type": "int"}, {"name": "day", "type": "long"}],
}


def csv_text(delimiter: str = ",", quote: str = '"') -> str:
    rows = [[row["city"].replace(quote, quote * 2), row["n"], row["day"]] for row in ROWS]
    lines = [delimiter.join((f"{quote}{city}{quote}", str(n), str(day))) for city, n, day in rows]
    return "\n".join([delimiter.join(("city", "n", "day")), *lines]) + "\n"


def written(write: Callable[[Any], Any]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def nested() -> list[dict[str, Any]]:
    return [{"place": {"city": r["city"]}, "visits": [{"n": r["n"], "day": r["day"]}]} for r in ROWS]


_AVRO = written(lambda out: fastavro.writer(out, fastavro.parse_schema(AVRO), ROWS, codec="deflate"))
_TABLE = pa.Table.from_pylist(ROWS)
_NESTED_TABLE = pa.Table.from_pylist(nested())
FILES: dict[str, tuple[str, bytes, dict[str, str]]] = {
    "csv": ("csv", csv_text().encode(), {}),
    "csv, semicolons": ("csv", csv_text(";").encode(), {"recordReader.prop.delimiter": ";"}),
    "csv, apostrophes": ("csv", csv_text("\t", "'").encode(),
                         {"recordReader.prop.delimiter": "\\t", "recordReader.prop.quoteCharacter": "'"}),
    "csv, no header": ("csv", csv_text().partition("\n")[2].encode(), {"recordReader.prop.header": "city,n,day"}),
    "csv, utf-16": ("csv", csv_text().encode("utf-16"), {}),
    "csv, spaces": ("csv", csv_text(", ").encode(), {}),
    "json": ("json", "\n".join(map(json.dumps, ROWS)).encode(), {}),
    "json array": ("json", json.dumps(ROWS, indent=1).encode(), {}),
    "parquet": ("parquet", written(lambda out: pq.write_table(_TABLE, out, row_group_size=2)), {}),
    "orc": ("orc", written(lambda out: orc.write_table(_TABLE, out)), {}),
    "avro": ("avro", _AVRO, {}),
    "gzipped avro": ("gzipped_avro", gzip.compress(_AVRO), {}),
    "json, nested": ("json", json.dumps(nested()).encode(), {}),
    "parquet, nested": ("parquet", written(lambda out: pq.write_table(_NESTED_TABLE, out)), {}),
}  # fmt: skip
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress, "bz2": bz2.compress,
}  # fmt: skip
CASES = [(kind, "") for kind in FILES] + [(kind, pack) for kind in ("csv", "json", "json array") for pack in PACK]


def stored_rows(world: IngestionWorld) -> list[dict[str, Any]]:
    """What the visible segments hold."""
    found: list[dict[str, Any]] = []
    for name in world.visible:
        tar, folder = world.folder.parent / f"{name}.tar.gz", world.folder.parent / "unpacked"
        world.ctx.deep_store.fetch(world.ctx.deep_store.segment_path(TABLE.raw, name), tar)
        with SegmentReader(extract_tar(tar, folder)) as reader:
            found += reader.table(["city", "n", "day"]).to_pylist()
    return found


@pytest.mark.parametrize(("kind", "pack"), CASES, ids=[" ".join(filter(None, case)) for case in CASES])
def test_a_session_shows_the_values_of_its_file_and_a_damaged_one_fails_alone(
    tmp_path: Path, kind: str, pack: str
) -> None:
    data_format, data, keys = FILES[kind]
    world = IngestionWorld(tmp_path, {**APPEND, "inputFormat": data_format, **keys})
    world.configure_table(ingestionConfig=NESTED if "nested" in kind else {})
    (world.folder / "a").write_bytes(PACK[pack](data) if pack else data)
    (world.folder / "damaged").write_bytes(b"\x00 damaged")
    world.go()
    assert world.states == {"a": FileState.BUILT, "damaged": FileState.FAILED}
    assert stored_rows(world) == []
    (world.folder / "damaged").unlink()
    world.go()
    assert sorted(map(str, stored_rows(world))) == sorted(map(str, ROWS))

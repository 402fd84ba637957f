"""Segments built here load into a real Apache Pinot and answer the same; segments that it builds read here, byte for
byte alike.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.segmentfile import SegmentReader, build_segment, convert_layout, extract_tar, verify, write_tar
from segments.segmentfile.format.decode import roaring_rows
from tests.real_pinot.cluster import RealPinot

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(400)]

CREATED = 1_700_000_000_000
ROWS = 3_000
SINGLE = {
    "i": "INT",
    "l": "LONG",
    "f": "FLOAT",
    "d": "DOUBLE",
    "bo": "BOOLEAN",
    "ts": "TIMESTAMP",
    "s": "STRING",
    "by": "BYTES",
    "js": "JSON",
    "bd": "BIG_DECIMAL",
}
MANY = {"im": "INT", "lm": "LONG", "fm": "FLOAT", "dm": "DOUBLE", "sm": "STRING"}
#: Codecs of 0.11.0 for the raw twin of each column; BIG_DECIMAL and numbers take the default.
CODECS = {
    "ri": "LZ4",
    "rl": "SNAPPY",
    "rf": "ZSTANDARD",
    "rd": "PASS_THROUGH",
    "rs": "ZSTANDARD",
    "rby": "SNAPPY",
    "rjs": "LZ4",
}


def _many(table: str) -> list[str]:
    """Multi-value columns; raw ones only where Pinot builds: 0.11.0 does not read them in the version that Pinot writes
    since.
    """
    return [p + n for n in MANY for p in (("", "r") if table == "theirs" else ("",))]


def schema_body(table: str) -> dict[str, Any]:
    dims = [{"name": p + n, "dataType": k} for n, k in SINGLE.items() for p in ("", "r") if k != "BIG_DECIMAL"]
    dims += [{"name": n, "dataType": MANY[n.removeprefix("r")], "singleValueField": False} for n in _many(table)]
    return {
        "schemaName": table,
        "dimensionFieldSpecs": [*dims, {"name": "up", "dataType": "INT"}, {"name": "inv", "dataType": "STRING"}],
        "metricFieldSpecs": [
            {"name": "m", "dataType": "DOUBLE"},
            {"name": "rm", "dataType": "LONG"},
            # 0.11.0 knows them as metrics only
            {"name": "bd", "dataType": "BIG_DECIMAL"},
            {"name": "rbd", "dataType": "BIG_DECIMAL"},
        ],
        "dateTimeFieldSpecs": [{"name": "day", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}],
    }


def config_body(table: str) -> dict[str, Any]:
    raw = ["r" + n for n in SINGLE] + [n for n in _many(table) if n.startswith("r")] + ["rm"]
    fields = [{"name": n, "encodingType": "RAW", "compressionCodec": c} for n, c in CODECS.items()]
    return {
        "tableName": table,
        "tableType": "OFFLINE",
        "tenants": {},
        "metadata": {},
        "segmentsConfig": {"timeColumnName": "day", "replication": "1", "schemaName": table},
        "tableIndexConfig": {
            "loadMode": "MMAP",
            "noDictionaryColumns": raw,
            "invertedIndexColumns": ["inv"],
            "nullHandlingEnabled": True,
        },
        "fieldConfigList": fields,
    }


def rows(seed: int, count: int = ROWS) -> dict[str, list[Any]]:
    """Values of every type; some are null, none rounds in a sum."""
    source = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if source.random() < 0.05 else value

    single = {
        "i": lambda: source.randrange(-500, 500),
        "l": lambda: source.randrange(-(2**40), 2**40),
        "f": lambda: source.randrange(64) / 4,
        "d": lambda: source.randrange(4096) / 8,
        "bo": lambda: source.random() < 0.5,
        "ts": lambda: CREATED + source.randrange(10**6),
        "s": lambda: source.choice(["", " lead", "a,b", "é", "漢字", "😀", "z"]) + str(source.randrange(40)),
        "by": lambda: source.randbytes(source.randrange(1, 5)).hex(),
        "js": lambda: json.dumps({"k": source.randrange(9)}),
        "bd": lambda: str(source.randrange(10**20)) + ".25",
    }
    out: dict[str, list[Any]] = {
        p + n: [maybe(make()) for _ in range(count)] for n, make in single.items() for p in ("", "r")
    }
    for name, kind in MANY.items():
        make = single[{"INT": "i", "LONG": "l", "FLOAT": "f", "DOUBLE": "d", "STRING": "s"}[kind]]
        for p in ("", "r"):
            out[p + name] = [maybe([make() for _ in range(source.randrange(1, 5))]) for _ in range(count)]
    out["up"] = sorted(source.randrange(90) for _ in range(count))
    out["inv"] = [f"key{source.randrange(12)}" for _ in range(count)]
    out["m"] = [maybe(source.randrange(1000) / 2) for _ in range(count)]
    out["rm"] = [source.randrange(10**6) for _ in range(count)]
    out["day"] = [19_600 + source.randrange(10) for _ in range(count)]
    return out


def create(pinot: RealPinot, table: str) -> tuple[Any, Any]:
    pinot.call("POST", "/schemas", schema_body(table))
    pinot.call("POST", "/tables", config_body(table))
    return parse_schema(schema_body(table)), parse_table_config(config_body(table))


def build(table: str, segment: str, seed: int, schema: Any, config: Any, folder: Path) -> SegmentReader:
    build_segment(pa.table(rows(seed)), schema, config, segment, folder, creation_time_ms=CREATED)
    return SegmentReader(folder / segment)


@pytest.fixture(scope="module")
def table(pinot: RealPinot, tmp_path_factory: pytest.TempPathFactory) -> tuple[RealPinot, list[SegmentReader], Path]:
    """Two segments built here, one of them pushed in the v1 layout, loaded by the real server."""
    folder = tmp_path_factory.mktemp("segments")
    schema, config = create(pinot, "ours")
    readers = [build("ours", f"ours_{i}", i, schema, config, folder) for i in range(2)]
    convert_layout(folder / "ours_1", folder / "v1", layout="v1")
    write_tar(folder / "ours_0", folder / "ours_0.tar.gz")
    write_tar(folder / "v1" / "ours_1", folder / "ours_1.tar.gz")
    for i in range(2):
        pinot.upload("ours", folder / f"ours_{i}.tar.gz")
    pinot.wait_for_rows("ours", 2 * ROWS)
    return pinot, readers, folder


def _whole(readers: list[SegmentReader], name: str) -> pa.ChunkedArray:
    return pa.chunked_array([r.column(name) for r in readers])


@pytest.mark.parametrize("name", ["i", "l", "f", "d", "ri", "rl", "rf", "rd", "up", "m", "rm", "day", "ts", "rts"])
def test_numbers_give_the_same_aggregates(table: Any, name: str) -> None:
    pinot, readers, _ = table
    values = _whole(readers, name)
    sums = "" if name.endswith("ts") else f", SUM({name})"
    [row] = pinot.query(f"SELECT COUNT(*), DISTINCTCOUNT({name}), MIN({name}), MAX({name}){sums} FROM ours")
    assert row[:2] == [2 * ROWS, pc.count_distinct(values).as_py()]
    assert [float(v) for v in row[2:4]] == [float(pc.min(values).as_py()), float(pc.max(values).as_py())]
    if sums:
        assert float(row[4]) == pytest.approx(math.fsum(values.to_pylist()), rel=1e-12)


@pytest.mark.parametrize("name", ["s", "rs", "js", "rjs", "inv", "bo", "rbo", "by", "rby"])
def test_groups_have_the_same_keys_and_counts(table: Any, name: str) -> None:
    pinot, readers, _ = table
    found = {str(k): n for k, n in pinot.query(f"SELECT {name}, COUNT(*) FROM ours GROUP BY {name} LIMIT 100000")}
    wanted = {_shown(v["values"], name): v["counts"] for v in pc.value_counts(_whole(readers, name)).to_pylist()}
    assert found == wanted


def _shown(value: Any, name: str) -> str:
    if name.endswith("bo"):
        return str(bool(value))
    return value.hex() if isinstance(value, bytes) else str(value)


@pytest.mark.parametrize("name", ["im", "lm", "fm", "dm", "sm"])
def test_multi_values_give_the_same_aggregates(table: Any, name: str) -> None:
    pinot, readers, _ = table
    flat = pc.list_flatten(_whole(readers, name))
    [row] = pinot.query(f"SELECT COUNTMV({name}), DISTINCTCOUNTMV({name}) FROM ours")
    assert row == [len(flat), pc.count_distinct(flat).as_py()]
    if name[-2] != "s":
        [row] = pinot.query(f"SELECT MINMV({name}), MAXMV({name}) FROM ours")
        assert [float(v) for v in row] == [float(pc.min(flat).as_py()), float(pc.max(flat).as_py())]


def test_rows_come_back_one_by_one(table: Any) -> None:
    """Big decimals and texts by selection, in the order of the segment."""
    pinot, readers, _ = table
    names = ["bd", "rbd", "s", "rs", "l", "rl"]
    sql = f"SELECT {', '.join(names)} FROM ours WHERE $segmentName = 'ours_0' LIMIT {ROWS}"
    wanted = [[row[n] for n in names] for row in readers[0].table(names).to_pylist()]
    assert [[str(v) for v in row] for row in pinot.query(sql)] == [[str(v) for v in row] for row in wanted]


def test_filters_use_our_indexes_and_find_the_same_rows(table: Any) -> None:
    pinot, readers, _ = table
    keys, ups = _whole(readers, "inv"), _whole(readers, "up")
    for key in ("key0", "key11", "nothing"):
        assert pinot.query(f"SELECT COUNT(*) FROM ours WHERE inv = '{key}'") == [[pc.sum(pc.equal(keys, key)).as_py()]]
    assert pinot.query("SELECT COUNT(*) FROM ours WHERE up BETWEEN 10 AND 20") == [
        [pc.sum(pc.and_(pc.greater_equal(ups, 10), pc.less_equal(ups, 20))).as_py()]
    ]
    nulls = sum(int(mask.sum()) for r in readers if (mask := r.null_mask("s")) is not None)
    assert pinot.query("SELECT COUNT(*) FROM ours WHERE s IS NULL") == [[nulls]]


def test_what_was_pushed_comes_back_and_reads(table: Any, tmp_path: Path) -> None:
    pinot, readers, folder = table
    for i, reader in enumerate(readers):
        got = pinot.call("GET", f"/segments/ours/ours_{i}")
        assert got == (folder / f"ours_{i}.tar.gz").read_bytes()
        (tmp_path / "got.tar.gz").write_bytes(got)
        again = SegmentReader(extract_tar(tmp_path / "got.tar.gz", tmp_path / f"x{i}"))
        names = list(reader.info.columns)
        assert again.table(names).equals(reader.table(names))


def test_a_segment_that_pinot_builds_reads_here_and_has_our_bytes(pinot: RealPinot, tmp_path: Path) -> None:
    schema, config = create(pinot, "theirs")
    given = rows(7, 500)
    lines = [json.dumps({k: v[i] for k, v in given.items() if v[i] is not None}) for i in range(500)]
    batch = json.dumps({"inputFormat": "json"})
    boundary = b"--b\r\n"
    body = (
        boundary
        + b'Content-Disposition: form-data; name="file"; filename="rows.json"\r\n\r\n'
        + "\n".join(lines).encode()
    )
    path = f"/ingestFromFile?tableNameWithType=theirs_OFFLINE&batchConfigMapStr={quote(batch)}"
    pinot.call("POST", path, body + b"\r\n--b--\r\n", "multipart/form-data; boundary=b")
    pinot.wait_for_rows("theirs", 500)
    [listed] = pinot.call("GET", "/segments/theirs?type=OFFLINE")
    [name] = listed["OFFLINE"]
    (tmp_path / "theirs.tar.gz").write_bytes(pinot.call("GET", f"/segments/theirs/{name}"))
    made = extract_tar(tmp_path / "theirs.tar.gz", tmp_path / "x")
    assert verify(made) == []
    build_segment(pa.table(given), schema, config, name, tmp_path / "ours", creation_time_ms=CREATED)
    theirs, ours = SegmentReader(made), SegmentReader(tmp_path / "ours" / name)
    names = list(ours.info.columns)
    assert theirs.table(names).equals(ours.table(names))
    differing = [
        f"{c}.{kind}"
        for c in names
        for kind in ("dictionary", "forward_index", "inverted_index", "nullvalue_vector")
        if _bytes(theirs, c, kind) != _bytes(ours, c, kind)
    ]
    # 0.11.0 still writes raw columns in version 2 (ours is 4, today's default), and leaves the inverted index to the
    # server.
    assert sorted(differing) == sorted(
        [f"{n}.forward_index" for n in names if not ours.info.columns[n].has_dictionary] + ["inv.inverted_index"]
    )
    raw = [
        found for n in names if not ours.info.columns[n].has_dictionary and (found := theirs.index(n, "forward_index"))
    ]
    assert {int.from_bytes(found.data[:4].tobytes(), "big") for found in raw} == {2}


def _bytes(reader: SegmentReader, column: str, kind: str) -> object:
    found = reader.index(column, kind)
    if found is None:
        return None
    return list(roaring_rows(found.data)) if kind == "nullvalue_vector" else found.data.tobytes()

"""Builds a tiny segment of every common type and discards it: the first real part then finds all code loaded."""

from __future__ import annotations

import tempfile
from pathlib import Path

from segments.domain.push.push_plan import InputFile, Part, Piece
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.segments.segment_names import make_rule
from segments.spark.build_part import BuildJob, build_part

_TYPES = ("INT", "LONG", "FLOAT", "DOUBLE", "STRING", "TIMESTAMP")
_ROWS = 2000


def rehearse() -> None:
    """Read, convert, write, pack and stage, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
        path = Path(folder) / "rows.csv"
        lines = (f"{i},{i},{i}.5,{i}.25,x{i % 7},2013-01-01T{i % 24:02d}:00:00Z" for i in range(_ROWS))
        path.write_text("\n".join([",".join(_TYPES), *lines]) + "\n")
        stat = path.stat()
        part = Part(0, 0, (Piece(InputFile(str(path), stat.st_size, stat.st_mtime_ns)),))
        build_part(_job(folder), part.to_json())


def _job(folder: str) -> BuildJob:
    fields = [{"name": t, "dataType": t} for t in _TYPES if t != "TIMESTAMP"]
    time = {"name": "TIMESTAMP", "dataType": "TIMESTAMP", "format": "TIMESTAMP", "granularity": "1:HOURS"}
    rule = make_rule(None, "rehearsal_OFFLINE", {}, start_ms=None, is_append=True, frequency=None, has_time=True)
    return BuildJob(
        push_id="rehearsal",
        deep_store_url=f"file://{folder}/store",
        schema={"schemaName": "rehearsal", "dimensionFieldSpecs": fields, "dateTimeFieldSpecs": [time]},
        config={"tableName": "rehearsal", "tableType": "OFFLINE", "segmentsConfig": {"timeColumnName": "TIMESTAMP"}},
        reader=ReaderSpec("csv").to_json(),
        names=rule.to_json(),
        creation_ms=1_400_000_000_000,
    )

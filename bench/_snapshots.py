"""What the modes of ``bench.lineage`` share: built segments, clients in processes of their own, and the layout of a row
of figures.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.segmentfile import build_segment, write_tar
from tests.integration.running import DAY0, Client, config_of, schema_of

OLD, NEW, TABLE = ["a1", "a2", "a3"], ["b1", "b2"], "bench"
_EDGE = "edge-of-a-part"
#: Seconds after which a server may have closed an unused connection.
_IDLE_S = 3.0
SNAPSHOTS = ({"a1": 10, "a2": 10, "a3": 10}, {"b1": 10, "b2": 10})


def p99(times: Sequence[float]) -> float:
    """The value that 99 of 100 do not exceed."""
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.99))]


def row(name: str, times_s: Sequence[float], pinot: tuple[float, float] | None = None, aim: str = "") -> None:
    """Print median and 99th percentile in milliseconds, Pinot's beside them and how many times as fast ours is."""
    ms = [t * 1000 for t in times_s]
    median, worst = statistics.median(ms), p99(ms)
    beside = (
        f"   Pinot 1.5.1 {pinot[0]:5.0f} / {pinot[1]:5.0f}  ratio {pinot[0] / median:4.1f} / {pinot[1] / worst:4.1f}"
        if pinot
        else ""
    )
    print(f"  {name:<34} {median:7.1f} / {worst:7.1f} ms{beside}{f'   aim {aim}' if aim else ''}", flush=True)


class PlainClient(Client):
    """The calls that are timed, over one open ``http.client`` connection: ``requests`` would add 2 ms of its own to
    each.
    """

    def __init__(self, endpoints: dict[str, Any]) -> None:
        super().__init__(endpoints)
        where = urlsplit(self.base)
        self._link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=120)
        self._headers = {"Authorization": endpoints["authorization"]}
        self._used = 0.0

    def ask(self, path: str, body: object) -> Any:
        """POST of JSON; what it answers, which must be 200."""
        return self.post(path, json.dumps(body).encode(), "application/json")

    def put(self, table: str, segment: str, tar: bytes) -> None:
        """TAR push."""
        head = f'--{_EDGE}\r\nContent-Disposition: form-data; name="{segment}"; filename="{segment}.tar.gz"\r\n\r\n'
        body = head.encode() + tar + f"\r\n--{_EDGE}--\r\n".encode()
        self.post(f"/v2/segments?tableName={table}&tableType=OFFLINE", body, f"multipart/form-data; boundary={_EDGE}")

    def post(self, path: str, body: bytes, kind: str) -> Any:
        """POST; the JSON that it answers, if any."""
        if time.monotonic() - self._used > _IDLE_S:
            self._link.close()
        self._link.request("POST", path, body, {**self._headers, "Content-Type": kind})
        response = self._link.getresponse()
        self._used = time.monotonic()
        said = response.read()
        assert response.status == http.client.OK, (path, response.status, said[:600])
        return json.loads(said) if said else None

    def start(self, table: str, old: list[str], new: list[str], *, force: bool = False) -> str:
        """Entry id of a started replacement."""
        path = f"/segments/{table}/startReplaceSegments?type=OFFLINE&forceCleanup={str(force).lower()}"
        return str(self.ask(path, {"segmentsFrom": old, "segmentsTo": new})["segmentLineageEntryId"])

    def end(self, table: str, entry: str) -> None:
        """End a replacement."""
        self.ask(f"/segments/{table}/endReplaceSegments?type=OFFLINE&segmentLineageEntryId={entry}", {})

    def revert(self, table: str, entry: str, *, force: bool = False) -> None:
        """Revert a replacement."""
        query = f"type=OFFLINE&segmentLineageEntryId={entry}&forceRevert={str(force).lower()}"
        self.ask(f"/segments/{table}/revertReplaceSegments?{query}", {})

    def sql(self, sql: str) -> list[list[Any]]:
        """Rows; an exception in the answer fails."""
        body = self.ask("/query/sql", {"sql": sql})
        assert not body.get("exceptions"), body["exceptions"]
        rows: list[list[Any]] = body["resultTable"]["rows"]
        return rows


class Tars:
    """Segments built once; ``put`` uploads one of them again and again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tars: dict[str, bytes] = {}

    def build(self, *segments: str, rows: int = 10) -> Tars:
        """Small segments whose column v holds the segment's name."""
        schema, config = parse_schema(schema_of(TABLE)), parse_table_config(config_of(TABLE))
        for segment in segments:
            data = pa.table({"v": [segment] * rows, "n": list(range(rows)), "day": [DAY0 + i % 5 for i in range(rows)]})
            build_segment(data, schema, config, segment, self._folder, creation_time_ms=int(time.time() * 1000))
            tar = self._folder / f"{segment}.tar.gz"
            write_tar(self._folder / segment, tar)
            self._tars[segment] = tar.read_bytes()
        return self

    def put(self, client: PlainClient, table: str, *segments: str) -> None:
        """TAR push."""
        for segment in segments:
            client.put(table, segment, self._tars[segment])


@contextmanager
def tars(*segments: str) -> Iterator[Tars]:
    """Built segments in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        yield Tars(Path(folder)).build(*segments)


class Readers:
    """Processes that query all the time; ``answers`` counts, ``wrong`` those that are neither snapshot."""

    def __init__(self, endpoints: dict[str, Any], count: int, table: str = TABLE) -> None:
        self._stop = multiprocessing.Event()
        self._counts = multiprocessing.Array("q", 2)
        self._processes = [
            multiprocessing.Process(target=_read, args=(endpoints, table, self._stop, self._counts))
            for _ in range(count)
        ]

    def __enter__(self) -> Readers:
        for process in self._processes:
            process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for process in self._processes:
            process.join()

    @property
    def answers(self) -> int:
        """So far."""
        return int(self._counts[0])

    @property
    def wrong(self) -> int:
        """So far."""
        return int(self._counts[1])


def _read(endpoints: dict[str, Any], table: str, stop: Event, counts: Any) -> None:
    client = PlainClient(endpoints)
    while not stop.is_set():
        wrong = client.counts(table) not in SNAPSHOTS
        with counts.get_lock():
            counts[0] += 1
            counts[1] += wrong


def in_processes(count: int, work: Callable[..., Any], *args: Any) -> list[Any]:
    """``work(i, *args)`` in ``count`` processes at once; what each returned. A failure in one fails here."""
    with multiprocessing.Pool(count) as pool:
        return pool.starmap(work, [(i, *args) for i in range(count)], chunksize=1)

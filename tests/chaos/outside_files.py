"""Pushes whose files are not in the deep store but on a web server of the one who pushes (METADATA pushes)."""

from __future__ import annotations

import functools
import time
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.segmentfile import build_segment
from segments.segmentfile.packed.tar import write_tar
from tests.api.cluster import small_files, tar_of
from tests.integration.running import Client, config_of, schema_of
from tests.waiting import poll
from tests.web_files import web_files


class OutsideFiles:
    """Builds segments of one table and serves their tars until it is closed."""

    def __init__(self, folder: Path, table: str) -> None:
        self.table, self._folder = table, folder
        self._serving = ExitStack()
        self._address = self._serving.enter_context(web_files(folder))

    def close(self) -> None:
        """No file is served any more."""
        self._serving.close()

    def replace(self, client: Client, old: list[str], segment: str) -> None:
        """Push one segment in the place of ``old`` and end it in the background; returns when queries see it."""
        entry = client.start(self.table, old, [segment])
        self._register(client, segment)
        query = {"type": "OFFLINE", "segmentLineageEntryId": entry, "async": "true"}
        job = client.call("POST", f"/segments/{self.table}/endReplaceSegments", 202, params=query).json()["id"]
        state = functools.partial(client.call, "GET", f"/api/v1/jobs/{job}")
        poll(lambda: state().json()["state"] == "DONE", 60, "the end in the background")
        assert client.counts(self.table) == {segment: 10}

    def _register(self, client: Client, segment: str) -> None:
        schema, config = parse_schema(schema_of(self.table)), parse_table_config(config_of(self.table))
        rows = pa.table({"v": [segment] * 10, "n": list(range(10)), "day": [19_000] * 10})
        build_segment(rows, schema, config, segment, self._folder, creation_time_ms=int(time.time() * 1000))
        tar = self._folder / f"{segment}.tar.gz"
        write_tar(self._folder / segment, tar)
        small = tar_of(self._folder / f"{segment}.small", {f"{segment}/{n}": b for n, b in small_files(tar).items()})
        address = f"{self._address}/{tar.name}"
        headers = {"UPLOAD_TYPE": "METADATA", "DOWNLOAD_URI": address}
        query = {"tableName": self.table, "tableType": "OFFLINE"}
        with small.open("rb") as body:
            client.call("POST", "/v2/segments", params=query, files={segment: (tar.name, body)}, headers=headers)

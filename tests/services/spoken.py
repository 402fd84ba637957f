"""Servers that exist only as names: a test says their completion messages to the services, as the conformance suite
does over HTTP.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from segments.clusters.embedded.realtime.completion.protocol import answer
from segments.domain.realtime.completion import Answer, Kind
from segments.domain.tables import schema as schemas
from segments.domain.tables.table_config import parse_table_config
from segments.segmentfile.format.info import SegmentInfo, read_info
from segments.segmentfile.writer import build_segment
from segments.services.core.context import Context
from segments.services.engine.commits import Received
from tests.services.realtime_world import SCHEMA, config_of

NAME = "t__0__0__20231114T2213Z"
START_MS = 1_600_000_000_000


def build(segment: str, folder: Path, docs: int = 10) -> Path:
    """A segment of this name in a folder of its own below ``folder``."""
    rows = pa.table({"id": [f"r{i}" for i in range(docs)], "ts": [START_MS + i for i in range(docs)]})
    config = parse_table_config(config_of())
    build_segment(rows, schemas.parse_schema(SCHEMA), config, segment, folder, creation_time_ms=START_MS)
    return folder / segment


@functools.cache
def _built(docs: int) -> SegmentInfo:
    with TemporaryDirectory() as folder:
        return read_info(build(NAME, Path(folder), docs))


def built(segment: str, docs: int = 10) -> SegmentInfo:
    """What a built segment of this name says of itself."""
    return replace(_built(docs), name=segment)


class Spoken:
    """Says messages for numbered servers; ``S(2)`` is the second of the world's servers."""

    def __init__(self, ctx: Context, segment: str, *, has_read_on: bool = False) -> None:
        self.ctx, self.segment, self.has_read_on = ctx, segment, has_read_on

    def say(self, kind: Kind, server: int, offset: int | str | None = None, **more: object) -> Answer:
        text = None if offset is None else str(offset)
        said = Received(kind, instance(server), self.segment, text, has_read_on=self.has_read_on, **more)  # type: ignore[arg-type]
        return answer(self.ctx, said)

    def consumed(self, server: int, offset: int | str, reason: str | None = None) -> tuple[str, str | None]:
        found = self.say(Kind.CONSUMED, server, offset, reason=reason)
        return found.status.value, found.offset

    def start(self, server: int, offset: int | str) -> str:
        return self.say(Kind.COMMIT_START, server, offset).status.value

    def end(
        self, server: int, offset: int | str, *, location: str | None = None, docs: int = 10, **more: object
    ) -> str:
        """A commit end; the peer indicator unless specified otherwise."""
        more.setdefault("info", built(self.segment, docs))
        place = f"peer:///{self.segment}" if location is None else location
        return self.say(
            Kind.COMMIT_END, server, offset, location=place, size_bytes=1000, rows=docs, **more
        ).status.value

    def uploading(self, server: int = 1, offset: int | str = 40) -> Spoken:
        """This server is the committer and about to end its commit."""
        assert self.consumed(server, offset, "rowLimit")[0] == "COMMIT"
        assert self.start(server, offset) == "COMMIT_CONTINUE"
        return self

    def committed(self, server: int = 1, offset: int | str = 40, **more: object) -> Spoken:
        """A whole commit."""
        assert self.uploading(server, offset).end(server, offset, **more) == "COMMIT_SUCCESS"  # type: ignore[arg-type]
        return self


def instance(server: int) -> str:
    return f"Server_s_{8097 + server}"

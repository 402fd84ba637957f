"""Operations about segments.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any

from pinotadmin_client.generated import models
from pinotadmin_client.transport import Transport


class Segments:
    """Operations about segments."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def names(
        self,
        table: str,
        *,
        end_timestamp: int | None = None,
        exclude_overlapping: bool | None = None,
        exclude_replaced_segments: bool | None = None,
        start_timestamp: int | None = None,
        type_: str | None = None,
    ) -> list[Any]:
        """List the segments of a table.

        One object per type that exists: [{"OFFLINE": [names]}].
        """
        return self._transport.send(
            "GET",
            "/segments/{table}",
            list[Any],
            names={"table": table},
            query={
                "endTimestamp": end_timestamp,
                "excludeOverlapping": exclude_overlapping,
                "excludeReplacedSegments": exclude_replaced_segments,
                "startTimestamp": start_timestamp,
                "type": type_,
            },
        )

    def record(self, table: str, segment: str) -> dict[str, Any]:
        """Read the record of a segment.

        Its fields as ZooKeeper holds them.
        """
        return self._transport.send(
            "GET", "/segments/{table}/{segment}/metadata", dict[str, Any], names={"table": table, "segment": segment}
        )

    def delete(
        self,
        table: str,
        *,
        segments: list[str] | None = None,
        dry_run: bool | None = None,
        include_hidden: bool | None = None,
        switch: bool | None = None,
        overwrite: bool | None = None,
        files: list[str] | None = None,
        force: bool | None = None,
        retention: str | None = None,
        type_: str | None = None,
        reason: str | None = None,
    ) -> models.SegmentsChanged:
        """Delete segments, with an answer for each.

        Body: {"segments": [names]}. What may be deleted is, in one step; what may not is reported one by one.
        """
        return self._transport.send(
            "POST",
            "/api/v1/segments/{table}/delete",
            models.SegmentsChanged,
            names={"table": table},
            query={"force": force, "retention": retention, "type": type_},
            body={
                "segments": segments,
                "dryRun": dry_run,
                "includeHidden": include_hidden,
                "switch": switch,
                "overwrite": overwrite,
                "files": files,
            },
            reason=reason,
        )

    def deleted(
        self,
        table: str,
        *,
        limit: int | None = None,
        offset: int | None = None,
        prefix: str | None = None,
        type_: str | None = None,
    ) -> models.KeptSegments:
        """List the deleted segments that can be restored.

        Latest deletion first: name, bytes, when and by whom deleted, until when it is kept, whether it can be
        restored.
        """
        return self._transport.send(
            "GET",
            "/api/v1/segments/{table}/deleted",
            models.KeptSegments,
            names={"table": table},
            query={"limit": limit, "offset": offset, "prefix": prefix, "type": type_},
        )

    def restore(
        self,
        table: str,
        *,
        segments: list[str] | None = None,
        dry_run: bool | None = None,
        retention: str | None = None,
        files: list[str] | None = None,
        force: bool | None = None,
        include_hidden: bool | None = None,
        overwrite: bool | None = None,
        switch: bool | None = None,
        type_: str | None = None,
        reason: str | None = None,
    ) -> models.SegmentsChanged:
        """Restore deleted segments.

        Body: {"segments": [names]}. Record, file and row come back; each name is answered with what became of it, and
        why.

        "files": kept files as listed, where another than the newest version is wanted. A name that exists again is
        refused, unless "overwrite" says that the kept version takes its place; the present one is then kept in turn.
        What a replacement removed does not come back next to what stands for it now: with "switch" that is hidden in
        the same step. "force" passes over newer other data.
        """
        return self._transport.send(
            "POST",
            "/api/v1/segments/{table}/restore",
            models.SegmentsChanged,
            names={"table": table},
            query={
                "force": force,
                "includeHidden": include_hidden,
                "overwrite": overwrite,
                "switch": switch,
                "type": type_,
            },
            body={"segments": segments, "dryRun": dry_run, "retention": retention, "files": files},
            reason=reason,
        )

"""Uploads a committed segment from this server to the deep store, when the controller asks for it."""

from __future__ import annotations

from typing import Any

from segments.dataplane.server.consuming.commit.uploads import Build, Uploader
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.dataplane.server.held.segment_folders import SegmentFolders
from segments.dataplane.server.held.slots import Slots
from segments.domain.realtime.llc_name import parse_llc_name
from segments.domain.segments import segment_metadata
from segments.errors import InvalidInput, NotFound, Unavailable
from segments.gateways.controller_protocol import Report
from segments.names import OFFLINE, REALTIME, split_table_name
from segments.segmentfile import SegmentInfo
from segments.store import paths
from segments.store.base import Store


class SegmentUploads:
    """The three endpoints. The file lands under a temporary name; whoever asked moves it and changes the record.
    Blocks.
    """

    def __init__(self, store: Store, instance: str, slots: Slots, folders: SegmentFolders, uploader: Uploader) -> None:
        self._store, self._instance, self._slots, self._folders, self._uploader = (
            store,
            instance,
            slots,
            folders,
            uploader,
        )

    def location(self, table: str, segment: str, timeout_ms: int) -> str:
        """Upload; where it lies. ``table`` may be a raw name. NotFound when the segment is not held, Unavailable when
        it failed.
        """
        return self._upload(self._held(_realtime(table), segment), _realtime(table), timeout_ms)

    def short(self, table: str, segment: str, timeout_ms: int) -> dict[str, Any]:
        """uploadLLCSegment: name, checksums and address; also of an OFFLINE table, which Pinot's servers refuse."""
        typed = table if split_table_name(table)[1] == OFFLINE else _checked(table, segment)
        held = self._held(typed, segment)
        url = self._upload(held, typed, timeout_ms)
        data_crc = held.info.data_crc
        return {
            "segmentName": segment,
            "crc": held.crc,
            "dataCrc": data_crc if data_crc is not None else -1,
            "downloadUrl": url,
        }

    def record(self, table: str, segment: str, timeout_ms: int) -> dict[str, Any]:
        """uploadCommittedSegment: the record as it is to be, DONE and with the new address ("": there is no deep store,
        only servers have it); nothing is written.
        """
        typed = _checked(table, segment)
        held = self._held(typed, segment)
        node = self._store.get(paths.segment(typed, segment))
        if node is None or node.record is None:
            raise Unavailable(f"Segment '{segment}' of table '{table}' has no record.")
        url = self._upload(held, typed, timeout_ms) if self._uploader.has_store else ""
        meta = segment_metadata.from_record(node.record).edited(_facts(held.info, held.disk_bytes, url))
        body: dict[str, Any] = {"segmentName": segment, "simpleFields": dict(sorted(meta.fields.items()))}
        return body | ({"customMap": dict(meta.custom)} if meta.custom else {})

    def _held(self, typed: str, segment: str) -> HeldSegment:
        held = self._slots.serving(typed).get(segment)
        if held is None:
            raise NotFound(f"This server does not hold a committed segment '{segment}' of table '{typed}'.")
        return held

    def _upload(self, held: HeldSegment, typed: str, timeout_ms: int) -> str:
        report = Report(held.name, self._instance, "")
        with self._folders.workspace() as work:
            build = Build(split_table_name(typed)[0], held.name, held.crc)
            location = self._uploader.upload(
                build, held.folder, work, report, through_controller=False, wait_s=timeout_ms / 1000, is_optional=True
            )
        if location is None:
            raise Unavailable(
                f"Segment '{held.name}' could not be uploaded in time.",
                remedy="Check the deep store; an upload that is only slow goes on, and is there for the next request.",
            )
        return location


def _realtime(table: str) -> str:
    return table if split_table_name(table)[1] is not None else f"{table}_{REALTIME}"


def _checked(table: str, segment: str) -> str:
    """The typed name. InvalidInput unless it is that of a REALTIME table and the segment was consumed."""
    if split_table_name(table)[1] != REALTIME:
        raise InvalidInput(f"'{table}' is not a REALTIME table.", remedy="Give the name with its type: table_REALTIME.")
    parse_llc_name(segment)
    return table


def _facts(info: SegmentInfo, size_bytes: int, url: str) -> dict[str, str | int | None]:
    has_times = info.total_docs > 0 and info.start_time_ms is not None and info.end_time_ms is not None
    times = {
        "segment.start.time": info.start_time_ms,
        "segment.end.time": info.end_time_ms,
        "segment.time.unit": "MILLISECONDS",
    }
    end = info.realtime_end_offset
    return {
        "segment.realtime.status": segment_metadata.DONE,
        **({} if end is None else {"segment.realtime.endOffset": end}),
        "segment.crc": info.crc,
        "segment.total.docs": info.total_docs,
        "segment.index.version": info.index_version,
        "segment.size.in.bytes": size_bytes,
        "segment.download.url": url,
        **(times if has_times else {}),
    }

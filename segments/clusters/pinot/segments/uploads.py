"""Segments into a real Pinot: by tar, by address, by metadata; fenced by the lineage entry they belong to, and found
by their CRC when an answer is lost.

Pinot's upload paths know nothing of the lineage, so the fence is a read before and one after: what came in too late is
taken out again.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from segments.clusters.pinot.calls import Doubt, controller, quoted, read_object, refusals_translated, settled, version
from segments.clusters.pinot.replacement.lineage import lineage_now
from segments.clusters.pinot.segments import deletion as pinot_deletion
from segments.clusters.pinot.segments import kept_copies as pinot_kept
from segments.domain.pinot.capabilities import PinotVersion
from segments.domain.replacement.lineage import Lineage, State
from segments.domain.segments import admission
from segments.domain.tables.table_config import TableConfig
from segments.errors import NotFound, OutcomeUnknown, PreconditionFailed, StateConflict
from segments.gateways.outgoing.fetch import check_address
from segments.names import TableName
from segments.segmentfile import SegmentInfo
from segments.segmentfile.format.crc import CREATION_META
from segments.segmentfile.format.info import METADATA, parse_info
from segments.segmentfile.packed.tar import read_descriptions, read_info_from_tar
from segments.services.core.context import Context
from segments.services.engine.segments import Upload
from segments.services.replacement.entry_lease import renew_for_upload
from segments.services.replacement.lineage_record import read_lineage
from segments.services.segments.upload_files import fetch_rules, own_path
from segments.services.segments.upload_options import MetadataPart, UploadOptions, UploadResult, target_config
from segments.store import paths

#: From here on an upload over the record of a deleted segment starts over. Before, it is taken for a refresh: Pinot
#: answers 200, and the deletion, which comes to the record about two seconds after the row, then takes record and file
#: of the new one.
_STARTS_OVER: Final = PinotVersion(1, 2)
#: Seconds that an upload waits for such a deletion, and between two reads.
_DELETED_S: Final = 30.0
_AGAIN_S: Final = 0.25
#: Seconds for the controller to take a tar in: it unpacks it, checks it and copies it into its deep store.
_ANSWER_S: Final = 600.0
_CRC: Final = "segment.crc"
#: What Pinot says when it gave up reading an address.
_UNREAD: Final = re.compile(r"Operation failed after \d+ attempts")
_UPLOADED: Final = re.compile(r"uploaded segment: (\S+) of table")


@dataclass(frozen=True)
class Described:
    """One segment of a metadata push: its own two files, and where its tar is."""

    info: SegmentInfo
    metadata: bytes
    creation: bytes
    uri: str


def upload_tar(ctx: Context, upload: Upload, tar: Path) -> UploadResult:
    """Send a segment's tar (``POST /v2/segments``). The caller has unpacked it: Pinot answers 200 to one that no server
    can load.
    """
    info = read_info_from_tar(tar)

    def send() -> None:
        with tar.open("rb") as file:
            part = (f"{info.name}.tar.gz", file, "application/octet-stream")
            _post(ctx, upload, "SEGMENT", {}, files={info.name: part})

    return _fenced(ctx, upload, info, send)


def upload_uri(ctx: Context, upload: Upload, uri: str) -> UploadResult:
    """Have the controller fetch a tar. It is not known which segment comes, so it can be neither fenced nor found.
    PreconditionFailed when the controller cannot read the address.
    """
    check_foreign(ctx, upload.table, uri)
    if upload.lineage_entry is not None:
        raise StateConflict(
            "The segment of an upload by address is known only when it is there, so it cannot be bound to a lineage "
            "entry on a Pinot cluster.",
            remedy="Upload the tar, or its metadata with the address.",
        )
    try:
        with refusals_translated():
            found = _UPLOADED.search(str(_send_address(ctx, upload, uri)))
    except OutcomeUnknown as error:
        if not _UNREAD.search(str(error.data.get("pinotMessage"))):
            raise
        raise PreconditionFailed(
            f"Pinot's controller could not bring in what is at {uri}.",
            remedy="Check that it can read the address.",
            **error.data,
        ) from error
    return UploadResult(upload.table, (found.group(1) if found else uri.rpartition("/")[2].removesuffix(".tar.gz"),))


def upload_metadata(ctx: Context, upload: Upload, parts: Sequence[MetadataPart]) -> UploadResult:
    """A batch: the controller reads each tar where it is, which every version can, and leaves it there."""
    for _, uri, _ in parts:
        check_foreign(ctx, upload.table, uri)
    sent = [_fenced(ctx, upload, info, partial(_send_address, ctx, upload, uri)) for info, uri, _ in parts]
    return UploadResult(
        upload.table,
        tuple(name for one in sent for name in one.segments),
        tuple(name for one in sent for name in one.changed),
        tuple(warning for one in sent for warning in one.warnings),
    )


def upload_metadata_tar(ctx: Context, upload: Upload, tar: Path, uri: str) -> UploadResult:
    """Metadata push of one segment by the tar of its two files, which is packed again: old controllers want their
    folder first in it.
    """
    check_foreign(ctx, upload.table, uri)
    files = read_descriptions(tar)
    info = parse_info(files[METADATA], files.get(CREATION_META, b""))
    return upload_described(ctx, upload, Described(info, files[METADATA], files.get(CREATION_META, b""), uri))


def check_foreign(ctx: Context, table: TableName, uri: str) -> None:
    """May Pinot's controller and servers be sent to this address? What lies in file stores that only they know is
    theirs to refuse.
    """
    if urlsplit(uri).scheme.lower() in ("", "file", "http", "https") and own_path(ctx, table, uri) is None:
        check_address(uri, fetch_rules(ctx))


def upload_described(ctx: Context, upload: Upload, part: Described) -> UploadResult:
    """Metadata push of one segment that was built here."""
    headers = {"DOWNLOAD_URI": part.uri}
    if upload.options.copy:
        headers["COPY_SEGMENT_TO_DEEP_STORE"] = "true"

    def send() -> None:
        name = part.info.name
        _post(
            ctx,
            upload,
            "METADATA",
            headers,
            files={name: (f"{name}.tar.gz", metadata_tar(part), "application/octet-stream")},
        )

    return _fenced(ctx, upload, part.info, send)


def metadata_tar(part: Described) -> bytes:
    """The tar of a segment's two description files, with their folder first, as controllers want it."""
    out = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", compresslevel=1, fileobj=out, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        folder = tarfile.TarInfo(part.info.name)
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
        for name, data in ((METADATA, part.metadata), (CREATION_META, part.creation)):
            entry = tarfile.TarInfo(f"{part.info.name}/{name}")
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def crc_of(ctx: Context, table: TableName, segment: str) -> int | None:
    """The CRC that Pinot has on record now; None: it has no such segment."""
    try:
        text = str(read_object(ctx, f"/segments/{quoted(table.typed)}/{quoted(segment)}/metadata").get(_CRC, ""))
    except NotFound:
        return None
    return int(text) if text.lstrip("-").isdecimal() else None


def _send_address(ctx: Context, upload: Upload, uri: str) -> Any:
    path = "/v2/segments" if upload.options.copy else "/segments"
    return _post(ctx, upload, "URI", {"DOWNLOAD_URI": uri}, path=path, body={})


def _post(
    ctx: Context,
    upload: Upload,
    kind: str,
    headers: Mapping[str, str],
    *,
    path: str = "/v2/segments",
    files: Mapping[str, Any] | None = None,
    body: Any = None,
) -> Any:
    conditions = upload.options.conditions
    params = {
        "tableName": upload.table.raw,
        "tableType": upload.table.type,
        "enableParallelPushProtection": conditions.is_protected,
        "allowRefresh": conditions.allow_refresh,
    }
    extra = {"UPLOAD_TYPE": kind, **headers}
    if conditions.refresh_only:
        extra["REFRESH_ONLY"] = "true"
    if conditions.if_match:
        extra["If-Match"] = conditions.if_match
    return controller(ctx).send("POST", path, params, body, files, headers=extra, timeout=_ANSWER_S)


def _fenced(ctx: Context, upload: Upload, info: SegmentInfo, send: Callable[[], object]) -> UploadResult:
    """Admit, send once, and check that the entry was still open when the segment was there."""
    table, entry = upload.table, upload.lineage_entry
    config = target_config(ctx, table)
    admission.check_name_form(config, info.name)
    lineage = read_lineage(ctx, table) or Lineage(table.typed)
    before = _not_being_deleted(ctx, table, info.name)
    warnings: list[str] = []
    if entry is not None:
        admission.check_fence(lineage, entry, [info.name])
    else:
        warnings = _check_not_hidden(ctx, config, lineage, info.name, upload.options, is_there=before is not None)
    renew_for_upload(ctx, config, [info.name])
    changed = before is not None and before != info.crc
    if changed:
        pinot_kept.keep_replaced(ctx, config, info.name, info.crc, upload.actor)

    def once() -> bool:
        send()
        return True

    def find(doubt: Doubt) -> bool | None:
        return True if crc_of(ctx, table, info.name) == info.crc else None

    settled(once, find)
    if entry is not None:
        _check_still_open(ctx, table, entry, info.name)
    return UploadResult(table, (info.name,), (info.name,) if changed else (), tuple(warnings))


def _check_not_hidden(
    ctx: Context, config: TableConfig, lineage: Lineage, segment: str, options: UploadOptions, *, is_there: bool
) -> list[str]:
    """As on the embedded cluster; but what Pinot still has of a push that was reverted it is about to delete, and what
    comes in now with it.
    """
    began_ms = options.began_ms if options.began_ms is not None else ctx.clock()
    is_strict = is_there or admission.is_fence_strict(config)
    return admission.check_not_hidden(
        lineage, [segment], [] if is_there else [segment], began_ms=began_ms, is_strict=is_strict
    )


def _not_being_deleted(ctx: Context, table: TableName, segment: str) -> int | None:
    """The CRC on record, None: there is no record. Waits while an old Pinot deletes this name; StateConflict if that
    goes on.
    """
    crc, known = crc_of(ctx, table, segment), version(ctx)
    if crc is None or known is None or known >= _STARTS_OVER:
        return crc
    deadline = time.monotonic() + _DELETED_S
    while crc is not None and not _has_row(ctx, table, segment):
        if time.monotonic() > deadline:
            text = (
                f"Pinot {known} is deleting segment '{segment}' of table '{table}': what is uploaded now would go "
                "with it."
            )
            raise StateConflict(text, remedy="Try again in a minute, or give the segment a new name.")
        time.sleep(_AGAIN_S)
        crc = crc_of(ctx, table, segment)
    return crc


def _has_row(ctx: Context, table: TableName, segment: str) -> bool:
    node = ctx.store.get(paths.ideal_state(table.typed))
    return node is not None and node.record is not None and segment in node.record.maps


def _check_still_open(ctx: Context, table: TableName, lineage_entry: str, segment: str) -> None:
    """A replacement that was over before its segment was there leaves nothing behind."""
    entry = lineage_now(ctx, table).entries.get(lineage_entry)
    if entry is not None and entry.state is State.IN_PROGRESS:
        return
    if entry is not None and entry.state is State.COMPLETED and segment in entry.segments_to:
        return  # the same content came twice, the switch between the two
    with suppress(StateConflict):
        pinot_deletion.delete_hidden(ctx, table, [segment])
    what = "reverted" if entry else "removed"
    raise StateConflict(
        f"Lineage entry '{lineage_entry}' was {what} while segment '{segment}' came in; it was taken out again.",
        remedy="Start a new replacement.", entry=lineage_entry,
    )  # fmt: skip

"""Brings a single file into a table, as ``/ingestFromFile`` and ``/ingestFromURI`` do: by a push of its own folder."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from segments.domain.ingestion.single_file import BatchConfig
from segments.domain.push.store_uri import is_remote, parse_folder_uri
from segments.errors import Forbidden, InvalidInput, PayloadTooLarge, StateConflict, Unavailable
from segments.gateways.input_files.rules import InputRules
from segments.gateways.input_files.source import input_source
from segments.models import Push
from segments.names import TableName, shown
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.jobs.queue import enqueue_push
from segments.services.push.push_run import MAX_ATTEMPTS
from segments.services.push.pushes import create_push
from segments.services.push.upload_folders import check_room, folder_of
from segments.services.tables.table_record import read_table_config

_BLOCK: Final = 1 << 20
_POLL_S: Final = 0.2
_FOLLOWED: Final = ("state", "error", "attempts")


def check_table(ctx: Context, table: TableName) -> None:
    """Raises NotFound, and StateConflict for a table that each push replaces as a whole."""
    if read_table_config(ctx, table).consistent_push:
        raise StateConflict(
            f"Each push replaces the whole of table '{table}' (consistentDataPush), and a single file is added to what "
            "is there.",
            remedy="Replace its rows with POST /api/v1/pushes.",
        )


def file_in(upload: uuid.UUID, batch: BatchConfig) -> Path:
    """Where the file of an upload belongs; its folder exists then."""
    folder_of(upload).mkdir(parents=True, exist_ok=True)
    return folder_of(upload) / f"data.{batch.data_format or 'file'}"


def copy_uri(ctx: Context, rules: InputRules, table: TableName, uri: str, batch: BatchConfig, target: Path) -> None:
    """Copy what ``uri`` names (a file below the input roots) to ``target``.

    Raises Forbidden for one outside of them, NotFound, InvalidInput, PayloadTooLarge, Unavailable.
    """
    try:
        with _opened(rules, table, uri, batch) as file:
            _copy(ctx, uri, file, target)
    except (InvalidInput, Forbidden) as error:
        message = error.message.replace("'inputDirURI' ", "'sourceURIStr' ")
        raise type(error)(message, remedy=error.remedy, field="sourceURIStr") from error


def push_upload(
    ctx: Context, table: TableName, upload: uuid.UUID, batch: BatchConfig, actor: Actor, *, source: str
) -> Push:
    """Queue the push of an upload whose file is in its place; it has the upload's id. ``source`` goes into the audit:
    what the file is called where it came from. Raises as ``create_push``.
    """
    folder = str(folder_of(upload).resolve())
    job = batch.job(table, folder, postfix=f"{ctx.clock()}_{upload.hex[:8]}")
    push = create_push(ctx, job, actor, roots=[folder], upload=upload)
    audit.record(
        actor, "ingestFile", cluster=ctx.cluster, target=table.typed, push=str(push.pk), source=shown(source)
    )  # fmt: skip
    enqueue_push(ctx, str(push.pk))
    return push


def wait_for(ctx: Context, push: Push, wait_s: float) -> bool:
    """Wait until the push is over; False: it is under way still. Raises InvalidInput with the reason of one that
    failed, Unavailable of one that was given up, StateConflict for one that was cancelled.
    """
    until = ctx.timer.seconds() + wait_s
    push.refresh_from_db(fields=_FOLLOWED)
    while push.state not in Push.TERMINAL:
        if ctx.timer.seconds() >= until:
            return False
        ctx.timer.pause(_POLL_S)
        push.refresh_from_db(fields=_FOLLOWED)
    what = f"ingesting file into table: {push.table_name}_OFFLINE"
    if push.state == Push.State.CANCELLED:
        raise StateConflict(f"Push '{push.pk}' was cancelled when {what}.", push=str(push.pk))
    if push.state == Push.State.FAILED and push.attempts > MAX_ATTEMPTS:
        raise Unavailable(f"Caught exception when {what}. {push.error}", push=str(push.pk))
    if push.state == Push.State.FAILED:
        raise InvalidInput(f"Got illegal argument when {what}. {push.error}", push=str(push.pk))
    return True


def _opened(rules: InputRules, table: TableName, uri: str, batch: BatchConfig) -> pa.NativeFile:
    if is_remote(uri):
        address = str(parse_folder_uri(uri))
        return input_source(rules.access(uri, batch.file_system, table=table.raw)).open(address)
    parts = urlsplit(uri) if uri.startswith("file:") else None
    path = unquote(parts.path) if parts is not None else uri
    if (parts is not None and parts.netloc) or not path.startswith("/") or "\0" in path:
        raise InvalidInput(f"'sourceURIStr' {shown(uri)} names no file.", remedy="Give an absolute path or a URI.")
    source = input_source(rules.access(path, batch.file_system, table=table.raw))
    source.folder(os.path.dirname(path))  # refused before anybody hears whether there is such a file
    return source.open(path)


def _copy(ctx: Context, uri: str, file: pa.NativeFile, target: Path) -> None:
    size, until = file.size(), ctx.timer.seconds() + ctx.limits.fetch_s
    if size > ctx.limits.upload_bytes:
        raise PayloadTooLarge(
            f"'{shown(uri)}' has {size} bytes, more than the {ctx.limits.upload_bytes} that are accepted.",
            remedy="Push its folder with POST /api/v1/pushes, or raise PINOTADMIN_MAX_UPLOAD_BYTES.",
        )
    check_room(size)
    with target.open("xb") as out:
        while block := file.read(_BLOCK):
            out.write(block)
            if out.tell() > size:
                raise StateConflict(f"'{shown(uri)}' grew while it was read.", remedy="Try again when it is whole.")
            if ctx.timer.seconds() > until:
                raise Unavailable(f"Reading '{shown(uri)}' took longer than {ctx.limits.fetch_s:.0f} s.")
    if target.stat().st_size != size:
        raise StateConflict(f"'{shown(uri)}' shrank while it was read.", remedy="Try again when nothing writes to it.")

"""Tars of a real Pinot's segments through its controller: streamed to a caller, or fetched to a local file."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from segments.clusters.pinot.calls import controller, quoted
from segments.domain.pinot.refusals import refusal
from segments.errors import NotFound
from segments.services.core.context import Context
from segments.services.segments.downloads import check_tar_size, save_tar

#: Seconds for the first byte; the rest comes as it comes.
_ANSWER_S: Final = 120.0
_QUOTED_BYTES: Final = 2000


def open_stream(ctx: Context, raw_table: str, segment: str) -> tuple[int, BinaryIO]:
    """(bytes, stream) of a segment's tar by the raw table name; the caller closes the stream. NotFound when there is
    none.
    """
    with ExitStack() as stack:
        reply = stack.enter_context(
            controller(ctx).stream("GET", f"/segments/{quoted(raw_table)}/{quoted(segment)}", timeout=_ANSWER_S)
        )
        if reply.status != HTTPStatus.OK:
            raise _refused(reply.status, reply.body, raw_table, segment)
        length = next((v for k, v in reply.headers.items() if k.lower() == "content-length"), "")
        is_plain = not any(k.lower() == "content-encoding" for k in reply.headers)
        if length.isdecimal() and is_plain:
            return int(length), cast("BinaryIO", _Stream(reply.body, stack.pop_all()))
        spool = cast("BinaryIO", tempfile.TemporaryFile(prefix="segment-"))  # noqa: SIM115  # the caller closes it
        for chunk in reply.body:
            spool.write(chunk)
            check_tar_size(ctx, spool.tell(), segment, raw_table)
        size = spool.tell()
        spool.seek(0)
        return size, spool


def fetch_segment(ctx: Context, raw_table: str, segment: str, target: Path) -> int:
    """Write a segment's tar to a local file; returns its bytes. NotFound when there is none, Unavailable when it was
    cut short, PayloadTooLarge when it has more bytes than an upload may.
    """
    return save_tar(ctx, raw_table, segment, open_stream(ctx, raw_table, segment), target)


def _refused(status: int, body: Iterator[bytes], raw_table: str, segment: str) -> Exception:
    answer = b""
    while len(answer) < _QUOTED_BYTES and (piece := next(body, b"")):
        answer += piece
    text = answer[:_QUOTED_BYTES].decode("utf-8", "replace")
    if status == HTTPStatus.NOT_FOUND:
        return NotFound(
            f"Segment '{segment}' of table '{raw_table}' has no file in Pinot's deep store.",
            remedy="Check both names; use the raw name.",
        )
    return refusal(status, text, is_change=False)


class _Stream(io.RawIOBase):
    """Pieces as they come from the controller, as a file; closing it ends the request."""

    def __init__(self, pieces: Iterator[bytes], request: ExitStack) -> None:
        self._pieces, self._request = pieces, request
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = piece
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size

    def close(self) -> None:
        """End the request."""
        if not self.closed:
            self._request.close()
        super().close()

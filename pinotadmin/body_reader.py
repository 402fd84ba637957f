"""Takes in the body of a request within bounds: its bytes, the time it may take, and what all bodies under way may cost
together.

A large body goes to a temporary file on the way. What breaks a bound is refused while it comes in; the rest of it is
not kept.
"""

from __future__ import annotations

import asyncio
import io
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import IO, Any, Final

from django.conf import settings
from django.core.exceptions import RequestAborted

from segments.api.fast_path import Answer
from segments.errors import PayloadTooLarge, TooManyRequests, Unavailable

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

#: Seconds without a byte after which a body is given up, and from when on the whole of it must keep a pace of so many
#: bytes a second.
_IDLE_S: Final = 30.0
_PATIENCE_S: Final = 60.0
_SLOWEST: Final = 10 << 10
#: Bytes above which a body counts among the large ones under way; each of them is on the disk twice while its parts are
#: taken out.
_LARGE: Final = 1 << 20
_ON_DISK: Final = 2
_CHECK_DISK_EVERY: Final = 64 << 20
#: After a refusal so much of a body is discarded, for so many seconds, so that its sender gets to read the answer.
_DRAINED: Final = 16 << 20
_DRAIN_S: Final = 2.0
_AGAIN_S: Final = 5


class TooSlow(PayloadTooLarge):
    """The body comes in too slowly to wait for."""

    status = 408


class LargeBodies:
    """Those under way in this process: how many of each sender, and their bytes. Only used on the event loop."""

    def __init__(self) -> None:
        self._bytes = 0
        self._of: dict[bytes | None, int] = {}

    def begin(self, sender: bytes | None, size: int) -> Reservation:
        """Reserve ``size`` bytes for a body of this sender (None: the cluster itself, which is not counted).
        TooManyRequests; Unavailable when the disk has no room for it.
        """
        count = self._of.get(sender, 0)
        if sender is not None and count >= settings.MAX_UPLOADS_PER_USER:
            raise TooManyRequests(
                f"{count} large requests of yours are being taken in; more are not begun.",
                remedy="Send fewer at once, or raise PINOTADMIN_MAX_UPLOADS_PER_USER.",
                retry_after_s=_AGAIN_S,
            )
        self._of[sender] = count + 1
        made = Reservation(self, sender)
        try:
            made.grow(size)
        except BaseException:
            made.close()
            raise
        return made

    def add(self, sender: bytes | None, size: int) -> None:
        """More bytes of a body that is already counted. Raises as ``begin``."""
        if sender is not None and self._bytes + size > settings.MAX_UPLOADS_BYTES:
            raise TooManyRequests(
                f"Uploads under way have {self._bytes} bytes; with this one they would exceed "
                f"{settings.MAX_UPLOADS_BYTES}.",
                remedy="Try again when others are done, or raise PINOTADMIN_MAX_UPLOADS_BYTES.",
                retry_after_s=_AGAIN_S,
            )
        self._bytes += size

    def end(self, sender: bytes | None, size: int) -> None:
        """A body is gone from memory and disk."""
        self._bytes -= size
        self._of[sender] -= 1
        if not self._of[sender]:
            del self._of[sender]


class Reservation:
    """The share of one body, given back by ``close``."""

    def __init__(self, all_of_them: LargeBodies, sender: bytes | None) -> None:
        self._all, self._sender, self._size, self._unchecked = all_of_them, sender, 0, _CHECK_DISK_EVERY
        self._is_open = True

    def grow(self, size: int) -> None:
        """Room for so many more bytes. Raises as ``LargeBodies.begin``."""
        self._all.add(self._sender, size)
        self._size += size
        self._unchecked += size
        if self._unchecked >= _CHECK_DISK_EVERY:
            self._unchecked = 0
            _check_disk(size)

    def close(self) -> None:
        """Give it back; more than once is fine."""
        if self._is_open:
            self._is_open = False
            self._all.end(self._sender, self._size)


def _check_disk(size: int) -> None:
    folder = settings.FILE_UPLOAD_TEMP_DIR or tempfile.gettempdir()
    if shutil.disk_usage(folder).free - _ON_DISK * size < settings.KEPT_FREE_BYTES:
        raise Unavailable(
            f"The disk for uploads would be left with less than {settings.KEPT_FREE_BYTES} free bytes.",
            remedy="Make room on it, then try again.",
        )


class BodyReader:
    """Reads bodies. One per process."""

    def __init__(self) -> None:
        self._large = LargeBodies()

    async def read(
        self, receive: Receive, length: int | None, most: int, sender: bytes | None
    ) -> tuple[IO[bytes], Reservation | None]:
        """The body in a file that is at its beginning, and what to close when the request is over. ``length`` as its
        head names it.

        Raises PayloadTooLarge for more than ``most`` bytes, TooSlow, TooManyRequests, Unavailable, and RequestAborted
        when the client left.
        """
        if length == 0:
            await _nothing(receive)
            return io.BytesIO(), None
        if length is not None and length > most:
            raise _too_large(f"has {length} bytes", most)
        held = self._large.begin(sender, length or 0) if length is None or length > _LARGE else None
        file = tempfile.SpooledTemporaryFile(  # noqa: SIM115  # the request closes it
            max_size=settings.FILE_UPLOAD_MAX_MEMORY_SIZE, mode="w+b", dir=settings.FILE_UPLOAD_TEMP_DIR
        )
        try:
            await _fill(file, receive, most, held if length is None else None)
        except BaseException:
            file.close()
            if held is not None:
                held.close()
            raise
        file.seek(0)
        return file, held


async def _nothing(receive: Receive) -> None:
    """Take in a body whose head says that it is none: with that head it is whole, and nothing is waited for. Raises
    RequestAborted when the client left.
    """
    if (await receive())["type"] == "http.disconnect":
        raise RequestAborted


async def _fill(file: IO[bytes], receive: Receive, most: int, growing: Reservation | None) -> None:
    began, size, more = time.monotonic(), 0, True
    while more:
        try:
            async with asyncio.timeout(_IDLE_S):
                message = await receive()
        except TimeoutError as error:
            raise _too_slow(size) from error
        if message["type"] == "http.disconnect":
            raise RequestAborted
        chunk, more = message.get("body", b""), message.get("more_body", False)
        size += len(chunk)
        if size > most:
            raise _too_large(f"has more than {most} bytes", most)
        if more and time.monotonic() - began > _PATIENCE_S + size / _SLOWEST:
            raise _too_slow(size)
        if growing is not None:
            growing.grow(len(chunk))
        file.write(chunk)


async def read_small(receive: Receive) -> bytes:
    """A body whose small length its head names. Raises TooSlow, and RequestAborted when the client left."""
    parts = []
    try:
        async with asyncio.timeout(_IDLE_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RequestAborted
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError as error:
        raise _too_slow(sum(map(len, parts))) from error


async def refuse(answer: Answer, receive: Receive, send: Send) -> None:
    """Answer a request whose body was not read to its end, discard some of the rest, and close the connection."""
    await send(
        {
            "type": "http.response.start",
            "status": answer.status,
            "headers": [*answer.headers, (b"connection", b"close")],
        }
    )
    await send({"type": "http.response.body", "body": answer.body, "more_body": True})
    left = _DRAINED
    try:
        async with asyncio.timeout(_DRAIN_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    break
    except TimeoutError:
        pass  # who does not stop is cut off
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _too_large(what: str, most: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        f"The body {what}; this request takes at most {most}.", remedy="Send less at once; see 'Limits' in the docs."
    )


def _too_slow(size: int) -> TooSlow:
    return TooSlow(
        f"The body came in too slowly; {size} bytes were read.", remedy="Send it again over a quicker connection."
    )

"""Sends a file piece by piece under ASGI: Django would read a plain iterator whole into memory before the first byte
goes out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async


async def in_threads(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same pieces, each read on a thread; the source is closed also when the client disconnects."""
    take = sync_to_async(lambda: next(chunks, None), thread_sensitive=False)
    try:
        while (chunk := await take()) is not None:
            yield chunk
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()

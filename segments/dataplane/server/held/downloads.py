"""Counts and times the files that a server fetches, and notes them in the lives of their segments."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Literal

from segments.dataplane.server.segment_lives import DOWNLOAD, SegmentLives
from segments.metrics import servers


class Downloads:
    """Of one server. ``lives`` None: they are only counted."""

    def __init__(self, lives: SegmentLives | None) -> None:
        self._lives = lives

    @contextmanager
    def counted(self, table: str, segment: str, source: Literal["deep_store", "peer"]) -> Iterator[None]:
        """The block fetches, unpacks and checks; what it raises is a failure."""
        began = time.monotonic()
        try:
            with self._lives.step(table, segment, DOWNLOAD) if self._lives else nullcontext():
                yield
        except Exception:
            servers.DOWNLOAD_FAILURES.add(table, source)
            raise
        servers.DOWNLOADS.add(table, source)
        servers.DOWNLOAD_SECONDS.observe(time.monotonic() - began, table, source)

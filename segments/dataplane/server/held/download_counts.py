"""Counts and times the files that a server fetches, and notes them in the lives of their segments."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
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
        try:
            with self.awaited(table, segment, source):
                yield
        except Exception as error:
            servers.DOWNLOAD_FAILURES.add(table, source)
            if self._lives is not None:
                self._lives.took(table, segment, DOWNLOAD, 0.0, str(error) or type(error).__name__)
            raise

    @contextmanager
    def awaited(self, table: str, segment: str, source: Literal["deep_store", "peer"]) -> Iterator[None]:
        """The same of a file that may not be there yet: what it raises is not a failure."""
        began = time.monotonic()
        yield
        took_s = time.monotonic() - began
        servers.DOWNLOADS.add(table, source)
        servers.DOWNLOAD_SECONDS.observe(took_s, table, source)
        if self._lives is not None:
            self._lives.took(table, segment, DOWNLOAD, took_s)

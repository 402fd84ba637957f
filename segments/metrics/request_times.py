"""How long the web process takes for requests, by what is asked and how it is answered."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Final

from segments.metrics.installation import REQUESTS

Send = Callable[[Mapping[str, Any]], Awaitable[None]]
#: By the beginning of the path; of what has none of them, the REST API answers all but the start page.
_BEGINNINGS: Final = (
    ("/query", "query"), ("/segmentC", "completion"), ("/segmentS", "completion"), ("/static/", "static"),
    ("/console/", "page"), ("/admin/", "page"), ("/login", "page"),
)  # fmt: skip


class Timed:
    """One request: ``send`` in the place of the one that is given, and the block ends with the answer."""

    def __init__(self, path: str, send: Send) -> None:
        #: What kind of request it is, of a few.
        self.asked = "page" if path == "/" else next((a for b, a in _BEGINNINGS if path.startswith(b)), "api")
        self._send = send
        #: How it was answered: ``2xx`` and the like.
        self.status = "aborted"

    async def send(self, message: Mapping[str, Any]) -> None:
        """Sent on."""
        if message["type"] == "http.response.start":
            self.status = f"{message['status'] // 100}xx"
        await self._send(message)

    def __enter__(self) -> Timed:
        self._began = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        REQUESTS.observe(time.monotonic() - self._began, self.asked, self.status)

"""How many bytes servers may answer with: counted before they are in memory, together over all servers that one query
asks.
"""

from __future__ import annotations

import http.client
import threading
from typing import Final

from segments.errors import PinotAdminError, Rejected, Unavailable

#: Bytes of an answer that is none to a query: names and checksums of a table with a million segments.
PLAIN: Final = 256 << 20
_PIECE: Final = 1 << 20
#: Pinot's QUERY_VALIDATION.
_QUERY_VALIDATION: Final = 700


class AnswerBudget:
    """``most`` bytes in all, shared by the threads of one query. ``remedy`` names the setting; without one no setting
    is to blame.
    """

    def __init__(self, most: int = PLAIN, remedy: str = "") -> None:
        self._most, self._left, self._remedy = most, most, remedy
        self._lock = threading.Lock()

    def take(self, count: int) -> None:
        """Raises where there is no room for so many more: Rejected (700) of a query, Unavailable else."""
        with self._lock:
            self._left -= count
            is_over = self._left < 0
        if is_over:
            raise self._refusal(f"Servers answer with more than {self._most:,} bytes.")

    def _refusal(self, text: str) -> PinotAdminError:
        if self._remedy:
            return Rejected(text, remedy=self._remedy, error_code=_QUERY_VALIDATION)
        return Unavailable(text, remedy="Check that no other program has taken a server's port.")

    def read(self, response: http.client.HTTPResponse) -> bytes:
        """A whole body. Raises before a byte of one that says it is too large, and at the first byte too many of one
        that does not.
        """
        if response.length is not None:
            self.take(response.length)
            return response.read()
        pieces = []
        while piece := response.read(_PIECE):
            self.take(len(piece))
            pieces.append(piece)
        return b"".join(pieces)

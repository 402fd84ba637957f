"""Reads an answer of a Pinot whole, within bounds of size and time: it is another program's, and may never end."""

from __future__ import annotations

import time
from typing import Final

import httpx

from segments.gateways.pinot.refusals import UNEXPECTED, ControllerFault

#: Bytes of an answer, unpacked: the records of a table with a million segments fit.
MOST: Final = 256 << 20
#: Of what says which cluster an address belongs to.
SMALL: Final = 1 << 20
#: Seconds for a whole answer beyond those that its first byte may take.
_REST_S: Final = 120.0
_OF_PACKING: Final = ("content-encoding", "content-length", "transfer-encoding")


class AnswerTooLarge(ControllerFault):
    """Pinot's answer has more bytes, or takes longer, than one may. The controller itself can be used."""


def read_whole(response: httpx.Response, most: int = MOST, *, wait_s: float = 0.0) -> httpx.Response:
    """The same answer, read. Raises AnswerTooLarge beyond ``most`` bytes or ``wait_s`` and two minutes; what httpx
    raises else.
    """
    end, pieces, size = time.monotonic() + wait_s + _REST_S, [], 0
    for piece in response.iter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > most or time.monotonic() > end:
            raise _too_large(
                response,
                f"has more than {most:,} bytes" if size > most else f"takes longer than {wait_s + _REST_S:.0f} s",
            )
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _OF_PACKING]
    return httpx.Response(response.status_code, headers=headers, content=b"".join(pieces), request=response.request)


def _too_large(response: httpx.Response, what: str) -> AnswerTooLarge:
    where = str(response.request.url.copy_with(query=None))
    return AnswerTooLarge(UNEXPECTED, f"The answer of {where} {what}; the rest was not read.", remedy="Ask for less.")

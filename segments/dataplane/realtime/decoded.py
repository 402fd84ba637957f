"""What a decoder hands on: rows in stored columns, and the messages that gave none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.segmentfile.transform import Mask

#: So many bad messages of a batch are shown.
SAMPLES: Final = 10
#: What a message's content can make a parser or a conversion raise.
CONTENT_ERRORS: Final = (ValueError, TypeError, ArithmeticError, LookupError, NotImplementedError, RecursionError, EOFError, AttributeError)


@dataclass(frozen=True)
class BadMessage:
    """A message that gave no row: its position in the batch, why, and its first bytes as text."""

    position: int
    reason: str
    start: str


@dataclass(frozen=True)
class Decoded:
    """Rows of one batch in stored columns, null ``masks`` of the columns that had nulls, and what gave no row.

    ``bad`` counts messages set aside, ``samples`` shows the first ten of them; ``filtered`` counts rows that the table's filter dropped.
    """

    table: pa.Table
    masks: Mapping[str, Mask]
    bad: int = 0
    samples: tuple[BadMessage, ...] = ()
    filtered: int = 0


@dataclass(frozen=True)
class RawRows:
    """Messages parsed, nothing converted: ``positions`` are the rows' places in the batch (None: row i is message i)."""

    table: Any
    positions: NDArray[np.int64] | None = None
    bad: tuple[BadMessage, ...] = ()


class MessageReader(Protocol):
    """Parses the messages of one format."""

    def read(self, values: Sequence[bytes]) -> RawRows:
        """All messages that parse as rows, in order. Never raises for content."""


def bad_message(position: int, value: bytes, reason: object) -> BadMessage:
    """A message set aside, with its first 120 bytes."""
    text = str(reason) or type(reason).__name__
    return BadMessage(position, " ".join(text.split())[:300], bytes(value[:120]).decode("utf-8", "replace"))

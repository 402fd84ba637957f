"""What a decoder hands on: rows in stored columns, and the messages that gave none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.errors import InvalidInput
from segments.segmentfile.columns.transform import Mask

#: What a message's content can make a parser or a conversion raise.
CONTENT_ERRORS: Final = (
    ValueError,
    TypeError,
    ArithmeticError,
    LookupError,
    NotImplementedError,
    RecursionError,
    EOFError,
    AttributeError,
)


@dataclass(frozen=True)
class BadMessage:
    """A message that gave no row: its position in the batch, why, and the column at fault, if one is known."""

    position: int
    reason: str
    column: str = ""


@dataclass(frozen=True)
class Decoded:
    """Rows of one batch in stored columns, null ``masks`` of the columns that had nulls, and what gave no row.

    ``bad`` counts messages set aside, ``set_aside`` has them in order; ``filtered`` counts rows that the table's filter
    dropped. All of it is of the first ``taken`` messages; the others would have given too many rows with these.
    """

    table: pa.Table
    masks: Mapping[str, Mask]
    taken: int
    bad: int = 0
    set_aside: tuple[BadMessage, ...] = ()
    filtered: int = 0


@dataclass(frozen=True)
class RawRows:
    """Messages parsed, nothing converted: ``positions`` are the rows' places in the batch (None: row i
    is message i). ``taken``: of how many messages from the first on; None: of all.
    """

    table: Any
    positions: NDArray[np.int64] | None = None
    bad: tuple[BadMessage, ...] = ()
    taken: int | None = None


class MessageReader(Protocol):
    """Parses the messages of one format."""

    def read(self, values: Sequence[bytes]) -> RawRows:
        """All messages that parse as rows, in order, or those of the first ``taken``, at least one. Never raises for
        content.
        """


def bad_message(position: int, reason: object, column: str = "") -> BadMessage:
    """A message set aside, and the first of what is wrong with it."""
    text = reason.message if isinstance(reason, InvalidInput) else str(reason) or type(reason).__name__
    return BadMessage(position, " ".join(text.split())[:300], column)

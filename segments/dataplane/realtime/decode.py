"""Turns message bytes into stored columns: vectorised, the table's transforms and filter applied, bad messages set aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from segments.domain.schema import Schema
from segments.domain.stream_config import StreamConfig
from segments.domain.table_config import TableConfig
from segments.segmentfile.transform import Mask


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


class Decoder(Protocol):
    """Decodes batches of one stream for one table. Keeps what it learned about the messages, so one per consumer."""

    def decode(self, values: Sequence[bytes], *, now_ms: int) -> Decoded:
        """Rows in the order of the messages. Never raises for a message's content; ``now_ms`` stands for null times.

        Raises Unavailable when something outside is needed and does not answer (a schema registry).
        """


def open_decoder(stream: StreamConfig, schema: Schema, config: TableConfig) -> Decoder:
    """The decoder of a stream. Raises InvalidInput for settings that can not work."""
    raise NotImplementedError

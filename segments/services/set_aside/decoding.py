"""Decodes messages that were set aside with the table's present schema, transforms and decoder: what a replay would
give.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from segments.dataplane.realtime.decode import open_decoder
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.domain.realtime.commit.fields import STATUS
from segments.domain.realtime.streams.stream_config import StreamConfig, stream_of
from segments.domain.segments.segment_metadata import COMPLETED_STATUSES
from segments.domain.set_aside import Hindrance, remedy_of, shown_reason
from segments.domain.tables import schema as schemas
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, NotFound
from segments.models import SetAsideMessage
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.tables.table_record import read_table_config
from segments.store import paths

#: Failures that are listed one by one.
SHOWN: Final = 100
#: Bytes of rows that one attempt makes, about: by unnesting, a message may give very many.
_MOST_BYTES: Final = 256 << 20
_LEFT: Final = "It is left to another replay: the messages before it give as many rows as one can hold."


@dataclass(frozen=True)
class Failing:
    """A message that still gives no row, and why."""

    message: SetAsideMessage
    reason: str
    hindrance: Hindrance


@dataclass(frozen=True)
class Attempt:
    """``fitting`` messages give the ``rows``; the table's filter drops ``filtered`` more of them. ``failing`` ones stay
    set aside.
    """

    fitting: tuple[SetAsideMessage, ...]
    failing: tuple[Failing, ...]
    rows: MutableSegment
    filtered: int

    @property
    def remedy(self) -> str:
        """What to do when there is no row at all."""
        return remedy_of({f.hindrance for f in self.failing}, filtered=self.filtered)

    def to_json(self) -> dict[str, Any]:
        """For REST and the audit; without payloads."""
        return {
            "messages": len(self.fitting) + len(self.failing), "decode": len(self.fitting), "rows": self.rows.rows,
            "filtered": self.filtered, "fail": len(self.failing),
            "failing": [
                {"id": f.message.pk, "partition": f.message.partition, "offset": f.message.offset, "reason": f.reason}
                for f in self.failing[:SHOWN]
            ],
        }  # fmt: skip


def decode_again(
    ctx: Context, table: TableName, messages: Sequence[SetAsideMessage], *, name: str, now_ms: int
) -> Attempt:
    """Decode them; the rows are those of a segment ``name``, ``now_ms`` stands for times that are null.

    Raises NotFound without table or schema, Unavailable when something outside does not answer (a schema registry).
    """
    config = read_table_config(ctx, table)
    node = ctx.store.get(paths.schema(table.raw))
    if node is None or node.record is None:
        raise NotFound(
            f"Schema '{table.raw}' does not exist.", remedy="Create it again; without it no message can be decoded."
        )
    schema = schemas.from_record(node.record)
    groups, failing = _by_stream(config, messages, _still_consuming(ctx, table, messages))
    rows, fitting, filtered, size = MutableSegment(name, schema, config), list[SetAsideMessage](), 0, 0
    for stream, listed in groups:
        decoder = open_decoder(stream, schema, config, ctx.registries)
        while listed:
            if size > _MOST_BYTES:
                failing += [Failing(m, _LEFT, Hindrance.LATER) for m in listed]
                break
            values = [bytes(m.payload) for m in listed]
            decoded = decoder.decode(values, now_ms=now_ms)
            bad = {one.position: shown_reason(one.reason, values[one.position]) for one in decoded.set_aside}
            failing += [Failing(listed[position], reason, Hindrance.CONTENT) for position, reason in bad.items()]
            fitting += [m for position, m in enumerate(listed[: decoded.taken]) if position not in bad]
            filtered += decoded.filtered
            size += decoded.table.nbytes
            rows.append(decoded.table, decoded.masks)
            listed = listed[decoded.taken :]
    return Attempt(tuple(fitting), tuple(failing), rows, filtered)


def _by_stream(
    config: TableConfig, messages: Sequence[SetAsideMessage], open_ones: set[str]
) -> tuple[list[tuple[StreamConfig, list[SetAsideMessage]]], list[Failing]]:
    """Messages that are tried, those of one stream together, and those that are not, with the reason."""
    groups, failing = dict[str, tuple[StreamConfig, list[SetAsideMessage]]](), list[Failing]()
    for message in messages:
        if hindered := _why_not(message, open_ones):
            failing.append(hindered)
            continue
        try:
            stream = stream_of(config, message.partition)
        except InvalidInput as error:
            failing.append(Failing(message, str(error), Hindrance.STREAM))
            continue
        key = json.dumps([stream.topic, dict(stream.raw)], sort_keys=True)
        groups.setdefault(key, (stream, []))[1].append(message)
    return list(groups.values()), failing


def _why_not(message: SetAsideMessage, open_ones: set[str]) -> Failing | None:
    """Why it is not even tried; None when it is."""
    if message.is_cut:
        why = f"Only the first {message.kept_bytes} of its {message.size} bytes are kept."
        return Failing(message, why, Hindrance.CUT)
    if message.segment in open_ones:
        why = f"Segment {message.segment} is still being consumed: force a commit first."
        return Failing(message, why, Hindrance.CONSUMED)
    return None


def _still_consuming(ctx: Context, table: TableName, messages: Sequence[SetAsideMessage]) -> set[str]:
    """Segments that are not committed: a server that begins again reads their messages again, and may make rows of them
    itself.
    """
    names = sorted({m.segment for m in messages})
    nodes = ctx.store.get_many([paths.segment(table.typed, name) for name in names])
    records = [node.record if node is not None else None for node in nodes]
    return {
        n
        for n, record in zip(names, records, strict=True)
        if record and record.simple.get(STATUS) not in (None, *COMPLETED_STATUSES)
    }
